// NVLS over several nodes, with SHARP between them (models/nccl §3.4): NVLink's switches add up inside each node, the network's
// switches what the heads of the same index hold, and NVLink's copy the total to each node. Every head's NIC carries the head's
// share. All-gather and reduce-scatter: collnet_blocks.h. Private to algorithms/.
#pragma once

#include <memory>

#include "sim/collectives/call.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

[[nodiscard]] std::unique_ptr<Schedule> make_nvls_network(const Communicator& communicator, const CollectiveCall& call,
                                                          const Choice& choice);

}  // namespace weft::coll
