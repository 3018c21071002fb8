#include "sim/collectives/communicator.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "sim/core/error.h"

namespace weft::coll {

std::vector<RingOrder> rank_order_rings(int ranks, int channels) {
  RingOrder order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return std::vector<RingOrder>(static_cast<std::size_t>(channels), order);
}

Communicator::Communicator(const net::Topology& topology, std::vector<DeviceId> devices, std::vector<RingOrder> rings)
    : topology_{&topology}, devices_{std::move(devices)}, rings_{std::move(rings)} {
  WEFT_CHECK(!devices_.empty());
  WEFT_CHECK(!rings_.empty());

  std::vector<DeviceId> distinct = devices_;
  std::sort(distinct.begin(), distinct.end());
  WEFT_CHECK(distinct.back().index() < topology.device_count());
  WEFT_CHECK(std::adjacent_find(distinct.begin(), distinct.end()) == distinct.end());

  // Nodes are numbered in the order in which ranks first meet them.
  std::unordered_map<std::int32_t, int> node_of_host;  // looked up only, never walked
  for (Rank rank = 0; rank < ranks(); ++rank) {
    const std::int32_t host = topology.host_of(device(rank));
    WEFT_CHECK(host >= 0);  // a fabric switch holds no rank
    const auto [at, is_new] = node_of_host.try_emplace(host, nodes());
    if (is_new) node_ranks_.emplace_back();
    node_of_.push_back(at->second);
    node_ranks_[static_cast<std::size_t>(at->second)].push_back(rank);
  }

  positions_.reserve(rings_.size());
  for (const RingOrder& order : rings_) {
    WEFT_CHECK(order.size() == devices_.size());
    std::vector<std::int32_t> positions(order.size(), -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      WEFT_CHECK(order[i] >= 0 && order[i] < ranks());
      std::int32_t& position = positions[static_cast<std::size_t>(order[i])];
      WEFT_CHECK(position == -1);
      position = static_cast<std::int32_t>(i);
    }
    positions_.push_back(std::move(positions));
  }
}

void Communicator::set_trees(std::vector<Tree> trees) {
  WEFT_CHECK(trees.empty() || trees.size() == rings_.size());
  for (const Tree& tree : trees) WEFT_CHECK(tree.size() == devices_.size());
  trees_ = std::move(trees);
}

// The channel is the flow's entropy: one queue pair per connection, so ECMP may take another path for another channel.
net::FlowKey Communicator::flow_key(Nets nets, Rank from, Rank to, int channel) const {
  net::FlowKey key{static_cast<std::uint64_t>(channel)};
  if (nics_ != nullptr && node_of(from) != node_of(to)) key.nics = nics_->between(nets, from, to, channel);
  return key;
}

int Communicator::position(int channel, Rank rank) const {
  return positions_[static_cast<std::size_t>(channel)][static_cast<std::size_t>(rank)];
}

}  // namespace weft::coll
