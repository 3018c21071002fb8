// Warns where times that a file states for a transport or its congestion control are below the round trip of a path: packets
// would be sent again before they can be acknowledged, or windows held down for ever.
#pragma once

#include "sim/core/config/params.h"
#include "sim/network/cluster.h"
#include "sim/workloads/workload.h"

namespace weft::scenario {

// `written`: the map of the workload. Only where something is stated are routes looked up, of the first few thousand flows at
// most. A round trip counts as twice the path's latency, so that queues and the bits of packets come on top.
void warn_of_round_trips(const net::Cluster& cluster, const ConfigNode& written, const work::Workload& workload,
                         std::uint64_t seed, Diagnostics& diagnostics);

}  // namespace weft::scenario
