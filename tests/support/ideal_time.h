// Times of schedules on a network where a message of m bytes takes 1 us + m ns: easy to add up by hand.
#pragma once

#include "tests/support/ideal_clock.h"
#include "tests/support/schedules.h"

namespace weft::testing {

inline Duration ideal_time(const coll::Schedule& schedule) {
  return time_by_steps(schedule,
                       {.bandwidth = Bandwidth::from_bytes_per_second(1'000'000'000), .latency = Duration::from_us(1)}, 1);
}

// Returns the time of `messages` messages one after another with `bytes` bytes in all.
constexpr Duration ideal_time(std::int64_t messages, std::int64_t bytes) {
  return Duration::from_us(messages) + Duration::from_ns(bytes);
}

}  // namespace weft::testing
