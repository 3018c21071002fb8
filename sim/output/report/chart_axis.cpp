#include "sim/output/report/chart_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "sim/core/portable_math.h"

namespace weft::output::detail {
namespace {

// Ends this close, as a share of their size, are one value: no tick between them could be told from either.
constexpr double kLeastSpread = 1e-9;
constexpr double kPad = 0.04;  // of the span, on the sides that the data sets

std::string with_prefix(double value, double step, std::initializer_list<std::string_view> prefixes) {
  const std::string_view* prefix = prefixes.begin();
  while (std::abs(value) >= step && prefix + 1 != prefixes.end()) {
    value /= step;
    ++prefix;
  }
  return fmt::format("{:.4g}{}", value, *prefix);
}

// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
double nice(double step) {
  const double power = portable_exp10(static_cast<int>(std::floor(portable_log10(step))));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string tick_text(double value, TickText text) {
  if (std::abs(value) < 1e-12) value = 0;
  switch (text) {
    case TickText::kBytes:
      return with_prefix(value, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
    case TickText::kMicroseconds:
      if (value != 0 && std::abs(value) < 1) return fmt::format("{:.4g} ns", 1000 * value);
      return with_prefix(value, 1000, {" us", " ms", " s"});
    case TickText::kPercent:
      return fmt::format("{:.4g} %", 100 * value);
    case TickText::kNumber:
      break;
  }
  if (std::abs(value) < 1e4) return fmt::format("{:.4g}", value);
  return with_prefix(value, 1000, {"", " k", " M", " G", " T"});
}

AxisScale::AxisScale(const ChartAxis& axis, const std::vector<double>& values, double pixels, double pixels_per_tick)
    : logarithmic_{axis.logarithmic} {
  span(axis, values);
  const double limit = std::max(2.0, std::floor(pixels / pixels_per_tick));
  if (!logarithmic_) {
    add_linear_ticks(axis.text, limit);
  } else if (axis.text == TickText::kBytes) {
    add_binary_ticks(limit);
  } else {
    add_decimal_ticks(axis.text, limit);
  }
}

void AxisScale::span(const ChartAxis& axis, const std::vector<double>& values) {
  bool any = false;
  double low = 0;
  double high = 0;
  for (const double value : values) {
    if (!shows(value)) continue;
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
  if (!any) {
    low = logarithmic_ ? 1 : 0;
    high = logarithmic_ ? 10 : 1;
  }
  if (logarithmic_) {
    if (high / low < 1.5) {
      low /= 1.5;
      high *= 1.5;
    }
    const double pad = portable_pow(high / low, kPad);
    low_ = axis.min.value_or(low / pad);
    high_ = std::max(axis.max.value_or(high * pad), low_ * 1.01);
    return;
  }
  // A quantity that is never negative is seen against 0 unless all of it is far from there.
  if (low > 0 && low < 0.6 * high) low = 0;
  if (high < 0 && high > 0.6 * low) high = 0;
  const double magnitude = std::max(std::abs(low), std::abs(high));
  const double size = high - low > kLeastSpread * magnitude ? high - low : std::max(magnitude, 1e-9);
  low_ = axis.min.value_or(low == 0 ? 0 : low - kPad * size);
  high_ = axis.max.value_or(high == 0 && low < 0 ? 0 : high + kPad * size);
  if (!(high_ - low_ > kLeastSpread * std::abs(low_))) high_ = low_ + std::max(std::abs(low_), 1.0);
}

bool AxisScale::shows(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }

double AxisScale::position(double value) const {
  if (logarithmic_) return portable_log(value / low_) / portable_log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

double AxisScale::at(double value) const { return std::clamp(position(value), 0.0, 1.0); }

bool AxisScale::beyond(double value) const {
  const double where = position(value);
  return where < -1e-9 || where > 1 + 1e-9;
}

void AxisScale::add(double value, std::string text) {
  if (beyond(value)) return;
  ticks_.push_back({at(value), std::move(text)});
}

void AxisScale::add_linear_ticks(TickText text, double limit) {
  const double step = nice((high_ - low_) / limit);
  for (double k = std::ceil(low_ / step - 1e-9); k * step <= high_ * (1 + 1e-12) + 1e-9 * step; ++k)
    add(k * step, tick_text(k * step, text));
}

void AxisScale::add_binary_ticks(double limit) {
  const int first = static_cast<int>(std::ceil(portable_log2(low_) - 1e-9));
  const int last = static_cast<int>(std::floor(portable_log2(high_) + 1e-9));
  int step = 1;
  for (const int choice : {1, 2, 3, 4, 5, 10, 20}) {
    step = choice;
    if (static_cast<double>(last - first) / choice + 1 <= limit) break;
  }
  // Multiples of the step, so that 1 KiB and 1 MiB are among them where the step allows.
  const int start = first + ((-first % step) + step) % step;
  for (int power = start; power <= last; power += step)
    add(portable_exp2(power), tick_text(portable_exp2(power), TickText::kBytes));
}

void AxisScale::add_decimal_ticks(TickText text, double limit) {
  const int first = static_cast<int>(std::floor(portable_log10(low_)));
  const int last = static_cast<int>(std::ceil(portable_log10(high_)));
  const double decades = portable_log10(high_ / low_);
  const bool fine = decades * 3 <= limit;
  const int step = std::max(1, static_cast<int>(std::ceil(decades / limit)));
  for (int power = first; power <= last; ++power) {
    if (power % step != 0) continue;
    const double decade = portable_exp10(power);
    add(decade, tick_text(decade, text));
    if (!fine) continue;
    for (const double factor : {2.0, 5.0}) add(factor * decade, tick_text(factor * decade, text));
  }
  if (ticks_.size() < 3 && decades < 1.5) {
    ticks_.clear();
    add_linear_ticks(text, limit);
  }
}

}  // namespace weft::output::detail
