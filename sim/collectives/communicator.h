// A communicator: which device holds each rank, the rings its channels use, and the NICs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/collectives/connection_nics.h"
#include "sim/core/ids.h"
#include "sim/network/topology.h"

namespace weft::coll {

// ring[i] sends to ring[(i + 1) % n]; a permutation of the ranks.
using RingOrder = std::vector<Rank>;

// 0 1 2 ... on every channel: the textbook ring.
[[nodiscard]] std::vector<RingOrder> rank_order_rings(int ranks, int channels);

// A rank's place in a channel's tree; -1: none there.
struct TreeLinks {
  Rank up = -1;
  std::array<Rank, 3> down{-1, -1, -1};  // NCCL's largest arity
  bool operator==(const TreeLinks&) const = default;
};
using Tree = std::vector<TreeLinks>;  // by rank

class Communicator {
 public:
  // `devices[r]` holds rank r. At least one rank; `rings` has one order per channel, each a permutation of the ranks.
  Communicator(const net::Topology& topology, std::vector<DeviceId> devices, std::vector<RingOrder> rings);

  [[nodiscard]] int ranks() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] int nodes() const { return static_cast<int>(node_ranks_.size()); }  // hosts: NCCL's nodes
  [[nodiscard]] int channels() const { return static_cast<int>(rings_.size()); }
  [[nodiscard]] DeviceId device(Rank rank) const { return devices_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RingOrder& ring(int channel) const { return rings_[static_cast<std::size_t>(channel)]; }
  // Trees of the channels; as many as rings, or none. Calls after the first replace.
  void set_trees(std::vector<Tree> trees);
  [[nodiscard]] bool has_trees() const { return !trees_.empty(); }
  [[nodiscard]] const Tree& tree(int channel) const { return trees_[static_cast<std::size_t>(channel)]; }
  // Null: the network's choice, for all.
  void set_nics(std::shared_ptr<const ConnectionNics> nics) { nics_ = std::move(nics); }
  [[nodiscard]] net::FlowKey flow_key(Nets nets, Rank from, Rank to, int channel) const;
  // NCCL's node (0 .. nodes() - 1) of a rank, and the ranks of a node in rank order.
  [[nodiscard]] int node_of(Rank rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::span<const Rank> node_ranks(int node) const { return node_ranks_[static_cast<std::size_t>(node)]; }
  // Position of `rank` in the ring of `channel`.
  [[nodiscard]] int position(int channel, Rank rank) const;
  [[nodiscard]] const net::Topology& topology() const { return *topology_; }

 private:
  const net::Topology* topology_;
  std::vector<DeviceId> devices_;
  std::vector<RingOrder> rings_;
  std::vector<std::vector<std::int32_t>> positions_;
  std::vector<Tree> trees_;
  std::shared_ptr<const ConnectionNics> nics_;
  std::vector<int> node_of_;
  std::vector<std::vector<Rank>> node_ranks_;
};

}  // namespace weft::coll
