#include "sim/core/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "sim/core/error.h"

namespace weft {
namespace {

constexpr std::size_t kFlushBytes = 1 << 16;

// Length of the UTF-8 sequence at text[at]; 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies above U+10FFFF are no text.
  if (length >= 3) {
    const unsigned char second = byte(at + 1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second >= 0x90)) {
      return 0;
    }
  }
  return length;
}

std::string decimal_text(std::int64_t value, std::int64_t one, int digits) {
  const bool negative = value < 0;
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const auto unit = static_cast<std::uint64_t>(one);
  std::string text = fmt::format("{}{}", negative ? "-" : "", size / unit);
  if (size % unit == 0) return text;
  text += fmt::format(".{:0{}}", size % unit, digits);
  while (text.back() == '0') text.pop_back();
  return text;
}

}  // namespace

std::string ns_text(Duration duration) { return decimal_text(duration.ps(), 1'000, 3); }

std::string us_text(Duration duration) { return decimal_text(duration.ps(), 1'000'000, 6); }

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) { return raw(std::isfinite(number) ? fmt::format("{}", number) : "null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  levels_.push_back({.is_line = levels_.size() >= line_levels_});
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  WEFT_CHECK(!levels_.empty() && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.has_members && !level.is_line) new_line(levels_.size());
  text_ += bracket;
  if (text_.size() >= kFlushBytes) flush();
  return *this;
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (level.has_members) text_ += level.is_line ? ", " : ",";
  if (!level.is_line) new_line(levels_.size());
  level.has_members = true;
}

void JsonWriter::new_line(std::size_t depth) {
  text_ += '\n';
  text_.append(2 * depth, ' ');
}

void JsonWriter::quote(std::string_view text) {
  text_ += '"';
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const char c = text[i];
    if (length == 0) {
      text_ += "\\ufffd";  // file names need not be text
    } else if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (c == '\n') {
      text_ += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (c == '\xC2' && static_cast<unsigned char>(text[i + 1]) < 0xA0) {  // C1 controls, U+0080 to U+009F
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(text[i + 1])));
    } else {
      text_ += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  text_ += '"';
}

void JsonWriter::flush() {
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

void JsonWriter::finish() {
  WEFT_CHECK(levels_.empty());
  if (line_levels_ > 0) text_ += '\n';
  flush();
}

}  // namespace weft
