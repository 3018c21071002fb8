// The ranks of a communicator by node, and the heads among them: the ranks of a node that speak for it on a share of the data
// (models/nccl §3.3, §3.4). Head h of a node is its h-th rank. Private to algorithms/.
#pragma once

#include <span>
#include <vector>

#include "sim/collectives/communicator.h"

namespace weft::coll {

class NodeHeads {
 public:
  // As many heads on every node as the smallest node has ranks, but no more than `most`.
  NodeHeads(const Communicator& communicator, int most);

  [[nodiscard]] int nodes() const { return static_cast<int>(on_node_.size()); }
  [[nodiscard]] int heads() const { return static_cast<int>(heads_.size()); }
  [[nodiscard]] int node(Rank rank) const { return places_[static_cast<std::size_t>(rank)].node; }
  // The rank's place among the ranks of its node; below heads(): it is that head.
  [[nodiscard]] int local(Rank rank) const { return places_[static_cast<std::size_t>(rank)].local; }
  [[nodiscard]] bool is_head(Rank rank) const { return local(rank) < heads(); }
  [[nodiscard]] Rank head(int node, int index) const {
    return on_node_[static_cast<std::size_t>(node)][static_cast<std::size_t>(index)];
  }

  // Views that live as long as this does. "Others" begin behind the rank or node and wrap round.
  [[nodiscard]] std::span<const Rank> node_of(Rank rank) const;  // with the rank itself
  [[nodiscard]] std::span<const Rank> heads_of_node(Rank rank) const { return node_of(rank).first(heads_.size()); }
  [[nodiscard]] std::span<const Rank> others_on_node(Rank rank) const;
  [[nodiscard]] std::span<const Rank> same_head_elsewhere(int node, int index) const;
  // With the node's own as the last.
  [[nodiscard]] std::span<const Rank> same_head(int node, int index) const;
  // The heads of the rank's node but itself, by index.
  [[nodiscard]] std::span<const Rank> other_heads(Rank rank) const { return other_heads_[static_cast<std::size_t>(rank)]; }

 private:
  struct Place {
    int node = 0;
    int local = 0;
  };
  std::vector<Place> places_;                   // by rank
  std::vector<std::vector<Rank>> on_node_;      // by node: its ranks, twice over
  std::vector<std::vector<Rank>> heads_;        // by head: the ranks that are it, by node, twice over
  std::vector<std::vector<Rank>> other_heads_;  // by rank
};

}  // namespace weft::coll
