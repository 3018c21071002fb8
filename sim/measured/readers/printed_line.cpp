#include "sim/measured/readers/printed_line.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/measured/readers/text_lines.h"

namespace weft::measured::detail {
namespace {

constexpr std::size_t kShownCharacters = 160;

}  // namespace

void PrintedLine::append(std::string_view text, int line, std::size_t column, std::string_view shown) {
  pieces_.push_back({text_.size(), line, column, printable(shown, kShownCharacters)});
  text_ += text;
}

void PrintedLine::append(const PrintedLine& other) {
  for (Piece piece : other.pieces_) {
    piece.offset += text_.size();
    pieces_.push_back(std::move(piece));
  }
  text_ += other.text_;
}

void PrintedLine::clear() {
  text_.clear();
  pieces_.clear();
}

Diagnostic PrintedLine::diagnostic(const std::string& file, std::size_t at, std::size_t length, std::string message,
                                   std::string note) const {
  auto piece = pieces_.begin();
  while (std::next(piece) != pieces_.end() && std::next(piece)->offset <= at) ++piece;
  return {.where = {file, piece->line, static_cast<int>(piece->column + (at - piece->offset)) + 1},
          .message = std::move(message),
          .source_line = piece->shown,
          .length = static_cast<int>(std::clamp<std::size_t>(length, 1, kShownCharacters)),
          .note = std::move(note)};
}

}  // namespace weft::measured::detail
