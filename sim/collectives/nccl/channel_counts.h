// How many channels a communicator gets of each kind (models/nccl §2.4), from its graphs and the paths of its nodes.
#pragma once

#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

// The slowest NIC of any GPU, in GB/s, along its path to it; 0 without one.
[[nodiscard]] float min_net_bandwidth(const System& system);

// Channels for one peer as the node's paths allow, before they are rounded and cut; `p2p_channels` as set_p2p_channels counts.
[[nodiscard]] int channels_per_peer(const System& system, const Settings& settings, int ranks, int p2p_channels);

// Each sets what its name says; the later ones need the earlier.
void set_channels(CommInfo& info, const Settings& settings);
void set_nvls_channels(CommInfo& info, const Settings& settings, int least_ranks_per_node);
void extend_to_nvls(CommInfo& info);                              // where collectives get as many channels as NVLS has
void set_p2p_channels(CommInfo& info, const Settings& settings);  // p2p_channels only
void set_channels_per_peer(CommInfo& info, const Settings& settings, int per_peer);  // the least of all nodes
void set_p2p_chunk(CommInfo& info, const Settings& settings, bool all_nvlink);

}  // namespace weft::coll::nccl
