#include "sim/measured/readers/nccl_tests_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/collectives/call.h"
#include "sim/measured/readers/nccl_tests_parser.h"
#include "sim/measured/readers/text_lines.h"

namespace weft::measured::detail {
namespace {

constexpr std::size_t kHalfColumns = 4;       // time, algbw, busbw, wrong
constexpr std::size_t kEmptyHalfBlanks = 30;  // nccl-tests prints 32 blanks for an out-of-place half that it did not run

struct ColumnName {
  std::string_view name;
  Column column;
};
constexpr std::array<ColumnName, 11> kColumnNames{{{"size", Column::kSize},
                                                   {"count", Column::kCount},
                                                   {"type", Column::kType},
                                                   {"redop", Column::kRedop},
                                                   {"root", Column::kRoot},
                                                   {"time", Column::kTime},
                                                   {"cputime", Column::kTime},
                                                   {"algbw", Column::kAlgbw},
                                                   {"busbw", Column::kBusbw},
                                                   {"#wrong", Column::kWrong},
                                                   {"error", Column::kWrong}}};

bool is_data_type(std::string_view word) {
  static constexpr std::array<std::string_view, 18> kTypes{"int8", "uint8",    "int32",    "uint32",   "int64",  "uint64",
                                                           "half", "float",    "double",   "bfloat16", "char",   "int",
                                                           "uint", "fp8_e4m3", "fp8_e5m2", "f8e4m3",   "f8e5m2", "bf16"};
  return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

bool is_date(std::string_view word) {  // 2026-11-21
  return word.size() == 10 && word[4] == '-' && word[7] == '-' && all_digits(word.substr(0, 4)) &&
         all_digits(word.substr(5, 2)) && all_digits(word.substr(8, 2));
}

bool is_clock(std::string_view word) {  // 08:36:02
  return word.size() == 8 && word[2] == ':' && word[5] == ':' && all_digits(word.substr(0, 2)) &&
         all_digits(word.substr(3, 2)) && all_digits(word.substr(6, 2));
}

bool is_value(std::string_view word) { return word == "N/A" || number_from<double>(word).has_value(); }

std::size_t count_values(const std::vector<Word>& words) {
  return static_cast<std::size_t>(std::count_if(words.begin(), words.end(), [](const Word& w) { return is_value(w.text); }));
}

bool looks_like_row(const std::vector<Word>& words, bool after_header) {
  if (words.size() >= 9 && is_data_type(words[2].text)) return true;
  if (!after_header || words.size() < 2) return false;
  if (all_digits(words[0].text) && all_digits(words[1].text)) return true;
  if (words.size() >= 3 && is_data_type(words[2].text)) return true;
  return words.size() >= 8 && count_values(words) >= 5;
}

std::string_view expectation(Column column) {
  switch (column) {
    case Column::kSize:
      return "the size in bytes, at most 1 PiB";
    case Column::kCount:
      return "the number of elements";
    case Column::kType:
      return "a data type";
    case Column::kRedop:
      return "a reduction";
    case Column::kRoot:
      return "the root, or -1";
    case Column::kTime:
      return "a time in microseconds";
    case Column::kAlgbw:
    case Column::kBusbw:
      return "a bandwidth in GB/s";
    case Column::kWrong:
      return "a number of wrong elements, or N/A";
    case Column::kIgnored:
      return "a number";
  }
  return "";
}

// Puts one word in its place; false if it is not what the column holds.
bool take(Column column, std::string_view word, NcclTestsRow& row, std::optional<NcclTestsTiming>& half) {
  const auto whole = [word]() { return number_from<std::int64_t>(word).value_or(-2); };
  const auto real = number_from<double>(word);
  if (column >= Column::kTime && column <= Column::kWrong && !half) half.emplace();
  switch (column) {
    case Column::kSize:
      row.bytes = Bytes{whole()};
      return whole() >= 0 && row.bytes <= coll::kLargestCall;
    case Column::kCount:
      row.count = whole();
      return row.count >= 0;
    case Column::kType:
      row.type = word;
      return !is_value(word);
    case Column::kRedop:
      row.redop = word;
      return !is_value(word);
    case Column::kRoot:
      if (whole() < -1 || whole() >= kMaxRanks) return false;
      row.root = static_cast<int>(whole());
      return true;
    case Column::kTime:
      half->time_us = real.value_or(-1);
      return real && *real >= 0 && *real < kMaxTimeUs;
    case Column::kAlgbw:
      half->algbw_gigabytes_per_second = real.value_or(0);
      return real.has_value();
    case Column::kBusbw:
      half->busbw_gigabytes_per_second = real.value_or(0);
      return real.has_value();
    case Column::kWrong:
      half->wrong = real;
      return is_value(word);
    case Column::kIgnored:
      return true;
  }
  return false;
}

}  // namespace

Layout layout_of_header(const std::vector<Word>& words) {
  if (words.size() < 3 || words[0].text != "size" || words[1].text != "count" || words[2].text != "type") return {};
  Layout layout;
  for (const Word& word : words) {
    if (word.text == "timestamp") continue;  // two words, taken off each row
    const auto* const known =
        std::find_if(kColumnNames.begin(), kColumnNames.end(), [&](const ColumnName& c) { return c.name == word.text; });
    layout.push_back(known == kColumnNames.end() ? Column::kIgnored : known->column);
  }
  return layout;
}

Layout layout_of_row(const std::vector<Word>& words) {
  if (words.size() < 7) return {};
  Layout layout{Column::kSize, Column::kCount, Column::kType};
  const std::size_t halves = words.size() >= 11 ? 2 : 1;
  const std::size_t extra = words.size() - 3 - halves * kHalfColumns;
  if (extra > 2) return {};
  if (extra == 2 || (extra == 1 && !is_value(words[3].text))) layout.push_back(Column::kRedop);
  if (extra == 2 || (extra == 1 && is_value(words[3].text))) layout.push_back(Column::kRoot);
  for (std::size_t half = 0; half < halves; ++half) {
    layout.insert(layout.end(), {Column::kTime, Column::kAlgbw, Column::kBusbw, Column::kWrong});
  }
  return layout;
}

bool continues_row(const std::vector<Word>& words) { return !words.empty() && count_values(words) == words.size(); }

RowReading read_row(std::string_view line, const Layout& stated, bool after_header) {
  RowReading reading;
  std::vector<Word> words = words_of(line);
  if (words.size() >= 2 && is_clock(words.back().text) && is_date(words[words.size() - 2].text)) {
    words.resize(words.size() - 2);  // -S
  }
  if (!looks_like_row(words, after_header)) return reading;
  const Layout inferred = stated.empty() ? layout_of_row(words) : Layout{};
  const Layout& layout = stated.empty() ? inferred : stated;
  if (layout.empty() || words.size() > layout.size()) {
    reading.state = RowState::kGarbled;
    const Word& first_extra = layout.empty() ? words.back() : words[layout.size()];
    reading.message = fmt::format("row has {} columns, expected {}", words.size(),
                                  layout.empty() ? std::string{"9 or 13"} : std::to_string(layout.size()));
    reading.at = first_extra.at;
    reading.length = first_extra.text.size();
    return reading;
  }

  const auto first_time = static_cast<std::size_t>(std::find(layout.begin(), layout.end(), Column::kTime) - layout.begin());
  const auto second_time =
      static_cast<std::size_t>(std::find(layout.begin() + static_cast<std::ptrdiff_t>(std::min(first_time + 1, layout.size())),
                                         layout.end(), Column::kTime) -
                               layout.begin());
  const std::size_t half_size = second_time - first_time;
  const bool has_first_half_only = words.size() == second_time && second_time < layout.size();
  const bool has_second_half_only =
      has_first_half_only && first_time > 0 &&
      words[first_time].at - (words[first_time - 1].at + words[first_time - 1].text.size()) >= kEmptyHalfBlanks;

  reading.row.redop = "none";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t place = has_second_half_only && i >= first_time ? i + half_size : i;
    std::optional<NcclTestsTiming>& half = place >= second_time ? reading.row.in_place : reading.row.out_of_place;
    if (take(layout[place], words[i].text, reading.row, half)) continue;
    reading.state = RowState::kGarbled;
    reading.message = fmt::format("expected {}, got '{}'", expectation(layout[place]), printable(words[i].text, 40));
    reading.at = words[i].at;
    reading.length = words[i].text.size();
    reading.is_last_word = i + 1 == words.size();
    return reading;
  }
  if (words.size() == layout.size() || has_second_half_only) {
    reading.state = RowState::kComplete;
  } else {
    reading.state = has_first_half_only ? RowState::kHalf : RowState::kIncomplete;
  }
  return reading;
}

}  // namespace weft::measured::detail
