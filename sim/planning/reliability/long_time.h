// The clock of failures: whole microseconds in 64 bits, which last 292,000 years, where the simulation's picoseconds end at 106
// days. The two never mix.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/config/params.h"

namespace weft::plan {

class LongTime {
 public:
  constexpr LongTime() = default;
  static constexpr LongTime from_us(std::int64_t us) { return LongTime{us}; }
  static LongTime from_seconds(double seconds) { return LongTime{std::llround(seconds * 1e6)}; }
  [[nodiscard]] constexpr std::int64_t us() const { return us_; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(us_) * 1e-6; }
  [[nodiscard]] constexpr double hours() const { return seconds() / 3'600; }
  constexpr auto operator<=>(const LongTime&) const = default;

  friend constexpr LongTime operator+(LongTime a, LongTime b) { return LongTime{a.us_ + b.us_}; }
  friend constexpr LongTime operator-(LongTime a, LongTime b) { return LongTime{a.us_ - b.us_}; }
  constexpr LongTime& operator+=(LongTime other) {
    us_ += other.us_;
    return *this;
  }

 private:
  explicit constexpr LongTime(std::int64_t us) : us_{us} {}
  std::int64_t us_ = 0;
};

inline constexpr double kLongestYears = 10'000;  // that a file may state

// "30 s", "10 min", "3.09 h", "54 d", "2 years" (of 365 days); nothing for anything else, or less than 0.
[[nodiscard]] std::optional<LongTime> parse_long_time(std::string_view text);
// Three digits for people: "817 s", "3.09 h", "54 d".
[[nodiscard]] std::string to_string(LongTime time);

// The value of `key`; without a default it is required. After an error 1 us, which no check complains of again.
[[nodiscard]] LongTime read_long_time(ParamReader& params, std::string_view key, std::optional<LongTime> default_value = {});

}  // namespace weft::plan
