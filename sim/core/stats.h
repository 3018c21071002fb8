// Numbers about a run, for reports: counters with units, levels over time, order statistics, a histogram. Not for control: what
// these compute in double never feeds back into simulated time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/core/units.h"

namespace weft {

enum class Unit : std::uint8_t { kCount, kBytes, kPicoseconds, kPackets, kEvents };
[[nodiscard]] std::string_view unit_name(Unit unit);  // as it ends a key of a result: "count", "bytes", "ps", ...

// A named total. The name is a literal or outlives the counter.
class Counter {
 public:
  constexpr Counter(std::string_view name, Unit unit) : name_{name}, unit_{unit} {}

  constexpr void add(std::int64_t amount = 1) { value_ += amount; }
  constexpr void add(Bytes amount) { value_ += amount.count(); }
  constexpr void add(Duration amount) { value_ += amount.ps(); }

  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  [[nodiscard]] constexpr std::string_view name() const { return name_; }
  [[nodiscard]] constexpr Unit unit() const { return unit_; }

 private:
  std::string_view name_;
  Unit unit_;
  std::int64_t value_ = 0;
};

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
// exp of the mean logarithm, of values >= 0; 0 if one of them is 0.
[[nodiscard]] double geometric_mean(std::span<const double> values);
// Jain's index (sum x)^2 / (n sum x^2) (Jain, Chiu and Hawe, 1984): 1 if all are equal, 1/n if one has all; 1 if all are 0.
[[nodiscard]] double jain_index(std::span<const double> values);

// Counts of values >= 0 in bins that grow with the value: exact below 64, then 32 bins per power of two, so a bin's width is
// at most 1/32 of its lower end. Fixed memory (15 KiB), no allocation, sums exact.
class Histogram {
 public:
  void add(std::int64_t value, std::int64_t times = 1);
  void merge(const Histogram& other);

  [[nodiscard]] std::int64_t count() const { return count_; }
  // The following need count() > 0.
  [[nodiscard]] std::int64_t minimum() const { return minimum_; }
  [[nodiscard]] std::int64_t maximum() const { return maximum_; }
  [[nodiscard]] double mean() const;
  // Upper end of the bin that holds the nearest rank, at most maximum(): never below the true value, at most 1/32 above it.
  [[nodiscard]] std::int64_t percentile(double percent) const;

  // The bins that are not empty, in ascending order.
  struct Bin {
    std::int64_t first;  // smallest value that falls into it
    std::int64_t last;   // largest
    std::int64_t count;
  };
  [[nodiscard]] std::vector<Bin> bins() const;

 private:
  static constexpr int kSubBits = 5;
  static constexpr std::size_t kBins = (63 - kSubBits + 1) << kSubBits;
  static std::size_t bin_of(std::int64_t value);
  static std::int64_t first_of(std::size_t bin);

  std::array<std::int64_t, kBins> bins_{};
  std::int64_t count_ = 0;
  Int128 sum_ = 0;
  std::int64_t minimum_ = 0;
  std::int64_t maximum_ = 0;
};

}  // namespace weft
