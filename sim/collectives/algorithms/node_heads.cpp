#include "sim/collectives/algorithms/node_heads.h"

#include <algorithm>

namespace weft::coll {
namespace {

void append_again(std::vector<Rank>& ranks) {
  const std::size_t size = ranks.size();
  ranks.reserve(2 * size);
  for (std::size_t i = 0; i < size; ++i) ranks.push_back(ranks[i]);
}

// All of a list that is stored twice over but entry `i`.
std::span<const Rank> all_but(const std::vector<Rank>& twice, int i) {
  return std::span{twice}.subspan(static_cast<std::size_t>(i) + 1, twice.size() / 2 - 1);
}

}  // namespace

NodeHeads::NodeHeads(const Communicator& communicator, int most) : places_(static_cast<std::size_t>(communicator.ranks())) {
  int smallest = most;
  for (int node = 0; node < communicator.nodes(); ++node) {
    const std::span<const Rank> ranks = communicator.node_ranks(node);
    smallest = std::min(smallest, static_cast<int>(ranks.size()));
    int local = 0;
    for (const Rank rank : ranks) places_[static_cast<std::size_t>(rank)] = {.node = node, .local = local++};
    append_again(on_node_.emplace_back(ranks.begin(), ranks.end()));
  }
  for (int index = 0; index < smallest; ++index) {
    std::vector<Rank>& ranks = heads_.emplace_back();
    for (int node = 0; node < communicator.nodes(); ++node) ranks.push_back(head(node, index));
    append_again(ranks);
  }
  for (Rank rank = 0; rank < communicator.ranks(); ++rank) {
    const std::span<const Rank> heads = heads_of_node(rank);
    std::vector<Rank>& others = other_heads_.emplace_back(heads.begin(), heads.end());
    std::erase(others, rank);
  }
}

std::span<const Rank> NodeHeads::node_of(Rank rank) const {
  const std::vector<Rank>& twice = on_node_[static_cast<std::size_t>(node(rank))];
  return std::span{twice}.first(twice.size() / 2);
}

std::span<const Rank> NodeHeads::others_on_node(Rank rank) const {
  return all_but(on_node_[static_cast<std::size_t>(node(rank))], local(rank));
}

std::span<const Rank> NodeHeads::same_head(int node, int index) const {
  const std::vector<Rank>& twice = heads_[static_cast<std::size_t>(index)];
  return std::span{twice}.subspan(static_cast<std::size_t>(node) + 1, twice.size() / 2);
}

std::span<const Rank> NodeHeads::same_head_elsewhere(int node, int index) const {
  return all_but(heads_[static_cast<std::size_t>(index)], node);
}

}  // namespace weft::coll
