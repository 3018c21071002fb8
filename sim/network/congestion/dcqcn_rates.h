// Both variants of DCQCN share these (models/network §3.1): the two rates of a reaction point, the cut, the step of recovery,
// and the decay of alpha. Private to congestion/.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/units.h"
#include "sim/network/congestion/rates.h"

namespace weft::net {

// A cut changes the target rate so.
enum class ClampTarget : std::uint8_t {
  kAlways,         // R_T = R_C at every cut
  kAfterIncrease,  // only if the rate was increased since the cut before; else the old target stays
};

// Rates in bits per second; min <= current <= target <= line.
class DcqcnRates {
 public:
  DcqcnRates(double line, double min) : line_{line}, min_{std::min(min, line)}, current_{line}, target_{line} {}

  [[nodiscard]] double current() const { return current_; }
  [[nodiscard]] double target() const { return target_; }
  [[nodiscard]] bool at_line() const { return current_ == line_; }

  // R_C *= 1 - alpha/2
  void cut(double alpha, bool clamp_target) {
    if (clamp_target) target_ = current_;
    current_ = std::max(min_, current_ * (1 - alpha / 2));
  }

  void start_at(double factor) { current_ = target_ = std::max(min_, current_ * factor); }

  // R_T += added, R_C = (R_T + R_C) / 2. Half a bit per second below the line nobody can tell the two apart, and timers can
  // rest.
  void recover(double added) {
    target_ = std::min(line_, target_ + added);
    current_ = (target_ + current_) / 2;
    if (target_ == line_ && line_ - current_ < 0.5) current_ = line_;
  }

 private:
  double line_;
  double min_;
  double current_;
  double target_;
};

// alpha after one period without a CNP. Below 2^-60 it no longer changes a rate, and 0 lets timers rest.
inline double decayed_alpha(double alpha, double g) {
  alpha *= 1 - g;
  return alpha < 0x1p-60 ? 0 : alpha;
}
inline double raised_alpha(double alpha, double g) { return (1 - g) * alpha + g; }

}  // namespace weft::net
