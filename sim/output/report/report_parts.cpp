#include "sim/output/report/report_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/output/report/chart.h"

namespace weft::output {

NotOurs::NotOurs(const char* key, const char* expected) : std::runtime_error{fmt::format("{}: expected {}", key, expected)} {}

const OrderedJson& value_of(const OrderedJson& json, const char* key) {
  static const OrderedJson none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

std::string text_of(const OrderedJson& json, const char* key) {
  const OrderedJson& value = value_of(json, key);
  if (value.is_structured()) throw NotOurs(key, "a text");
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

double json_number(const OrderedJson& json, const char* key) {
  const OrderedJson& value = value_of(json, key);
  if (value.is_null()) return std::nan("");
  if (!value.is_number()) throw NotOurs(key, "a number");
  return value.get<double>();
}

const OrderedJson& member(const OrderedJson& json, const char* key) {
  const OrderedJson& value = value_of(json, key);
  if (!value.is_null() && !value.is_object()) throw NotOurs(key, "an object");
  return value;
}

const OrderedJson& list(const OrderedJson& json, const char* key) {
  const OrderedJson& value = value_of(json, key);
  const auto is_item = [](const OrderedJson& item) { return item.is_object() || item.is_null(); };
  if (!value.is_null() && !(value.is_array() && std::ranges::all_of(value, is_item))) throw NotOurs(key, "a list of objects");
  return value;
}

std::string figure(double number) {
  if (!std::isfinite(number)) return "-";
  if (number != 0 && (std::abs(number) >= 1e7 || std::abs(number) < 1e-3)) return fmt::format("{:.3e}", number);
  if (std::abs(number) >= 9999.5) return fmt::format("{:.0f}", number);  // not 1.163e+04
  return fmt::format("{:.4g}", number);
}
std::string percent_text(double share) { return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-"; }

void add_table(Document& document, std::string caption, const std::vector<ReportColumn>& columns,
               std::vector<std::vector<std::string>> rows) {
  if (rows.empty()) return;
  std::vector<ReportColumn> shown;
  for (std::size_t column = columns.size(); column-- > 0;) {
    const bool is_said = std::ranges::any_of(rows, [&](const auto& row) { return row[column] != "-"; });
    if (is_said) {
      shown.insert(shown.begin(), columns[column]);
    } else {
      for (std::vector<std::string>& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    }
  }
  HtmlTable made;
  made.caption = std::move(caption);
  for (const auto& [title, is_text] : shown) made.columns.push_back({.title = title, .is_text = is_text});
  for (std::vector<std::string>& row : rows) {
    std::vector<HtmlCell>& cells = made.rows.emplace_back();
    for (std::string& cell : row) cells.push_back({.text = std::move(cell)});
  }
  document.add(TableBlock{std::move(made)});
}

void add_bars(Document& document, const std::string& title, const std::string& unit,
              const std::vector<std::pair<std::string, double>>& values) {
  if (values.size() < 2) return;
  BarChart chart{.title = title, .value = {.title = unit}};
  BarSeries series{.colour = 0};
  for (const auto& [name, value] : values) {
    chart.categories.push_back(name);
    series.values.push_back(value);
  }
  chart.series.push_back(std::move(series));
  document.add(ChartBlock{to_svg(chart), {}});
}

}  // namespace weft::output
