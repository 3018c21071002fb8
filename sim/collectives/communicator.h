// A communicator: which device holds each rank, and the rings its channels use.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/ids.h"
#include "sim/network/topology.h"

namespace weft::coll {

// ring[i] sends to ring[(i + 1) % n]; a permutation of the ranks.
using RingOrder = std::vector<Rank>;

class Communicator {
 public:
  // `devices[r]` holds rank r. At least one rank; `rings` has one order per channel, each a permutation of the ranks.
  Communicator(const net::Topology& topology, std::vector<DeviceId> devices, std::vector<RingOrder> rings);

  [[nodiscard]] int ranks() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] int nodes() const { return nodes_; }  // hosts: NCCL's nodes
  [[nodiscard]] int channels() const { return static_cast<int>(rings_.size()); }
  [[nodiscard]] DeviceId device(Rank rank) const { return devices_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RingOrder& ring(int channel) const { return rings_[static_cast<std::size_t>(channel)]; }
  // Position of `rank` in the ring of `channel`.
  [[nodiscard]] int position(int channel, Rank rank) const;
  [[nodiscard]] const net::Topology& topology() const { return *topology_; }

 private:
  const net::Topology* topology_;
  std::vector<DeviceId> devices_;
  std::vector<RingOrder> rings_;
  std::vector<std::vector<std::int32_t>> positions_;
  int nodes_ = 0;
};

}  // namespace weft::coll
