// From the graphs of single nodes to the rings and trees of a whole communicator (models/nccl §2.4, §3.2): rings through all
// nodes one after the other, chains inside the nodes under NCCL's double binary tree over them, every channel of the search
// once for each of the two trees.
//
//   const Connections all = connect(info, node_ranks(topology, devices));
//   all.rings[c], all.trees[c]      // of compute channel c, 0 <= c < info.channels
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/collectives/communicator.h"
#include "sim/collectives/nccl/comm_info.h"
#include "sim/collectives/nccl/graph.h"
#include "sim/core/ids.h"

namespace weft::coll::nccl {

struct Connections {
  std::vector<RingOrder> rings;  // by channel; each begins at rank 0, as NCCL prints it
  std::vector<Tree> trees;       // by channel

  // NVLS: the GPUs that reduce, [head][node], and the two trees between the nodes' heads of one index (even and odd channels);
  // down[0] and down[1] only. Empty without NVLS; trees also on one node.
  std::vector<std::vector<Rank>> nvls_heads;
  std::vector<Tree> nvls_trees;

  // CollNet: by channel, the chain of every node, from its head (up == -1) to its end; and the heads, [node][head].
  std::vector<Tree> collnet_chains;
  std::vector<std::vector<Rank>> collnet_heads;
};

// The channel of the search whose ring and tree a compute channel has, and which tree of the double tree it is under. Channels
// beyond the communicator's own repeat these.
struct SearchedChannel {
  int channel = 0;
  int tree = 0;
};
[[nodiscard]] SearchedChannel searched_channel(const CommInfo& info, int channel);
// Odd nodes swap the rings of a crossing pair, so that what leaves by one NIC enters by the same.
[[nodiscard]] bool swaps_rings(const CommInfo& info, const Graph& of_node, std::size_t node);

// `nodes[n][i]` is the rank of GPU i of node n, as the graphs number them; all ranks 0 .. info.ranks - 1.
[[nodiscard]] Connections connect(const CommInfo& info, std::span<const std::vector<Rank>> nodes);

}  // namespace weft::coll::nccl
