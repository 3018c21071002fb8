// Who is where, for algorithms with a part inside nodes and a part between them. Private to algorithms/.
//
// Members are the ranks of a node that take part in the exchange between nodes: as many on every node, the first in the order
// given. The others, if any, hang on to a member of their node: extra rank e of a node on member e mod members.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/collectives/communicator.h"

namespace weft::coll {

class NodeLayout {
 public:
  // `order[a]`: the ranks of node a, members first.
  NodeLayout(std::vector<std::vector<Rank>> order, int members) : order_{std::move(order)}, members_{members} {
    for (std::size_t a = 0; a < order_.size(); ++a) {
      for (std::size_t i = 0; i < order_[a].size(); ++i) {
        const auto rank = static_cast<std::size_t>(order_[a][i]);
        if (place_.size() <= rank) place_.resize(rank + 1);
        place_[rank] = {static_cast<int>(a), static_cast<int>(i)};
      }
    }
  }
  // In rank order; members: as many as the smallest node has ranks.
  static NodeLayout by_rank(const Communicator& communicator) {
    std::vector<std::vector<Rank>> order;
    std::size_t members = static_cast<std::size_t>(communicator.ranks());
    for (int node = 0; node < communicator.nodes(); ++node) {
      const std::span<const Rank> ranks = communicator.node_ranks(node);
      order.emplace_back(ranks.begin(), ranks.end());
      members = std::min(members, ranks.size());
    }
    return {std::move(order), static_cast<int>(members)};
  }

  [[nodiscard]] int nodes() const { return static_cast<int>(order_.size()); }
  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] int node(Rank rank) const { return place_[static_cast<std::size_t>(rank)].node; }
  [[nodiscard]] int local(Rank rank) const { return place_[static_cast<std::size_t>(rank)].local; }
  [[nodiscard]] int size(int node) const { return static_cast<int>(order_[static_cast<std::size_t>(node)].size()); }
  [[nodiscard]] Rank rank_at(int node, int local) const {
    return order_[static_cast<std::size_t>(node)][static_cast<std::size_t>(local)];
  }
  [[nodiscard]] bool is_member(Rank rank) const { return local(rank) < members_; }
  // Extra ranks that hang on to a member, and the k-th of them.
  [[nodiscard]] int extras(Rank member) const {
    const int beyond = size(node(member)) - members_ - local(member);
    return beyond <= 0 ? 0 : (beyond + members_ - 1) / members_;
  }
  [[nodiscard]] Rank extra(Rank member, int k) const { return rank_at(node(member), members_ * (k + 1) + local(member)); }
  [[nodiscard]] Rank member_of(Rank extra) const { return rank_at(node(extra), local(extra) % members_); }

 private:
  struct Place {
    int node = 0;
    int local = 0;
  };
  std::vector<std::vector<Rank>> order_;
  std::vector<Place> place_;  // by rank
  int members_;
};

}  // namespace weft::coll
