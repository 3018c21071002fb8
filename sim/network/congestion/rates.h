// Rates as control laws have them, real numbers of bits per second, and the way back to the types that the rest trades in; and
// ranges that several controls give their parameters. Private to congestion/.
#pragma once

#include <cmath>
#include <cstdint>

#include "sim/core/config/params.h"
#include "sim/core/units.h"

namespace weft::net {

inline constexpr Bandwidth kMegabitPerSecond = Bandwidth::from_bits_per_second(1'000'000);

inline double bits_per_second(Bandwidth rate) { return static_cast<double>(rate.bits_per_second()); }

// To the nearest; at least 1 b/s, because Bandwidth{} would mean no limit.
inline Bandwidth to_bandwidth(double bits_per_second) {
  return Bandwidth::from_bits_per_second(bits_per_second < 1 ? 1 : std::llround(bits_per_second));
}

inline const Range<double> kShare{.min = 0, .max = 1, .above_min = true};
// Periods of timers: long enough to step through, short enough that sums of instants stay in range.
inline const Range<Duration> kPeriod{.min = Duration::from_ns(1), .max = Duration::from_us(86'400'000'000), .above_min = false};

}  // namespace weft::net
