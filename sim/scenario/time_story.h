// One sentence on where the time of a run of flows went: the slowest flow's bytes, its latency, its time-outs, pauses and
// credits of its way, and the rest, which is sharing and queues. A link counts all of its pauses, whichever flow they held up,
// up to what is left to explain.
#pragma once

#include <span>
#include <string>

#include "sim/network/machine.h"
#include "sim/scenario/measure.h"
#include "sim/workloads/flow_run.h"

namespace weft::scenario {

// Empty where no flow ended. `ports`: of the whole run or of the measured part of it.
[[nodiscard]] std::string time_story(const net::Machine& machine, const work::Workload& workload,
                                     std::span<const work::FlowResult> flows, std::span<const PortResult> ports);

}  // namespace weft::scenario
