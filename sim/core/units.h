// Strong types for the quantities every model trades in: Time and Duration (picoseconds), Bytes, Bandwidth (bits per second).
//
//   Time start{};                              // the instant 0
//   Time end = start + transmission_time(64_KiB, 400_Gbps);
//   Duration taken = end - start;              // Time - Time is a Duration; Time + Time does not compile
//
// All are 64-bit signed integers, trivially copyable and passed by value. Picoseconds cover 106 days; Duration::max() means
// "never". A double never holds simulated time: `seconds()` and its like are for reports and real-valued control laws only.
//
// Sums and products that leave 64 bits stay at the end of the range and do not come round: a time past the end of the clock is
// "never", and the simulator refuses to schedule it (simulator.h).
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace weft {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

namespace detail {
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t bounded_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    return b < 0 ? kLeast : kMost;
  return sum;
}
constexpr std::int64_t bounded_difference(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) [[unlikely]]
    return b > 0 ? kLeast : kMost;
  return difference;
}
constexpr std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    return (a < 0) != (b < 0) ? kLeast : kMost;
  return product;
}
constexpr std::int64_t bounded(Int128 number) {
  return static_cast<std::int64_t>(number > kMost ? kMost : number < kLeast ? kLeast : number);
}
// Doubles beside the ends: 2^63 is the least that is too large.
constexpr bool fits(double number) { return number < 0x1p63 && number >= -0x1p63; }
constexpr std::int64_t end_beyond(double number) { return number > 0 ? kMost : number < 0 ? kLeast : 0; }
}  // namespace detail

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration from_ps(std::int64_t ps) { return Duration{ps}; }
  static constexpr Duration from_ns(std::int64_t ns) { return Duration{detail::bounded_product(ns, 1'000)}; }
  static constexpr Duration from_us(std::int64_t us) { return Duration{detail::bounded_product(us, 1'000'000)}; }
  // Real-valued laws give these: the nearest picosecond, or the whole ones.
  static Duration nearest_ps(double ps) { return Duration{detail::fits(ps) ? std::llround(ps) : detail::end_beyond(ps)}; }
  static constexpr Duration whole_ps(double ps) {
    return Duration{detail::fits(ps) ? static_cast<std::int64_t>(ps) : detail::end_beyond(ps)};
  }
  static constexpr Duration max() { return Duration{std::numeric_limits<std::int64_t>::max()}; }

  [[nodiscard]] constexpr std::int64_t ps() const { return ps_; }
  [[nodiscard]] constexpr double ns() const { return static_cast<double>(ps_) / 1e3; }
  [[nodiscard]] constexpr double us() const { return static_cast<double>(ps_) / 1e6; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ps_) / 1e12; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration& operator+=(Duration d) {
    ps_ = detail::bounded_sum(ps_, d.ps_);
    return *this;
  }
  constexpr Duration& operator-=(Duration d) {
    ps_ = detail::bounded_difference(ps_, d.ps_);
    return *this;
  }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration{detail::bounded_sum(a.ps_, b.ps_)}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration{detail::bounded_difference(a.ps_, b.ps_)}; }
  friend constexpr Duration operator*(std::int64_t n, Duration d) { return Duration{detail::bounded_product(n, d.ps_)}; }
  friend constexpr Duration operator*(Duration d, std::int64_t n) { return n * d; }
  friend constexpr std::int64_t operator/(Duration a, Duration b) { return a.ps_ / b.ps_; }

 private:
  explicit constexpr Duration(std::int64_t ps) : ps_{ps} {}
  std::int64_t ps_ = 0;
};

class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_ps(std::int64_t ps) { return Time{ps}; }
  static constexpr Time max() { return Time{std::numeric_limits<std::int64_t>::max()}; }

  [[nodiscard]] constexpr std::int64_t ps() const { return ps_; }
  [[nodiscard]] constexpr Duration since_start() const { return Duration::from_ps(ps_); }

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time& operator+=(Duration d) {
    ps_ = detail::bounded_sum(ps_, d.ps());
    return *this;
  }
  friend constexpr Time operator+(Time t, Duration d) { return Time{detail::bounded_sum(t.ps_, d.ps())}; }
  friend constexpr Time operator+(Duration d, Time t) { return t + d; }
  friend constexpr Time operator-(Time t, Duration d) { return Time{detail::bounded_difference(t.ps_, d.ps())}; }
  friend constexpr Duration operator-(Time a, Time b) { return Duration::from_ps(detail::bounded_difference(a.ps_, b.ps_)); }

 private:
  explicit constexpr Time(std::int64_t ps) : ps_{ps} {}
  std::int64_t ps_ = 0;
};

