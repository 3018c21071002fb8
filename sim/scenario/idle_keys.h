// Warns of keys of packet fidelity that change nothing in a scenario: whether one does depends on its flows, so that the
// readers of clusters cannot tell.
#pragma once

#include "sim/core/config/params.h"
#include "sim/network/cluster.h"
#include "sim/workloads/workload.h"

namespace weft::scenario {

// `written`: the map of the workload. `is_packet`: else only what flows do not heed either is told.
void warn_of_idle_keys(const net::Cluster& cluster, const ConfigNode& written, const work::Workload& workload, bool is_packet,
                       Diagnostics& diagnostics);

}  // namespace weft::scenario
