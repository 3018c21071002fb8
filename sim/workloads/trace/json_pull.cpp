#include "sim/workloads/trace/json_pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "sim/core/error.h"

namespace weft::work {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
constexpr std::size_t kLongestToken = std::size_t{1} << 26;
constexpr std::size_t kDeepest = 256;

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
// Most strings are names of members: shorter than what a search over memory is worth.
constexpr std::size_t kShortString = 24;

// Each bit says what a byte means.
constexpr std::uint8_t kEndsLiteral = 1;
constexpr std::uint8_t kStructure = 2;
constexpr std::uint8_t kStopsString = 4;
constexpr std::array<std::uint8_t, 256> kMeanings = [] {
  std::array<std::uint8_t, 256> meanings{};
  for (const char c : std::string_view{" \n\t\r,:\"}]"}) meanings[static_cast<unsigned char>(c)] |= kEndsLiteral;
  for (const char c : std::string_view{"\"{}[]"}) meanings[static_cast<unsigned char>(c)] |= kStructure;
  for (const char c : std::string_view{"\"\\"}) meanings[static_cast<unsigned char>(c)] |= kStopsString;
  return meanings;
}();
constexpr bool is(char c, std::uint8_t meaning) { return (kMeanings[static_cast<unsigned char>(c)] & meaning) != 0; }

void append_utf8(std::string& into, std::uint32_t code) {
  if (code < 0x80) {
    into += static_cast<char>(code);
  } else if (code < 0x800) {
    into += static_cast<char>(0xC0 | (code >> 6));
    into += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    into += static_cast<char>(0xE0 | (code >> 12));
    into += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    into += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

JsonPull::JsonPull(InputStream& stream) : stream_{&stream}, buffer_(kBufferBytes) {}

void JsonPull::fail(std::string_view message) const {
  throw ConfigError(std::vector{Diagnostic{.where = {.file = stream_->file().string()},
                                           .message = fmt::format("byte {}: {}", before_ + at_, message),
                                           .source_line = {},
                                           .note = {}}});
}

bool JsonPull::more() {
  if (at_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    before_ += at_;
    end_ -= at_;
    at_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLongestToken) fail(fmt::format("a value of more than {} bytes", kLongestToken));
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t count = stream_->read(std::span{buffer_}.subspan(end_));
  end_ += count;
  return count > 0;
}

inline char JsonPull::peek() {
  if (at_ < end_ && !is_space(buffer_[at_])) return buffer_[at_];
  return peek_further();
}

char JsonPull::peek_further() {
  while (true) {
    while (at_ < end_ && is_space(buffer_[at_])) ++at_;
    if (at_ < end_) return buffer_[at_];
    if (!more()) return 0;
  }
}

void JsonPull::expect(char wanted) {
  const char found = peek();
  if (found == wanted) {
    ++at_;
    return;
  }
  if (found == 0) fail(fmt::format("the file ends where '{}' is due", wanted));
  fail(fmt::format("expected '{}'", wanted));
}

void JsonPull::push() {
  if (has_items_.size() >= kDeepest) fail(fmt::format("nested deeper than {}", kDeepest));
  has_items_.push_back(0);
}

void JsonPull::begin_object() {
  expect('{');
  push();
}

void JsonPull::begin_array() {
  expect('[');
  push();
}

bool JsonPull::next_member() {
  if (peek() == '}') {
    ++at_;
    has_items_.pop_back();
    return false;
  }
  if (has_items_.back() != 0) expect(',');
  has_items_.back() = 1;
  if (peek() != '"') fail("expected the name of a member");
  keep_key(string());
  expect(':');
  return true;
}

// Reading the value may move the buffer.
void JsonPull::keep_key(std::string_view key) {
  if (key.size() > short_key_.size()) {
    long_key_ = key;
    key_ = long_key_;
    return;
  }
  std::memcpy(short_key_.data(), key.data(), key.size());
  key_ = {short_key_.data(), key.size()};
}

bool JsonPull::next_element() {
  if (peek() == ']') {
    ++at_;
    has_items_.pop_back();
    return false;
  }
  if (has_items_.back() != 0) expect(',');
  has_items_.back() = 1;
  return true;
}

JsonPull::Kind JsonPull::kind() {
  switch (peek()) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 0:
      fail("the file ends where a value is due");
    default:
      return Kind::kLiteral;
  }
}

std::string_view JsonPull::string() {
  ++at_;  // the quote
  const char* const begin = buffer_.data() + at_;
  const std::size_t near = std::min(kShortString, end_ - at_);
  std::size_t length = 0;
  while (length < near && !is(begin[length], kStopsString)) ++length;
  if (length < near && begin[length] == '"') {
    at_ += length + 1;
    return {begin, length};
  }
  length = 0;
  bool escapes = false;
  while (true) {
    // To the next quote; a backslash before it may be what it follows.
    const char* const from = buffer_.data() + at_ + length;
    const char* const to = buffer_.data() + end_;
    const auto* const quote = static_cast<const char*>(std::memchr(from, '"', static_cast<std::size_t>(to - from)));
    const char* const until = quote != nullptr ? quote : to;
    const auto* const escape = static_cast<const char*>(std::memchr(from, '\\', static_cast<std::size_t>(until - from)));
    if (escape == nullptr && quote != nullptr) {
      length += static_cast<std::size_t>(quote - from);
      break;
    }
    if (escape == nullptr) {
      length += static_cast<std::size_t>(to - from);
      if (!more()) fail("the file ends inside a string");
      continue;
    }
    escapes = true;
    length += static_cast<std::size_t>(escape - from) + 1;
    while (at_ + length >= end_) {
      if (!more()) fail("the file ends inside a string");
    }
    ++length;
  }
  const std::string_view raw{buffer_.data() + at_, length};
  if (escapes) unescape(raw, scratch_);
  at_ += length + 1;
  return escapes ? std::string_view{scratch_} : raw;
}

void JsonPull::unescape(std::string_view raw, std::string& into) const {
  into.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      into += raw[i];
      continue;
    }
    const char c = raw[++i];
    if (c == 'u') {
      std::uint32_t code = 0;
      const char* from = raw.data() + i + 1;
      if (raw.size() - i < 5 || std::from_chars(from, from + 4, code, 16).ptr != from + 4) fail("a bad \\u in a string");
      i += 4;
      append_utf8(into, code);
    } else {
      constexpr std::string_view kFrom = "nrtbf";
      constexpr std::string_view kTo = "\n\r\t\b\f";
      const std::size_t known = kFrom.find(c);
      into += known == std::string_view::npos ? c : kTo[known];
    }
  }
}

