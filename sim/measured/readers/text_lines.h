// Lines of a text file that someone else wrote, in bounded memory: refuses binary data and lines no log has.
#pragma once

#include <cstddef>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace weft::measured {

inline constexpr std::size_t kMaxLineBytes = 65'536;  // NCCL's longest lines (trees of many channels) stay below 8 KiB

class LineReader {
 public:
  LineReader(std::istream& input, std::string file);

  // Moves to the next line; false at the end. Throws ConfigError on a line that is too long or holds bytes no text has.
  bool next();

  [[nodiscard]] std::string_view text() const { return text_; }  // without its line end, "\n" or "\r\n"
  [[nodiscard]] int number() const { return number_; }           // from 1
  [[nodiscard]] bool terminated() const { return terminated_; }  // false: the file ends within this line

 private:
  bool refill();
  void check_text() const;

  std::istream& input_;
  std::string file_;
  std::vector<char> chunk_;
  std::size_t chunk_at_ = 0;
  std::size_t chunk_size_ = 0;
  std::string text_;
  int number_ = 0;
  bool terminated_ = false;
};

// Opens a file that the run uses. ConfigError where it is a folder, "expected ...", or cannot be read.
std::ifstream open_text(const std::string& path, std::string_view expected);

// `text` as it may be shown in a message: control and non-ASCII bytes as '?', tabs as blanks, cut to `limit` characters.
std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace weft::measured
