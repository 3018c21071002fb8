// Ring orders: which rank sends to which on every channel.
//
// A first version that keeps to what matters for bandwidth; NCCL's search (nccl-model §2) is to replace it for NCCL's
// algorithms:
//  - one host, GPUs behind NVSwitches or PCIe: rank order, as NCCL prints it there;
//  - one host, GPUs joined by direct links (hybrid cube mesh, Infinity Fabric): edge-disjoint Hamiltonian cycles, each used in
//    both directions, channel c taking ring c modulo their number;
//  - several hosts of g > 1 GPUs each: hosts in order, and inside each a path between two GPUs of neighbouring rails, walked
//  one
//    way on even hosts and the other way on odd ones, so that a ring leaves a host by the rail on which it enters the next
//    (nccl-model §2.5). With an odd number of hosts the last hop, back to the first host, changes rails;
//  - anything else (one GPU a host, hosts of different sizes, bare hosts): host by host.
#pragma once

#include <span>
#include <vector>

#include "sim/collectives/communicator.h"
#include "sim/network/topology.h"

namespace weft::coll {

// One order per channel. `devices[r]` holds rank r; all stand in hosts. Hosts count in the order of their first rank, GPUs of a
// host in the order of their ranks; the i-th GPU of a host is on rail i.
[[nodiscard]] std::vector<RingOrder> make_rings(const net::Topology& topology, std::span<const DeviceId> devices, int channels);

// 0 1 2 ... on every channel: the textbook ring.
[[nodiscard]] std::vector<RingOrder> rank_order_rings(int ranks, int channels);

// How many links of equal rate join i and j directly.
class LinkCounts {
 public:
  explicit LinkCounts(int size);
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int between(int i, int j) const { return counts_[index(i, j)]; }
  [[nodiscard]] int degree(int i) const;
  void add(int i, int j, int count);  // both directions; negative: takes away
  bool operator==(const LinkCounts&) const = default;

 private:
  [[nodiscard]] std::size_t index(int i, int j) const { return static_cast<std::size_t>(i * size_ + j); }
  int size_;
  std::vector<int> counts_;
};

// As many cycles through all vertices as share no link, found by backtracking with a bounded effort, so that on large meshes
// there may be more. Each starts at 0. Fewer than three vertices: none.
[[nodiscard]] std::vector<std::vector<int>> disjoint_cycles(const LinkCounts& links);

}  // namespace weft::coll
