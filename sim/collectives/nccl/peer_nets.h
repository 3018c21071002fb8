// Which NIC a GPU's sends and receives take on each channel (models/nccl §1.3, §3.6).
//
// Data that arrive come in by the GPU's own NIC for the channel. Data that are sent leave by the NIC that the GPU with the
// receiver's NVML index would take here, so they stay on the receiver's rail. The GPU next to that NIC must be reachable over
// NVLink (PXN).
#pragma once

#include <vector>

#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

// By rank within the node.
[[nodiscard]] std::vector<PeerNets> peer_nets(const System& system, const Settings& settings);

}  // namespace weft::coll::nccl
