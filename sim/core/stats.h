// Numbers about a run, for reports: levels over time, order statistics. Not for control: doubles computed here never feed back
// into simulated time.
#pragma once

#include <cstdint>
#include <span>

#include "sim/core/units.h"

namespace weft {

// A level that changes in steps, such as a queue's bytes: its mean over time and its maximum. Sums are exact integers.
class TimeWeighted {
 public:
  explicit constexpr TimeWeighted(Time start = {}, std::int64_t level = 0)
      : start_{start}, since_{start}, level_{level}, maximum_{level} {}

  // The level is `level` from `at` on; `at` never goes back.
  constexpr void set(Time at, std::int64_t level) {
    area_ += static_cast<Int128>(level_) * (at - since_).ps();
    since_ = at;
    level_ = level;
    if (level > maximum_) maximum_ = level;
  }
  constexpr void change(Time at, std::int64_t by) { set(at, level_ + by); }
  // Forgets what was before `at`, keeps the level: the start of a measurement window.
  constexpr void restart(Time at) { *this = TimeWeighted{at, level_}; }

  [[nodiscard]] constexpr std::int64_t level() const { return level_; }
  [[nodiscard]] constexpr std::int64_t maximum() const { return maximum_; }  // a level held for no time counts
  // From the start to `until`; the level itself if no time has passed.
  [[nodiscard]] double mean(Time until) const;

 private:
  Time start_;
  Time since_;
  std::int64_t level_;
  std::int64_t maximum_;
  Int128 area_ = 0;  // level times picoseconds
};

// Order statistics and means of a list that is not empty; the list is copied, not changed.
// Nearest rank: the smallest value with at least `percent` % of all values at or below it; 0 gives the minimum.
[[nodiscard]] double percentile(std::span<const double> values, double percent);
// The middle value, or the mean of the two middle ones.
[[nodiscard]] double median(std::span<const double> values);
[[nodiscard]] double mean(std::span<const double> values);
// Jain's index (sum x)^2 / (n sum x^2) (Jain, Chiu and Hawe, 1984): 1 if all are equal, 1/n if one has all; 1 if all are 0.
[[nodiscard]] double jain_index(std::span<const double> values);

}  // namespace weft
