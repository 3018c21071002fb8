// The lines that NCCL_DEBUG=INFO prints of graphs, rings, trees and channels, without their prefix.
#pragma once

#include <string>

#include "sim/collectives/nccl/connect.h"
#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

// "Pattern 4, crossNic 0, nChannels 12, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1", then a line for each channel.
[[nodiscard]] std::string graph_lines(const Graph& graph, const System& system);

// "Channel 00/24 : 0 1 2 3", as rank 0 prints them.
[[nodiscard]] std::string ring_lines(const Connections& connections);

// "Trees [0] 1/-1/-1->0->-1 [1] ...": children, the rank itself and its parent.
[[nodiscard]] std::string tree_line(const Connections& connections, Rank rank);

// "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer".
[[nodiscard]] std::string channel_count_line(const CommInfo& info);

}  // namespace weft::coll::nccl
