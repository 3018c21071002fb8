#include "sim/collectives/nccl/trees.h"

#include <bit>

#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

// `links` with every node that is there put through `change`.
template <class Change>
NodeLinks renumbered(NodeLinks links, const Change& change) {
  for (int* node : {&links.up, &links.down[0], &links.down[1]}) {
    if (*node >= 0) *node = change(*node);
  }
  return links;
}

}  // namespace

NodeLinks btree(int nodes, int node) {
  WEFT_CHECK(nodes >= 1 && node >= 0 && node < nodes);
  if (node == 0) {
    const int above = static_cast<int>(std::bit_ceil(static_cast<unsigned>(nodes)));
    return {.up = -1, .down = {-1, nodes > 1 ? above / 2 : -1}};
  }
  const int bit = node & -node;
  NodeLinks links;
  links.up = (node ^ bit) | (bit << 1);
  if (links.up >= nodes) links.up = node ^ bit;
  int low = bit / 2;
  if (low == 0) return links;
  links.down[0] = node - low;
  // On the right the tree may be cut short: the next smaller subtree that is there takes the place.
  while (low > 0 && node + low >= nodes) low /= 2;
  if (low > 0) links.down[1] = node + low;
  return links;
}

std::array<NodeLinks, 2> dtree(int nodes, int node) {
  const NodeLinks first = btree(nodes, node);
  if (nodes % 2 == 0) {
    const auto mirror = [nodes](int other) { return nodes - 1 - other; };
    return {first, renumbered(btree(nodes, mirror(node)), mirror)};
  }
  const NodeLinks before = btree(nodes, (node + nodes - 1) % nodes);
  return {first, renumbered(before, [nodes](int other) { return (other + 1) % nodes; })};
}

}  // namespace weft::coll::nccl
