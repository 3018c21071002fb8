// Lines of a program's output as it printed them, before launchers and NCCL wrote into them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"

namespace weft::measured::detail {

// A line put together from pieces of the file's lines; knows where in the file each of its characters stands.
class PrintedLine {
 public:
  // `column` counts from 0; `shown` is the file's whole line, for messages.
  void append(std::string_view text, int line, std::size_t column, std::string_view shown);
  void append(const PrintedLine& other);
  void clear();

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] int line() const { return pieces_.empty() ? 0 : pieces_.front().line; }

  // About the `length` characters from offset `at` of text(). Not of an empty line.
  [[nodiscard]] Diagnostic diagnostic(const std::string& file, std::size_t at, std::size_t length, std::string message,
                                      std::string note = {}) const;

 private:
  struct Piece {
    std::size_t offset = 0;  // in text_
    int line = 0;
    std::size_t column = 0;
    std::string shown;
  };
  std::string text_;
  std::vector<Piece> pieces_;
};

}  // namespace weft::measured::detail
