// The trace of a job from the events of its ranks, whichever profiler recorded them: one iteration chosen, ranks and their
// clocks brought together, programs emitted.
#pragma once

#include <vector>

#include "sim/workloads/trace/kineto/kineto_events.h"
#include "sim/workloads/trace/trace.h"

namespace weft::work::kineto {

// ConfigError: two of one rank, a rank without any device activity, too many ranks or streams.
[[nodiscard]] Trace assemble(std::vector<RankEvents> ranks, const TraceReadOptions& options);

}  // namespace weft::work::kineto
