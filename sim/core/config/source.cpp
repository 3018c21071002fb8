// Texts that trees come from: the guards on their bytes, their lines, and errors located in them.
#include <algorithm>

#include "sim/core/config/tree.h"

namespace weft::detail {
namespace {

// Length of the UTF-8 sequence at the front of `text`, 0 if it is malformed: overlong, a surrogate, past U+10FFFF or cut short
// (Unicode, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i, unsigned low = 0x80U, unsigned high = 0xBFU) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return follows(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    const unsigned low = first == 0xE0U ? 0xA0U : 0x80U;
    const unsigned high = first == 0xEDU ? 0x9FU : 0xBFU;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const unsigned low = first == 0xF0U ? 0x90U : 0x80U;
    const unsigned high = first == 0xF4U ? 0x8FU : 0xBFU;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::string hex_byte(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(c);
  return std::string{"0x"} + kDigits[value >> 4U] + kDigits[value & 15U];
}

// Shows the front of a line too long for a terminal, if the caret is there.
std::string shown_line(std::string_view line, int column) {
  constexpr std::size_t kShownBytes = 200;
  if (line.size() <= kShownBytes) return std::string{line};
  if (static_cast<std::size_t>(column) > kShownBytes / 2) return {};
  std::size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  return std::string{line.substr(0, end)} + "...";
}

}  // namespace

// Characters, not bytes: carets and editors count those. Continuation bytes of UTF-8 are 10xxxxxx.
int characters(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string_view SourceFile::line(int number) const {
  if (number < 1 || static_cast<std::size_t>(number) > line_starts.size()) return {};
  const auto next = static_cast<std::size_t>(number);
  const std::size_t begin = line_starts[next - 1];
  const std::size_t end = next < line_starts.size() ? line_starts[next] - 1 : text.size();
  return std::string_view{text}.substr(begin, end - begin);
}

Diagnostic diagnostic_at(const Mark& mark, std::string message, std::string note) {
  Diagnostic diagnostic;
  if (mark.source) {
    diagnostic.where.file = mark.source->name;
    if (mark.source->has_lines) {
      diagnostic.where.line = mark.line;
      diagnostic.where.column = mark.column;
      diagnostic.source_line = shown_line(mark.source->line(mark.line), mark.column);
      // One column each, so that the caret stands below its character.
      std::replace(diagnostic.source_line.begin(), diagnostic.source_line.end(), '\t', ' ');
    }
  }
  diagnostic.message = std::move(message);
  diagnostic.length = std::clamp(characters(diagnostic.source_line) - mark.column + 1, 1, std::max(mark.length, 1));
  diagnostic.note = std::move(note);
  return diagnostic;
}

std::shared_ptr<const SourceFile> make_source(SourceFile source, std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  source.text.reserve(text.size());
  source.line_starts.assign(1, 0);
  const auto shared = std::make_shared<SourceFile>(std::move(source));
  std::string& copy = shared->text;
  bool indentation = true;  // only blanks so far in this line
  std::size_t bad_tab = 0;  // line number of the first tab in an indentation, if something follows it
  std::size_t tab_line = 0;
  const auto fail = [&](std::string message, std::string note) {
    const std::string_view line{copy.data() + shared->line_starts.back(), copy.size() - shared->line_starts.back()};
    const Mark mark{shared, static_cast<int>(shared->line_starts.size()), characters(line) + 1, 1};
    throw ConfigError({diagnostic_at(mark, std::move(message), std::move(note))});
  };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      continue;
    }
    if (c == '\n') {
      copy += c;
      shared->line_starts.push_back(copy.size());
      indentation = true;
      tab_line = 0;
      ++i;
      continue;
    }
    if (c == '\0') fail("a NUL byte, where text is expected", "is this a YAML file?");
    if ((byte < 0x20U && c != '\t') || byte == 0x7FU) fail("control character " + hex_byte(c), {});
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      fail("not UTF-8: byte " + hex_byte(c) + " at offset " + std::to_string(i), "save the file as UTF-8");
    }
    if (indentation && c == '\t' && tab_line == 0) {
      tab_line = shared->line_starts.size();
    } else if (indentation && c != ' ' && c != '\t') {
      indentation = false;
      if (bad_tab == 0) bad_tab = tab_line;
    }
    copy.append(text.substr(i, length));
    i += length;
  }
  if (bad_tab != 0) {
    const auto number = static_cast<int>(bad_tab);
    const Mark mark{shared, number, static_cast<int>(shared->line(number).find('\t')) + 1, 1};
    throw ConfigError({diagnostic_at(mark, "a tab in the indentation", "YAML indents with spaces")});
  }
  return shared;
}

}  // namespace weft::detail
