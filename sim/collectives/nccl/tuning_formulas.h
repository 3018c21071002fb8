// The formulas of NCCL's tuning model (models/nccl §5.3, §5.4, §5.8) and the rules by which it leaves algorithms out
// (models/nccl §5.6).
#pragma once

#include <string>

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/collectives/nccl/tuning_tables.h"

namespace weft::coll::nccl {

// The graph that an algorithm runs on; null where the search found none.
[[nodiscard]] const Graph* graph_of(const CommInfo& comm, Algo algo);

// Row of the tables for the oldest GPU of the communicator.
[[nodiscard]] std::size_t architecture(const CommInfo& comm);

// GB/s of the call's bytes, and us. 0 where there is no graph or the algorithm has no such protocol.
[[nodiscard]] float model_bandwidth(const CommInfo& comm, const TuningTables& tables, Collective kind, Algo algo, Proto proto);
[[nodiscard]] float model_latency(const CommInfo& comm, const TuningTables& tables, const Settings& settings, Collective kind,
                                  Algo algo, Proto proto);

// Why NCCL does not consider this combination here, whatever the user's lists say; empty if it does. `ll128_forced`: the user
// named LL128, which lifts NCCL's rule for it.
[[nodiscard]] std::string why_disabled(const CommInfo& comm, const Settings& settings, Collective kind, Algo algo, Proto proto,
                                       bool ll128_forced);

// Why NCCL does not run the algorithm with the elements and the reduction of `call`, however fast it would be; empty if it
// does.
[[nodiscard]] std::string why_not_for_data(const CommInfo& comm, Collective kind, Algo algo, const CollectiveCall& call);
// NCCL multiplies its estimate by this because results would be less exact.
[[nodiscard]] float inexact_factor(const CommInfo& comm, Collective kind, Algo algo, const CollectiveCall& call);

}  // namespace weft::coll::nccl
