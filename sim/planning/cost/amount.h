// Amounts of money, power, length and years as they stand in price and power books, and figures with their source.
//
//   price: 310000 USD      max: 10.2 kW      node: 15 m      price: 0.08 USD/kWh      over: 5 years
//
// Doubles in the unit of their name: they are for reports, and no simulated time depends on them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/core/config/params.h"

namespace weft::plan {

enum class Unit {
  kUsd,        // "310000 USD"
  kUsdPerKwh,  // "0.08 USD/kWh"
  kWatt,       // "700 W", "10.2 kW", "1.5 MW"
  kMetre,      // "15 m"
  kYear,       // "5 years"
};

// "10.2 kW" as 10'200; nothing where the text is no amount of this unit, or less than 0.
[[nodiscard]] std::optional<double> parse_amount(std::string_view text, Unit unit);

// The value of `key`. Without a default the key is required; after an error 0 is returned.
[[nodiscard]] double read_amount(ParamReader& params, std::string_view key, Unit unit,
                                 std::optional<double> default_value = std::nullopt);

// A number that somebody stated: where and when.
struct Figure {
  double value = 0;
  std::string source = {};
  std::string date = {};  // "2024", "2024-08" or "2024-08-15"
};

// Where and when, which every entry of a book must say: keys `source` and `date`.
[[nodiscard]] Figure read_figure(ParamReader& entry, std::string_view key, Unit unit);
void read_source(ParamReader& entry, Figure& figure);

// "1.2 k", "310.0 k", "46.5 M": dollars for people. Without the unit.
[[nodiscard]] std::string short_usd(double usd);
// "812 W", "10.2 kW", "1.31 MW".
[[nodiscard]] std::string short_watts(double watts);

}  // namespace weft::plan
