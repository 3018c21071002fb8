#include "sim/planning/sweep/row_text.h"

#include <bit>
#include <charconv>
#include <cstdint>

#include "sim/core/error.h"

// Every field is its length in decimal, a colon and that many bytes; a number is decimal, the bits of one where it is no
// integer.
namespace weft::plan {
namespace {

void add(std::string& text, std::string_view field) {
  text += std::to_string(field.size());
  text += ':';
  text += field;
}

void add_cell(std::string& text, const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    add(text, "i" + std::to_string(*whole));
  } else if (const auto* real = std::get_if<double>(&cell)) {
    add(text, "r" + std::to_string(std::bit_cast<std::uint64_t>(*real)));
  } else if (const auto* words = std::get_if<std::string>(&cell)) {
    add(text, "t" + *words);
  } else {
    add(text, std::string_view{});
  }
}

template <class T>
T number_in_row(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  WEFT_CHECK(error == std::errc{} && end == text.data() + text.size());
  return number;
}

std::string_view take(std::string_view& text) {
  const std::size_t colon = text.find(':');
  WEFT_CHECK(colon != std::string_view::npos);
  const auto length = number_in_row<std::size_t>(text.substr(0, colon));
  WEFT_CHECK(length <= text.size() - colon - 1);
  const std::string_view field = text.substr(colon + 1, length);
  text.remove_prefix(colon + 1 + length);
  return field;
}

Cell take_cell(std::string_view& text) {
  const std::string_view field = take(text);
  if (field.empty()) return {};
  if (field.front() == 'i') return number_in_row<std::int64_t>(field.substr(1));
  if (field.front() == 'r') return std::bit_cast<double>(number_in_row<std::uint64_t>(field.substr(1)));
  return std::string{field.substr(1)};
}

}  // namespace

std::string to_message(const PointRow& row) {
  std::string text;
  add(text, std::to_string(row.id));
  for (const std::string* field : {&row.configuration, &row.digest, &row.error}) add(text, std::string_view{*field});
  for (const std::vector<Cell>* cells : {&row.axes, &row.metrics}) {
    add(text, std::to_string(cells->size()));
    for (const Cell& cell : *cells) add_cell(text, cell);
  }
  return text;
}

PointRow row_of_message(std::string_view text) {
  PointRow row;
  row.id = number_in_row<std::uint64_t>(take(text));
  for (std::string* field : {&row.configuration, &row.digest, &row.error}) *field = take(text);
  for (std::vector<Cell>* cells : {&row.axes, &row.metrics}) {
    const auto count = number_in_row<std::size_t>(take(text));
    for (std::size_t i = 0; i < count; ++i) cells->push_back(take_cell(text));
  }
  WEFT_CHECK(text.empty());
  return row;
}

}  // namespace weft::plan
