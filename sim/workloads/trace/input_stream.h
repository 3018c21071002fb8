// The bytes of a trace file, unpacked where it is gzip: for readers that never hold a file whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weft::work {

class InputStream {
 public:
  // ConfigError: no such file, not readable.
  InputStream(const std::filesystem::path& file, std::uint64_t max_bytes);
  ~InputStream();
  InputStream(InputStream&&) noexcept;
  InputStream& operator=(InputStream&&) noexcept;

  // Fills from the front; fewer bytes than asked for only at the end, 0 from then on.
  // ConfigError, naming the file and the offset: cut or damaged gzip, more than max_bytes unpacked.
  std::size_t read(std::span<char> into);
  [[nodiscard]] std::uint64_t offset() const;  // bytes read so far, unpacked
  [[nodiscard]] const std::filesystem::path& file() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The first bytes of a file, unpacked; for recognising formats.
[[nodiscard]] std::string read_head(const std::filesystem::path& file, std::size_t bytes);
// A text file of moderate size whole; ConfigError past max_bytes.
[[nodiscard]] std::string read_whole(const std::filesystem::path& file, std::uint64_t max_bytes);

}  // namespace weft::work
