#include "sim/planning/measurements/printed_line.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/planning/measurements/text_lines.h"
#include "sim/planning/measurements/words.h"

namespace weft::plan::detail {
namespace {

constexpr std::size_t kShownCharacters = 160;

}  // namespace

std::size_t launcher_prefix(std::string_view line) {
  std::size_t at = 0;
  if (line.starts_with('[')) {
    const std::size_t close = line.find(']');
    if (close < 100) {
      at = close + 1;
      for (const std::string_view stream : {"<stdout>", "<stderr>"}) {
        if (line.substr(at).starts_with(stream)) at += stream.size();
      }
      if (at < line.size() && line[at] == ':') ++at;
    }
  } else {
    std::size_t end = 0;
    while (end < line.size() && line[end] == ' ') ++end;
    const std::size_t digits = end;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end > digits && line.substr(end).starts_with(": ")) at = end + 2;  // srun -l
  }
  const std::string_view rest = line.substr(at);
  if (rest.size() >= 19 && rest[4] == '-' && rest[7] == '-' && (rest[10] == 'T' || rest[10] == ' ') && rest[13] == ':' &&
      rest[16] == ':' && all_digits(rest.substr(0, 4))) {
    at += 19;
    while (at < line.size() && !is_blank(line[at])) ++at;
  }
  return at;
}

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

}  // namespace weft::plan::detail
