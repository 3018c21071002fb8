// NCCL's channel search finds these, and a communicator is made of them after it. They are plain data between the search
// (search.h), the tuning model (tuning.h) and the planner (planner.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/collectives/nccl/system.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/network/path_class.h"

namespace weft::coll::nccl {

// In NCCL's numbering, which its graph XML shows (models/nccl §1.4).
enum class GraphKind : std::uint8_t { kRing = 0, kTree = 1, kCollNetChain = 2, kNvls = 3, kCollNetDirect = 4 };
enum class GraphPattern : std::uint8_t {
  kBalancedTree = 1,
  kSplitTree = 2,
  kTree = 3,
  kRing = 4,
  kNvls = 5,
  kCollNetDirect = 6
};

// A NIC as NCCL numbers it: the OS host within the node (as System numbers it) in the upper 8 bits, the plugin's device number
// below. On a node of one OS host it is the device number.
using NetId = std::int64_t;
constexpr int net_host(NetId net) { return static_cast<int>(net >> 56); }
constexpr int net_device(NetId net) { return static_cast<int>(net & 0x00FF'FFFF'FFFF'FFFF); }
inline NetId net_id(const Node& net) { return static_cast<NetId>(net.system) << 56 | static_cast<NetId>(net.id); }

// One channel as found on one node: the NIC it comes in by, its GPUs in order, the NIC it leaves by.
struct GraphChannel {
  std::optional<NetId> net_in;  // none where the communicator has one node
  std::vector<int> gpus;        // NVML-free: ranks local to the node, 0 .. ranks per node - 1; NVLS: the head only
  std::optional<NetId> net_out;
  bool operator==(const GraphChannel&) const = default;
};

struct Graph {
  GraphKind kind = GraphKind::kRing;
  GraphPattern pattern = GraphPattern::kRing;
  int cross_nic = 0;
  float bandwidth_intra = 0;  // GB/s a channel
  float bandwidth_inter = 0;
  float latency_inter = 0;  // us
  PathClass type_intra = PathClass::kLoc;
  PathClass type_inter = PathClass::kLoc;
  bool same_channels = true;
  std::vector<GraphChannel> channels;  // the search's own, before connect.cc doubles them

  [[nodiscard]] int channel_count() const { return static_cast<int>(channels.size()); }
};

// The graphs of one node.
struct NodeGraphs {
  Graph ring;
  Graph tree;
  std::optional<Graph> collnet_chain;
  std::optional<Graph> collnet_direct;
  std::optional<Graph> nvls;
};

// The NICs of one GPU's sends and receives (peer_nets.h). Each list by channel; empty: it reaches none.
struct PeerNets {
  int dev = -1;            // its NVML index
  std::vector<NetId> own;  // by which it receives
  struct Towards {
    int dev = -1;
    std::vector<NetId> by_channel;
  };
  std::vector<Towards> towards;  // by which it sends to a GPU of this NVML index; to others by its own
};

// NCCL knows this of a communicator when it tunes and plans. Defaults are a communicator of one rank.
struct CommInfo {
  NcclVersion version = NcclVersion::k2_28;
  int ranks = 1;
  int nodes = 1;           // NVLink domains, which NCCL calls nodes
  int ranks_per_node = 1;  // the most on one node
  int min_sm = 90;         // compute capability * 10
  int max_sm = 90;
  net::CpuClass cpu;        // of the first node
  bool mixed_cpus = false;  // vendors differ between nodes
  // GPUs of a node that are farther apart talk through its memory; the nearest class of any node.
  net::PathClass p2p_level = net::PathClass::kPxb;
  bool nvswitch = false;  // every GPU reaches every other through one
  bool nvls = false;      // multicast and in-switch reduction can be used (hardware, driver and NCCL_NVLS_ENABLE)
  bool collnet = false;   // a SHARP plugin with its switches

  // As all nodes agree on them: the least channels and speeds, the farthest classes of any node. Channels: the first node's.
  Graph ring;
  Graph tree;
  std::optional<Graph> collnet_chain;
  std::optional<Graph> collnet_direct;
  std::optional<Graph> nvls_graph;
  // Where nodes differ: the graphs of each kind of node, and every node's kind. Empty: all are as above.
  std::vector<NodeGraphs> node_graphs;
  std::vector<int> kind_of_node;
  std::vector<std::vector<PeerNets>> peer_nets;  // by kind of node, or of all; empty on one node

  int channels = 1;                  // compute channels for collectives
  std::vector<int> channel_sources;  // by compute channel: the one that it repeats, below 2 x the search's; itself where none
  int nvls_channels = 0;             // of NVLS and NVLSTree
  Bytes nvls_chunk{128 << 10};       // NCCL_NVLS_CHUNKSIZE as NCCL adjusts it
  Bytes nvls_tree_max_chunk{128 << 10};
  int p2p_channels = 1;
  int p2p_channels_per_peer = 1;
  Bytes p2p_chunk{512 << 10};
  float min_net_bandwidth = 0;  // GB/s: the slowest NIC of any GPU
};

}  // namespace weft::coll::nccl