class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::int64_t count) : count_{count} {}
  static constexpr Bytes max() { return Bytes{std::numeric_limits<std::int64_t>::max()}; }

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes b) {
    count_ = detail::bounded_sum(count_, b.count_);
    return *this;
  }
  constexpr Bytes& operator-=(Bytes b) {
    count_ -= b.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{detail::bounded_sum(a.count_, b.count_)}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count_ - b.count_}; }
  friend constexpr Bytes operator*(std::int64_t n, Bytes b) { return Bytes{detail::bounded_product(n, b.count_)}; }
  friend constexpr Bytes operator*(Bytes b, std::int64_t n) { return n * b; }
  friend constexpr Bytes operator/(Bytes b, std::int64_t n) { return Bytes{b.count_ / n}; }
  friend constexpr std::int64_t operator/(Bytes a, Bytes b) { return a.count_ / b.count_; }
  friend constexpr Bytes operator%(Bytes a, Bytes b) { return Bytes{a.count_ % b.count_}; }

 private:
  std::int64_t count_ = 0;
};

class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth from_bits_per_second(std::int64_t bps) { return Bandwidth{bps}; }
  static constexpr Bandwidth from_bytes_per_second(std::int64_t bytes_per_second) {
    return Bandwidth{detail::bounded_product(8, bytes_per_second)};
  }

  [[nodiscard]] constexpr std::int64_t bits_per_second() const { return bps_; }
  [[nodiscard]] constexpr double gbps() const { return static_cast<double>(bps_) / 1e9; }
  [[nodiscard]] constexpr double gigabytes_per_second() const { return static_cast<double>(bps_) / 8e9; }
  // For rate solvers, whose clock is the picosecond: 400 Gb/s is 0.05 bytes per picosecond.
  [[nodiscard]] constexpr double bytes_per_ps() const { return static_cast<double>(bps_) / 8e12; }

  constexpr auto operator<=>(const Bandwidth&) const = default;
  friend constexpr Bandwidth operator+(Bandwidth a, Bandwidth b) { return Bandwidth{detail::bounded_sum(a.bps_, b.bps_)}; }
  friend constexpr Bandwidth operator*(std::int64_t n, Bandwidth b) { return Bandwidth{detail::bounded_product(n, b.bps_)}; }
  friend constexpr Bandwidth operator*(Bandwidth b, std::int64_t n) { return n * b; }
  friend constexpr Bandwidth operator/(Bandwidth b, std::int64_t n) { return Bandwidth{b.bps_ / n}; }

 private:
  explicit constexpr Bandwidth(std::int64_t bps) : bps_{bps} {}
  std::int64_t bps_ = 0;
};

// Time for `size` to pass a link of `rate`, rounded up to the next picosecond. The only place where bytes become bits.
// `rate` must be positive. 8e12 * size needs 128 bits from 1.15 MB up.
constexpr Duration transmission_time(Bytes size, Bandwidth rate) {
  const Int128 bit_picoseconds = static_cast<Int128>(size.count()) * 8 * 1'000'000'000'000;
  const Int128 rate_bps = rate.bits_per_second();
  return Duration::from_ps(detail::bounded((bit_picoseconds + rate_bps - 1) / rate_bps));
}

namespace literals {
constexpr Duration operator""_ps(unsigned long long v) { return Duration::from_ps(static_cast<std::int64_t>(v)); }
constexpr Duration operator""_ns(unsigned long long v) { return Duration::from_ns(static_cast<std::int64_t>(v)); }
constexpr Duration operator""_us(unsigned long long v) { return Duration::from_us(static_cast<std::int64_t>(v)); }
constexpr Duration operator""_ms(unsigned long long v) { return Duration::from_us(static_cast<std::int64_t>(v) * 1'000); }
constexpr Duration operator""_s(unsigned long long v) { return Duration::from_us(static_cast<std::int64_t>(v) * 1'000'000); }
constexpr Bytes operator""_B(unsigned long long v) { return Bytes{static_cast<std::int64_t>(v)}; }
constexpr Bytes operator""_KiB(unsigned long long v) { return Bytes{static_cast<std::int64_t>(v) << 10}; }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes{static_cast<std::int64_t>(v) << 20}; }
constexpr Bytes operator""_GiB(unsigned long long v) { return Bytes{static_cast<std::int64_t>(v) << 30}; }
constexpr Bytes operator""_KB(unsigned long long v) { return Bytes{static_cast<std::int64_t>(v) * 1'000}; }
constexpr Bytes operator""_MB(unsigned long long v) { return Bytes{static_cast<std::int64_t>(v) * 1'000'000}; }
constexpr Bytes operator""_GB(unsigned long long v) { return Bytes{static_cast<std::int64_t>(v) * 1'000'000'000}; }
constexpr Bandwidth operator""_Gbps(unsigned long long v) {
  return Bandwidth::from_bits_per_second(static_cast<std::int64_t>(v) * 1'000'000'000);
}
constexpr Bandwidth operator""_GBps(unsigned long long v) {
  return Bandwidth::from_bytes_per_second(static_cast<std::int64_t>(v) * 1'000'000'000);
}
}  // namespace literals

}  // namespace weft
