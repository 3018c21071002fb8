#include "sim/collectives/algorithms/default_trees.h"

#include <span>

#include "sim/collectives/nccl/trees.h"

namespace weft::coll {
namespace {

Rank chain_rank(const Communicator& communicator, int node, int position) {
  const std::span<const Rank> ranks = communicator.node_ranks(node);
  return ranks[static_cast<std::size_t>(position) % ranks.size()];
}

Tree default_tree(const Communicator& communicator, std::size_t which, int shift) {
  Tree tree(static_cast<std::size_t>(communicator.ranks()));
  for (int node = 0; node < communicator.nodes(); ++node) {
    const nccl::NodeLinks links = nccl::dtree(communicator.nodes(), node)[which];
    TreeLinks& first = tree[static_cast<std::size_t>(chain_rank(communicator, node, shift))];
    if (links.up >= 0) first.up = chain_rank(communicator, links.up, shift);
    std::size_t children = 0;
    for (const int child : links.down) {
      if (child >= 0) first.down[children++] = chain_rank(communicator, child, shift);
    }
    const int size = static_cast<int>(communicator.node_ranks(node).size());
    for (int position = 1; position < size; ++position) {
      const Rank above = chain_rank(communicator, node, shift + position - 1);
      const Rank below = chain_rank(communicator, node, shift + position);
      tree[static_cast<std::size_t>(below)].up = above;
      tree[static_cast<std::size_t>(above)].down[position == 1 ? children : 0] = below;
    }
  }
  return tree;
}

}  // namespace

std::vector<Tree> default_trees(const Communicator& communicator) {
  const int half = (communicator.channels() + 1) / 2;
  std::vector<Tree> trees;
  for (int channel = 0; channel < communicator.channels(); ++channel)
    trees.push_back(default_tree(communicator, channel < half ? 0 : 1, channel % half));
  return trees;
}

}  // namespace weft::coll
