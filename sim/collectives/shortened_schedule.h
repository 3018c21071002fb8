// How long a call of many messages takes, from runs of few: schedules go on alike once their pipelines are full, so what a loop
// takes, or a hop of a ring's loop, is the difference of two runs that do with some of them less.
//
//   T(all) = T(m) + (all - m) / d x (T(m) - T(m - d))
//
// Beginnings and ends, the last, short loop among them, are simulated as they are.
// Model: the time grows evenly with loops and hops, from the fewest that are kept on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/collectives/schedule.h"

namespace weft::coll {

// Returns the loops of the long channel that has fewest: one with more than half as many as any. 0: the schedule has none.
[[nodiscard]] std::int64_t fewest_loops(const Schedule& schedule);

// The same schedule with so many loops fewer on every long channel, 0 <= fewer < fewest_loops(). It keeps the first loops and
// the last one.
[[nodiscard]] std::shared_ptr<const Schedule> without_loops(std::shared_ptr<const Schedule> schedule, std::int64_t fewer);

// A run whose time, and all that is counted in it, counts so often.
struct Sample {
  std::shared_ptr<const Schedule> schedule;
  std::int64_t weight = 1;
};
// Runs of no more than about `most_steps` steps in all whose weighted sum is the whole; none where there are no such.
[[nodiscard]] std::vector<Sample> samples_of(const std::shared_ptr<const Schedule>& schedule, std::uint64_t most_steps);

}  // namespace weft::coll
