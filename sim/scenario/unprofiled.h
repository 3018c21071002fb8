// The host of a profiled step as it is without the profiler, which slows it: found from how long a step takes unprofiled.
#pragma once

#include "sim/core/units.h"
#include "sim/network/cluster.h"
#include "sim/scenario/replay_run.h"
#include "sim/workloads/trace/trace.h"

namespace weft::scenario {

// Factor of the host's own time with which a replay of one iteration takes `step`, within a thousandth of it. The cluster is
// the one that the trace was recorded on. ConfigError where no factor from 0 to 1 does.
[[nodiscard]] double unprofiled_host_factor(const net::Cluster& cluster, const work::Trace& trace, ReplayRunOptions options,
                                            Duration step);

}  // namespace weft::scenario
