// NCCL's double binary tree over nodes (models/nccl §3.2): who is whose parent. Not the chains inside the nodes.
#pragma once

#include <array>

namespace weft::coll::nccl {

// A node's place in a tree over nodes 0 .. nodes-1; -1: none there.
struct NodeLinks {
  int up = -1;
  std::array<int, 2> down{-1, -1};
  bool operator==(const NodeLinks&) const = default;
};

// The in-order binary tree with root 0. 0 <= node < nodes.
[[nodiscard]] NodeLinks btree(int nodes, int node);

// The two trees of the double tree: btree, and its mirror image (an even number of nodes) or its shift by one (odd), in which
// the leaves of the first are inner nodes, but for one.
[[nodiscard]] std::array<NodeLinks, 2> dtree(int nodes, int node);

}  // namespace weft::coll::nccl
