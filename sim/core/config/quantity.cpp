#include "sim/core/config/quantity.h"
#include "sim/core/config/unit_names.h"
#include "sim/core/words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <system_error>

namespace weft {
namespace {

constexpr Int128 kMax = std::numeric_limits<std::int64_t>::max();
// The largest size that is read: twice it is still a number.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;
constexpr Int128 kMin = std::numeric_limits<std::int64_t>::min();

// mantissa * 10^exponent
struct Decimal {
  Int128 mantissa = 0;
  int exponent = 0;
};

// Length of the number `text` begins with: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?; 0 if there is none. A second digit
// after a leading zero is no number: nobody can tell whether 010 was meant as eight.
std::size_t number_length(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t begin = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - begin;
  };
  if (i < text.size() && text[i] == '-') ++i;
  const std::size_t whole = i;
  const std::size_t count = digits();
  if (count == 0 || (count > 1 && text[whole] == '0')) return 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return 0;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const std::size_t before = i++;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) i = before;
  }
  return i;
}

// `text` is exactly what number_length accepted. nullopt: too many digits for 128 bits.
std::optional<Decimal> to_decimal(std::string_view text) {
  Decimal decimal;
  const bool negative = text.front() == '-';
  bool fraction = false;
  std::size_t i = negative ? 1 : 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    if (__builtin_mul_overflow(decimal.mantissa, Int128{10}, &decimal.mantissa) ||
        __builtin_add_overflow(decimal.mantissa, Int128{text[i] - '0'}, &decimal.mantissa)) {
      return std::nullopt;
    }
    if (fraction) --decimal.exponent;
  }
  if (i < text.size()) {
    std::string_view power = text.substr(i + 1);
    if (power.front() == '+') power.remove_prefix(1);
    int exponent = 0;
    const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
    if (error != std::errc{} || end != power.data() + power.size() || std::abs(exponent) > 1000) return std::nullopt;
    decimal.exponent += exponent;
  }
  while (decimal.exponent < 0 && decimal.mantissa % 10 == 0 && decimal.mantissa != 0) {
    decimal.mantissa /= 10;
    ++decimal.exponent;
  }
  if (decimal.mantissa == 0) decimal.exponent = 0;
  if (negative) decimal.mantissa = -decimal.mantissa;
  return decimal;
}

enum class Fractions { kToNearest, kRefused };

