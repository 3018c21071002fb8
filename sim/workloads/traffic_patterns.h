// Traffic that one line states: who sends to whom by a pattern over all endpoints, or over those `among`.
//
//   traffic:
//     - {pattern: shift, by: 8, bytes: unlimited}                       # i to i + 8, around the end
//     - {pattern: permutation, among: h0..h127, bytes: 1 MB, seed: 3}    # drawn; nobody sends to itself
//     - {pattern: incast, to: h0, among: h1..32, bytes: 64 kB, starts_within: 10 us}
//     - {pattern: all_to_all, sizes: websearch}
//
// Every other key is that of a flow (flow_reader.h). All of it becomes entries of Workload::flows.
#pragma once

#include "sim/core/config/params.h"
#include "sim/workloads/workload.h"

namespace weft::work {

void read_traffic(ParamReader& workload, const WorkloadContext& context, Workload& out);

}  // namespace weft::work
