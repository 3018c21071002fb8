// Words and numbers of a line of text. Numbers are read without regard to the locale and must fill the whole word.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace weft {

struct Word {
  std::string_view text;
  std::size_t at = 0;  // offset in the line
};

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// ASCII only, whatever the locale.
inline char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
inline std::string lower_case(std::string_view text) {
  std::string result{text};
  for (char& c : result) c = lower_case(c);
  return result;
}

// "all_reduce" and "AllReduce" are one name: "allreduce".
inline std::string folded_name(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c != '_') result += lower_case(c);
  }
  return result;
}

inline bool all_digits(std::string_view text) {
  for (const char c : text) {
    if (!is_digit(c)) return false;
  }
  return !text.empty();
}

inline std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  std::size_t i = 0;
  while (true) {
    while (i < line.size() && is_blank(line[i])) ++i;
    if (i == line.size()) return words;
    const std::size_t begin = i;
    while (i < line.size() && !is_blank(line[i])) ++i;
    words.push_back({line.substr(begin, i - begin), begin});
  }
}

inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace weft
