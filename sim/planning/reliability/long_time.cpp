#include "sim/planning/reliability/long_time.h"

#include <fmt/format.h>

#include <array>

#include "sim/core/config/quantity.h"

namespace weft::plan {
namespace {

struct TimeUnit {
  std::string_view text;
  double seconds;
};
// Longer spellings first: "min" ends in no other, but "us" and "ms" end in "s".
constexpr std::array kUnits{TimeUnit{"years", 365.0 * 86'400},
                            TimeUnit{"year", 365.0 * 86'400},
                            TimeUnit{"min", 60},
                            TimeUnit{"us", 1e-6},
                            TimeUnit{"ms", 1e-3},
                            TimeUnit{"s", 1},
                            TimeUnit{"h", 3'600},
                            TimeUnit{"d", 86'400}};

}  // namespace

std::optional<LongTime> parse_long_time(std::string_view text) {
  for (const TimeUnit& unit : kUnits) {
    if (!text.ends_with(unit.text)) continue;
    std::string_view number = text.substr(0, text.size() - unit.text.size());
    while (number.ends_with(' ')) number.remove_suffix(1);
    const auto value = parse_number(number);
    if (!value || *value < 0) return std::nullopt;
    const double seconds = *value * unit.seconds;
    if (seconds > kLongestYears * 365 * 86'400) return std::nullopt;
    return LongTime::from_seconds(seconds);
  }
  return std::nullopt;
}

std::string to_string(LongTime time) {
  const double seconds = time.seconds();
  if (time.us() == 0) return "0 s";
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 3'600) return fmt::format("{:.4g} s", seconds);
  if (seconds < 4 * 86'400) return fmt::format("{:.3g} h", seconds / 3'600);
  if (seconds < 1'000 * 86'400.0) return fmt::format("{:.3g} d", seconds / 86'400);
  return fmt::format("{:.3g} years", seconds / (365 * 86'400.0));
}

LongTime read_long_time(ParamReader& params, std::string_view key, std::optional<LongTime> default_value) {
  const std::optional<ConfigNode> node = params.optional_raw(key);
  if (!node) {
    if (!default_value) params.error_here(fmt::format("missing key '{}'", key), "a time such as '30 s', '10 min' or '54 d'");
    return default_value.value_or(LongTime{});
  }
  if (node->is_scalar()) {
    if (const auto time = parse_long_time(node->scalar())) return *time;
  }
  params.error(key, fmt::format("expected a time such as '30 s', '10 min', '3 h' or '54 d', got {}", found_text(*node)));
  return LongTime::from_us(1);
}

}  // namespace weft::plan
