// NCCL's search for channels on one node: which GPU orders, entering and leaving by which NICs, at which speed each
// (models/nccl §2.1 to §2.3). The answer is NCCL's own, down to its budget of steps, for the tuning model builds on it.
//
//   const System system = System::of_host(topology, 0, {.version = NcclVersion::k2_30, .several_nodes = true});
//   const Graph ring = search(system, ring_request(system.options().version));
//   const Graph tree = search(system, tree_request(ring));
//
// Model: 2.18 to 2.21 look for the heads of NVLS and for CollNet as 2.22 does.
//
// Not here: what becomes of the channels in a communicator of several nodes (connect.h).
#pragma once

#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

struct GraphRequest {
  GraphKind kind = GraphKind::kRing;
  GraphPattern pattern = GraphPattern::kRing;  // tried first; the search may fall back to a simpler one
  int min_channels = 1;
  int max_channels = 1;
  bool collnet = false;  // only over NICs with in-network reduction
  int cross_nic = 2;     // NCCL_CROSS_NIC
};

[[nodiscard]] int max_channels(NcclVersion version);  // NCCL's MAXCHANNELS

// NCCL asks for these, family by family; all but rings follow the ring's number of channels or the number of GPUs.
[[nodiscard]] GraphRequest ring_request(NcclVersion version);
[[nodiscard]] GraphRequest tree_request(const Graph& ring);
[[nodiscard]] GraphRequest collnet_chain_request(const Graph& ring);
[[nodiscard]] GraphRequest collnet_direct_request(NcclVersion version);
[[nodiscard]] GraphRequest nvls_request(NcclVersion version);

// Never fails: rings and trees fall back to one slow channel in index order, the others to no channel.
[[nodiscard]] Graph search(const System& system, const GraphRequest& request);

}  // namespace weft::coll::nccl
