// Protocol buffers' wire format (its encoding page: tags of field number and wire type, varints, lengths), reading and writing.
// No schema: the caller knows its fields and skips the others.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::work {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;      // of varints and fixed ones
  std::string_view bytes = {};  // of kBytes: into the message
};

// The fields of a message one after another. After the last, or at damage, next() is false; damage() then tells which.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : message_{message} {}
  bool next(WireField& field);
  [[nodiscard]] const char* damage() const { return damage_; }  // null: none
  [[nodiscard]] std::size_t offset() const { return at_; }

 private:
  bool fail(const char* what);
  std::string_view message_;
  std::size_t at_ = 0;
  const char* damage_ = nullptr;
};

// At `at`, which is moved behind it; nothing where it is cut or longer than 64 bits.
[[nodiscard]] std::optional<std::uint64_t> read_varint(std::string_view bytes, std::size_t& at);
// A repeated integer field, packed or not, appended. False where a packed one is damaged.
bool append_varints(const WireField& field, std::vector<std::uint64_t>& values);

class WireWriter {
 public:
  void varint(std::uint32_t number, std::uint64_t value);
  void integer(std::uint32_t number, std::int64_t value) { varint(number, static_cast<std::uint64_t>(value)); }
  void bytes(std::uint32_t number, std::string_view value);
  void packed(std::uint32_t number, const std::vector<std::uint64_t>& values);  // left out where empty
  [[nodiscard]] const std::string& text() const { return text_; }

  static void append_varint(std::string& text, std::uint64_t value);

 private:
  std::string text_;
};

}  // namespace weft::work
