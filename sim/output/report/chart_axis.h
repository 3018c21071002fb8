// One axis of a chart: which numbers it spans, where its ticks stand and what they are called.
#pragma once

#include <string>
#include <vector>

#include "sim/output/report/chart.h"

namespace weft::output::detail {

struct Tick {
  double at = 0;  // from 0 to 1
  std::string text;
};

class AxisScale {
 public:
  // `values`: all that is to be shown; `pixels`: how long the axis is; `pixels_per_tick`: what one label needs.
  AxisScale(const ChartAxis& axis, const std::vector<double>& values, double pixels, double pixels_per_tick);

  [[nodiscard]] bool shows(double value) const;  // finite, and above 0 where the axis is logarithmic
  [[nodiscard]] double at(double value) const;   // 0 at the low end, 1 at the high end; beyond: clamped
  [[nodiscard]] bool beyond(double value) const;
  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  void span(const ChartAxis& axis, const std::vector<double>& values);
  void add_linear_ticks(TickText text, double limit);
  void add_binary_ticks(double limit);
  void add_decimal_ticks(TickText text, double limit);
  [[nodiscard]] double position(double value) const;  // not clamped
  void add(double value, std::string text);

  bool logarithmic_;
  double low_ = 0;
  double high_ = 1;
  std::vector<Tick> ticks_;
};

// "1.5 k", "64 KiB", "20 us", "5 %".
[[nodiscard]] std::string tick_text(double value, TickText text);

}  // namespace weft::output::detail