// decimal * scale as an integer of 64 bits.
std::optional<std::int64_t> scaled(Decimal decimal, std::int64_t scale, Fractions fractions) {
  Int128 value = 0;
  if (__builtin_mul_overflow(decimal.mantissa, Int128{scale}, &value)) return std::nullopt;
  for (; decimal.exponent > 0; --decimal.exponent) {
    if (__builtin_mul_overflow(value, Int128{10}, &value)) return std::nullopt;
  }
  if (decimal.exponent < 0) {
    Int128 divisor = 1;
    for (; decimal.exponent < 0; ++decimal.exponent) {
      if (__builtin_mul_overflow(divisor, Int128{10}, &divisor)) return std::nullopt;
    }
    const Int128 rest = value % divisor;
    value /= divisor;
    if (rest != 0 && fractions == Fractions::kRefused) return std::nullopt;
    const Int128 distance = rest < 0 ? -rest : rest;
    if (distance >= divisor - distance) value += rest < 0 ? -1 : 1;
  }
  if (value < kMin || value > kMax) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

struct NamedUnit {
  std::string_view name;
  std::int64_t scale;
};

constexpr std::int64_t kKilo = 1'000;
constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kTera = 1'000'000'000'000;
constexpr std::int64_t kPeta = 1'000'000'000'000'000;

constexpr NamedUnit kDurationUnits[] = {{"ps", 1},    {"ns", kKilo},       {"us", kMega},        {"ms", kGiga},
                                        {"s", kTera}, {"min", 60 * kTera}, {"h", 3'600 * kTera}, {"d", 86'400 * kTera}};

constexpr NamedUnit kByteUnits[] = {{"B", 1},           {"kB", kKilo},      {"KB", kKilo},      {"MB", kMega},
                                    {"GB", kGiga},      {"TB", kTera},      {"PB", kPeta},      {"KiB", 1LL << 10},
                                    {"MiB", 1LL << 20}, {"GiB", 1LL << 30}, {"TiB", 1LL << 40}, {"PiB", 1LL << 50}};

// In bits per second.
constexpr NamedUnit kBandwidthUnits[] = {{"b/s", 1},           {"kb/s", kKilo},     {"Kb/s", kKilo},      {"Mb/s", kMega},
                                         {"Gb/s", kGiga},      {"Tb/s", kTera},     {"bps", 1},           {"kbps", kKilo},
                                         {"Kbps", kKilo},      {"Mbps", kMega},     {"Gbps", kGiga},      {"Tbps", kTera},
                                         {"B/s", 8},           {"kB/s", 8 * kKilo}, {"KB/s", 8 * kKilo},  {"MB/s", 8 * kMega},
                                         {"GB/s", 8 * kGiga},  {"TB/s", 8 * kTera}, {"KiB/s", 8LL << 10}, {"MiB/s", 8LL << 20},
                                         {"GiB/s", 8LL << 30}, {"TiB/s", 8LL << 40}};

std::vector<std::string_view> names_of(std::span<const NamedUnit> units) {
  std::vector<std::string_view> names;
  for (const NamedUnit& unit : units) names.push_back(unit.name);
  return names;
}

std::optional<std::int64_t> parse_with_unit(std::string_view text, std::span<const NamedUnit> units, Fractions fractions) {
  const std::size_t length = number_length(text);
  if (length == 0) return std::nullopt;
  std::string_view name = text.substr(length);
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  const auto unit = std::find_if(units.begin(), units.end(), [name](const NamedUnit& u) { return u.name == name; });
  if (unit == units.end()) return std::nullopt;
  const auto decimal = to_decimal(text.substr(0, length));
  return decimal ? scaled(*decimal, unit->scale, fractions) : std::nullopt;
}

std::optional<double> to_double(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Bytes> size_of(std::optional<std::int64_t> count) {
  return count && *count <= kMaxBytes && *count >= -kMaxBytes ? std::optional{Bytes{*count}} : std::nullopt;
}

// value / scale as a decimal fraction, exact: scale is a power of ten.
std::string fraction_text(Int128 value, std::int64_t scale) {
  std::string text = value < 0 ? "-" : "";
  const Int128 magnitude = value < 0 ? -value : value;
  text += std::to_string(static_cast<std::int64_t>(magnitude / scale));
  auto rest = static_cast<std::int64_t>(magnitude % scale);
  if (rest == 0) return text;
  text += '.';
  while (rest != 0) {
    scale /= 10;
    text += static_cast<char>('0' + rest / scale);
    rest %= scale;
  }
  return text;
}

// The largest of `units` (powers of ten, ascending) that `value` holds at least once.
std::string largest_unit_text(std::int64_t value, std::span<const NamedUnit> units) {
  const Int128 magnitude = value < 0 ? -static_cast<Int128>(value) : static_cast<Int128>(value);
  const NamedUnit* chosen = &units.front();
  for (const NamedUnit& unit : units) {
    if (magnitude >= unit.scale) chosen = &unit;
  }
  return fraction_text(value, chosen->scale) + ' ' + std::string{chosen->name};
}

}  // namespace

std::vector<std::string_view> duration_units() { return names_of(kDurationUnits); }
std::vector<std::string_view> byte_units() { return names_of(kByteUnits); }
std::vector<std::string_view> bandwidth_units() { return names_of(kBandwidthUnits); }

std::optional<Duration> parse_duration(std::string_view text) {
  const auto ps = parse_with_unit(text, kDurationUnits, Fractions::kToNearest);
  return ps ? std::optional{Duration::from_ps(*ps)} : std::nullopt;
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto count = parse_with_unit(text, kByteUnits, Fractions::kRefused);
  return size_of(count);
}

std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  const auto bits = parse_with_unit(text, kBandwidthUnits, Fractions::kToNearest);
  return bits ? std::optional{Bandwidth::from_bits_per_second(*bits)} : std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.empty() || number_length(text) != text.size()) return std::nullopt;
  return to_double(std::string{text});
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.empty() || number_length(text) != text.size()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_ratio(std::string_view text) {
  const std::size_t length = number_length(text);
  if (length == text.size()) return parse_number(text);
  std::string_view unit = text.substr(length);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  const std::string_view number = text.substr(0, length);
  if (length == 0 || unit != "%" || number.find_first_of("eE") != std::string_view::npos) return std::nullopt;
  return to_double(std::string{number} + "e-2");  // "5 %" is the double nearest to 0.05, which 5.0 / 100 need not be
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<Bytes> parse_nccl_size(std::string_view text) {
  const std::size_t length = number_length(text);
  if (length == 0 || text.front() == '-' || text.size() > length + 1) return std::nullopt;
  constexpr std::string_view kSuffixes = "KMGT";
  std::int64_t scale = 1;
  if (text.size() == length + 1) {
    const char last = text.back();
    const std::size_t power = kSuffixes.find(last >= 'a' && last <= 'z' ? static_cast<char>(last - 'a' + 'A') : last);
    if (power == std::string_view::npos) return std::nullopt;
    scale = std::int64_t{1} << (10 * (power + 1));
  }
  const auto decimal = to_decimal(text.substr(0, length));
  const auto count = decimal ? scaled(*decimal, scale, Fractions::kRefused) : std::nullopt;
  return size_of(count);
}

std::optional<Bytes> parse_size(std::string_view text) {
  const auto size = parse_nccl_size(text);
  return size ? size : parse_bytes(text);
}

std::string to_string(Duration duration) {
  if (duration == Duration{}) return "0 s";
  return largest_unit_text(duration.ps(), std::span{kDurationUnits}.first(5));
}

std::string to_string(Bytes bytes) {
  std::string best = std::to_string(bytes.count()) + " B";
  std::size_t digits = best.size() - 2;
  if (bytes.count() == 0) return best;
  // The binary form wins among equally short ones, as buffers and messages are mostly powers of two.
  for (const bool binary : {true, false}) {
    for (const NamedUnit& unit : kByteUnits) {
      if (unit.scale == 1 || unit.name == "KB" || (unit.name[1] == 'i') != binary || bytes.count() % unit.scale != 0) continue;
      const std::string number = std::to_string(bytes.count() / unit.scale);
      if (number.size() < digits) {
        digits = number.size();
        best = number + ' ' + std::string{unit.name};
      }
    }
  }
  return best;
}

std::string to_string(Bandwidth bandwidth) {
  constexpr NamedUnit kShown[] = {{"b/s", 1}, {"kb/s", kKilo}, {"Mb/s", kMega}, {"Gb/s", kGiga}, {"Tb/s", kTera}};
  return largest_unit_text(bandwidth.bits_per_second(), kShown);
}

std::string to_string(Ratio ratio) {
  // Rounded to ten decimals, so that 0.0175 does not become 1.7500000000000002 %.
  const std::string percent = number_text(std::round(ratio.value * 1e12) / 1e10) + " %";
  return parse_ratio(percent) == ratio.value ? percent : number_text(ratio.value);
}

std::string number_text(double number) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  return error == std::errc{} ? std::string{buffer, end} : std::string{};
}

}  // namespace weft
