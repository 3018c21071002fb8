// The NICs of NCCL's connections: on a channel of a ring or a tree those of its graph's channel, at a head of NVLS those of its
// channels, and between senders and receivers those of peer_nets.h.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/collectives/connection_nics.h"
#include "sim/collectives/nccl/graph.h"
#include "sim/core/ids.h"
#include "sim/network/topology.h"

namespace weft::coll::nccl {

class ChannelNics final : public ConnectionNics {
 public:
  // `devices[r]` holds rank r. Keeps a reference to the topology only.
  ChannelNics(const net::Topology& topology, std::span<const DeviceId> devices, const CommInfo& info);

  [[nodiscard]] net::NicPair between(Nets nets, Rank from, Rank to, int channel) const override;

 private:
  // A NIC by its place in the host's template.
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  using Nics = std::vector<std::uint32_t>;
  struct GraphNics {
    struct Channel {
      int first_gpu = 0;
      std::uint32_t of_first = kNone;
      std::uint32_t of_others = kNone;
    };
    std::vector<Channel> channels;
    bool swaps = false;  // on odd nodes
  };
  struct SendNics {
    int dev = -1;
    Nics own;                                   // by channel
    std::vector<std::pair<int, Nics>> towards;  // by NVML index
  };
  struct NodeNics {
    GraphNics ring;
    GraphNics tree;
    std::vector<Nics> heads;      // by GPU
    std::vector<SendNics> sends;  // by GPU
  };
  struct Place {
    int node = 0;
    int gpu = 0;
  };

  [[nodiscard]] const NodeNics& of_node(int node) const;
  [[nodiscard]] std::uint32_t of_graph(const GraphNics& graph, const Place& place, int channel) const;
  [[nodiscard]] std::uint32_t nic_of(Nets nets, Rank rank, Rank peer, bool sends, int channel) const;

  const net::Topology* topology_;
  std::vector<NodeNics> kinds_;
  std::vector<int> kind_of_node_;  // empty: all are of the first
  std::vector<std::int32_t> host_of_node_;
  std::vector<Place> places_;           // by rank
  std::vector<int> searched_channels_;  // by compute channel
};

}  // namespace weft::coll::nccl