std::string_view JsonPull::scalar() {
  const Kind what = kind();
  if (what == Kind::kString) return string();
  if (what != Kind::kLiteral)
    fail(fmt::format("expected a number or a string, found {}", what == Kind::kObject ? "an object" : "a list"));
  std::size_t length = 0;
  while (true) {
    if (at_ + length >= end_) {
      if (!more()) break;
      continue;
    }
    const char* const data = buffer_.data();
    while (at_ + length < end_ && !is(data[at_ + length], kEndsLiteral)) ++length;
    if (at_ + length < end_) break;
  }
  if (length == 0) fail("expected a value");
  const std::string_view text{buffer_.data() + at_, length};
  at_ += length;
  return text;
}

void JsonPull::skip() {
  const Kind what = kind();
  if (what == Kind::kString || what == Kind::kLiteral) {
    scalar();
    return;
  }
  // Brackets are counted, not matched by kind: what is skipped is nobody's.
  std::size_t depth = 0;
  while (true) {
    const char* const data = buffer_.data();
    while (at_ < end_ && !is(data[at_], kStructure)) ++at_;
    if (at_ >= end_) {
      if (!more()) fail("the file ends inside a value");
      continue;
    }
    const char c = data[at_];
    if (c == '"') {
      skip_string();
      continue;
    }
    ++at_;
    if (c == '{' || c == '[') {
      ++depth;
    } else if (--depth == 0) {
      return;
    }
  }
}

// However long it is.
void JsonPull::skip_string() {
  ++at_;
  const std::size_t near = std::min(end_, at_ + kShortString);
  while (at_ < near && !is(buffer_[at_], kStopsString)) ++at_;
  if (at_ < near && buffer_[at_] == '"') {
    ++at_;
    return;
  }
  while (true) {
    const char* const from = buffer_.data() + at_;
    const auto* const quote = static_cast<const char*>(std::memchr(from, '"', end_ - at_));
    const std::size_t length = quote != nullptr ? static_cast<std::size_t>(quote - from) : end_ - at_;
    const auto* const escape = static_cast<const char*>(std::memchr(from, '\\', length));
    at_ += escape != nullptr ? static_cast<std::size_t>(escape - from) + 1 : length;
    if (escape == nullptr && quote != nullptr) {
      ++at_;
      return;
    }
    if (at_ >= end_ && !more()) fail(escape != nullptr ? "the file ends inside a string" : "the file ends inside a value");
    if (escape != nullptr) ++at_;
  }
}

void JsonPull::check_end() {
  if (peek() != 0) fail("text follows after the end of the object");
}

bool parse_us_as_ns(std::string_view text, std::int64_t& ns) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  // The digits as one number, and where its point stands.
  constexpr std::int64_t kMost = 900'000'000'000'000'000;
  std::int64_t digits = 0;
  int after_point = 0;
  bool point = false;
  bool any = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (point && after_point >= 12) continue;
      if (digits > kMost / 10) {
        if (!point) return false;
        continue;
      }
      digits = digits * 10 + (c - '0');
      after_point += point ? 1 : 0;
    } else {
      break;
    }
  }
  int exponent = 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && text[i] == '+') ++i;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), exponent);
    if (error != std::errc{} || exponent > 30 || exponent < -30) return false;
    i = static_cast<std::size_t>(end - text.data());
  }
  if (!any || i != text.size()) return false;
  int shift = exponent - after_point + 3;  // microseconds to nanoseconds
  for (; shift > 0; --shift) {
    if (digits > kMost) return false;
    digits *= 10;
  }
  for (; shift < 0; ++shift) digits /= 10;
  ns = negative ? -digits : digits;
  return true;
}

bool read_integer(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return rest.empty() || (rest.front() == '.' && rest.find_first_not_of('0', 1) == std::string_view::npos);
}

}  // namespace weft::work
