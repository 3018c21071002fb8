#include "sim/planning/cost/amount.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <span>

#include "sim/core/config/quantity.h"

namespace weft::plan {
namespace {

struct Spelling {
  std::string_view text;
  double factor;
};
constexpr std::array kUsd{Spelling{"USD", 1}};
constexpr std::array kUsdPerKwh{Spelling{"USD/kWh", 1}};
constexpr std::array kWatt{Spelling{"W", 1}, Spelling{"kW", 1e3}, Spelling{"MW", 1e6}};
constexpr std::array kMetre{Spelling{"m", 1}};
constexpr std::array kYear{Spelling{"years", 1}, Spelling{"year", 1}};

std::span<const Spelling> spellings(Unit unit) {
  switch (unit) {
    case Unit::kUsd:
      return kUsd;
    case Unit::kUsdPerKwh:
      return kUsdPerKwh;
    case Unit::kWatt:
      return kWatt;
    case Unit::kMetre:
      return kMetre;
    case Unit::kYear:
      return kYear;
  }
  return {};
}

std::string_view example(Unit unit) {
  switch (unit) {
    case Unit::kUsd:
      return "an amount such as '1200 USD'";
    case Unit::kUsdPerKwh:
      return "a price such as '0.08 USD/kWh'";
    case Unit::kWatt:
      return "a power such as '700 W' or '10.2 kW'";
    case Unit::kMetre:
      return "a length such as '15 m'";
    case Unit::kYear:
      return "a time such as '5 years'";
  }
  return {};
}

// "2024", "2024-08" or "2024-08-15".
bool is_date(std::string_view text) {
  if (text.size() != 4 && text.size() != 7 && text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash != (text[i] == '-')) return false;
    if (!dash && std::isdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  }
  return true;
}

}  // namespace

std::optional<double> parse_amount(std::string_view text, Unit unit) {
  for (const Spelling& spelling : spellings(unit)) {
    if (!text.ends_with(spelling.text)) continue;
    std::string_view number = text.substr(0, text.size() - spelling.text.size());
    while (number.ends_with(' ')) number.remove_suffix(1);
    if (const auto value = parse_number(number); value && *value >= 0) return *value * spelling.factor;
  }
  return std::nullopt;
}

double read_amount(ParamReader& params, std::string_view key, Unit unit, std::optional<double> default_value) {
  if (!params.has(key) && default_value) {
    static_cast<void>(params.optional_raw(key));
    return *default_value;
  }
  if (!params.has(key)) {
    static_cast<void>(params.optional_raw(key));
    params.error_here(fmt::format("missing key '{}'", key), fmt::format("it takes {}", example(unit)));
    return 0;
  }
  const ConfigNode node = params.raw(key);
  if (node.is_scalar()) {
    if (const auto value = parse_amount(node.scalar(), unit)) return *value;
  }
  params.error(key, fmt::format("expected {}, got {}", example(unit), found_text(node)));
  return 0;
}

void read_source(ParamReader& entry, Figure& figure) {
  figure.source = entry.required<std::string>("source");
  figure.date = entry.required<std::string>("date");
  if (entry.has("date") && !is_date(figure.date)) {
    entry.error("date", fmt::format("expected a date such as '2024', '2024-08' or '2024-08-15', got '{}'", figure.date));
  }
}

Figure read_figure(ParamReader& entry, std::string_view key, Unit unit) {
  Figure figure;
  figure.value = read_amount(entry, key, unit);
  read_source(entry, figure);
  return figure;
}

std::string short_usd(double usd) {
  if (usd >= 1e9) return fmt::format("{:.2f} G", usd / 1e9);
  if (usd >= 1e6) return fmt::format("{:.2f} M", usd / 1e6);
  if (usd >= 1e4) return fmt::format("{:.1f} k", usd / 1e3);
  if (usd >= 100) return fmt::format("{:.0f}", usd);
  if (usd >= 1 || usd == 0) return fmt::format("{:.2f}", usd);
  return fmt::format("{:.3g}", usd);
}

std::string short_watts(double watts) {
  if (watts >= 1e6) return fmt::format("{:.2f} MW", watts / 1e6);
  if (watts >= 1e3) return fmt::format("{:.1f} kW", watts / 1e3);
  return fmt::format("{:.0f} W", watts);
}

}  // namespace weft::plan
