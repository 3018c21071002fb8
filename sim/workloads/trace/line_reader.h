// A text file line by line, never held whole, with errors that point into it.
//
//   LineReader lines{file, options.max_bytes};
//   while (lines.next()) {
//     for (Word word : words_of(lines.line())) ...
//     lines.error(word, "expected a size such as '4096b'");
//   }
//   lines.throw_if_any();
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/units.h"
#include "sim/workloads/trace/input_stream.h"

namespace weft::work {

// A part of a line; `offset` counts its bytes from 0.
struct Word {
  std::string_view text = {};
  std::size_t offset = 0;
};

// Splits at blanks and tabs.
[[nodiscard]] std::vector<Word> words_of(std::string_view line);
// Splits at commas and takes blanks around each part off; quotation marks keep commas ("a, b").
[[nodiscard]] std::vector<Word> fields_of(std::string_view line);
// One operation's limits: sums of them stay within what Duration and Bytes hold.
inline constexpr Duration kLongestTask = Duration::from_ps(100'000'000'000'000'000);  // 28 h
inline constexpr Bytes kLargestTask{std::int64_t{1} << 50};

class LineReader {
 public:
  // ConfigError as InputStream's.
  LineReader(const std::filesystem::path& file, std::uint64_t max_bytes);

  // The next line, without its end; false after the last. ConfigError past kLongestLine.
  bool next();
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] int number() const { return number_; }  // from 1
  [[nodiscard]] const std::string& file() const { return file_; }

  [[nodiscard]] Diagnostic at(const Word& word, std::string message, std::string note = {}) const;
  // Kept until throw_if_any; thrown at once with the kMostErrors-th.
  void error(const Word& word, std::string message, std::string note = {});
  void error_at_end(std::string message, std::string note = {});  // of the whole file
  void throw_if_any();
  [[nodiscard]] bool failed() const { return !errors_.empty(); }

  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;
  static constexpr std::size_t kMostErrors = 20;

 private:
  InputStream stream_;
  std::string file_;
  std::string buffer_;
  std::size_t at_ = 0;
  bool ended_ = false;
  std::string line_;
  int number_ = 0;
  std::vector<Diagnostic> errors_;
};

}  // namespace weft::work
