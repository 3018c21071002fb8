// Parts that sections of a report share: values of result files, tables and bars.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/output/report/document.h"

namespace weft::output {

using OrderedJson = nlohmann::ordered_json;

// A value of another kind than this program writes: whatever it is, the file was not written by it.
class NotOurs : public std::runtime_error {
 public:
  NotOurs(const char* key, const char* expected);
};

// Absent and null: a null.
[[nodiscard]] const OrderedJson& value_of(const OrderedJson& json, const char* key);
[[nodiscard]] std::string text_of(const OrderedJson& json, const char* key);
[[nodiscard]] double json_number(const OrderedJson& json, const char* key);  // absent: not a number
[[nodiscard]] const OrderedJson& member(const OrderedJson& json, const char* key);
// A list of objects; nulls stand where a run did not come to its turn.
[[nodiscard]] const OrderedJson& list(const OrderedJson& json, const char* key);

// Four digits, or "-".
[[nodiscard]] std::string figure(double number);
[[nodiscard]] std::string percent_text(double share);

using ReportColumn = std::pair<std::string, bool>;  // title, and whether it holds text
// Nothing where there are no rows.
void add_table(Document& document, std::string caption, const std::vector<ReportColumn>& columns,
               std::vector<std::vector<std::string>> rows);
// Nothing of a single value.
void add_bars(Document& document, const std::string& title, const std::string& unit,
              const std::vector<std::pair<std::string, double>>& values);

}  // namespace weft::output
