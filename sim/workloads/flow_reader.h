// Reads the lists `flows:` and `jobs:` of a workload. docs/packet_fidelity.md lists every key.
#pragma once

#include "sim/core/config/params.h"
#include "sim/workloads/workload.h"

namespace weft::work {

// Reads what one flow sends, when and how: all keys but its ends. Adds its options to `out`, where it has any. `states_bytes`:
// false where its size comes from elsewhere.
[[nodiscard]] FlowItem read_flow(ParamReader& item, const WorkloadContext& context, Workload& out, bool states_bytes = true);
void read_flows(ParamReader& workload, const WorkloadContext& context, Workload& out);
void read_jobs(ParamReader& workload, const WorkloadContext& context, Workload& out);

// Reads how the flow's queue pair differs from the fabric's transport: packet, window, rate, open_loop, congestion_control.
// Returns false where the map says nothing of it.
bool read_flow_transport(ParamReader& item, const WorkloadContext& context, net::FlowTransport& out);

}  // namespace weft::work
