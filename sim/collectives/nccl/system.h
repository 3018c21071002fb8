// NCCL's view of one host (its "node": an NVLink domain): the graph its channel search runs on, with the bandwidths it plans
// with and the path it takes between any two places (models/nccl §1.2, §1.3). Made from what NCCL would read, the topology XML.
//
//   const System system = System::of_host(topology, 0, {.version = NcclVersion::k2_28});
//   system.path(system.gpus()[0], system.gpus()[1]).type      // PathClass::kNvl
//   std::cout << system.describe();                           // as NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH prints it
//
// Bandwidths are NCCL's own floats in GB/s, for its comparisons are exact. They are plans, not what the simulated network
// gives.
//
// Model: GPUs stand for themselves (since 2.30 NCCL hangs them from DEV nodes, which lengthens every path by a hop at each
// GPU); all ranks of the host reach each other by P2P or shared memory; several ranks or partitions of one GPU, NIC fusion, GIN
// and RMA devices are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/nccl/release.h"
#include "sim/network/import/nccl_xml.h"
#include "sim/network/path_class.h"
#include "sim/network/topology.h"

namespace weft::coll::nccl {

using net::PathClass;

enum class NodeType : std::uint8_t { kGpu, kPci, kNvs, kCpu, kNic, kNet };
[[nodiscard]] std::string_view to_string(NodeType type);  // "GPU", "PCI", "NVS", "CPU", "NIC", "NET"

// In NCCL's order: a link's type is the least class of a path over it.
enum class LinkType : std::uint8_t { kLoc, kNvl, kC2c, kPci, kSys, kNet };
[[nodiscard]] std::string_view to_string(LinkType type);

using NodeIndex = std::uint32_t;
using LinkIndex = std::uint32_t;

constexpr float kLocalBandwidth = 5000.0F;

struct Link {
  NodeIndex from = 0;
  NodeIndex to = 0;
  LinkType type = LinkType::kLoc;
  float bandwidth = 0;  // of all parallel links of this type together
  LinkIndex reverse = 0;
};

struct Node {
  NodeType type = NodeType::kGpu;
  std::int32_t system = 0;       // OS host within the NVLink domain
  std::uint64_t id = 0;          // bus id, NUMA id or device number, as NCCL prints it
  std::vector<LinkIndex> links;  // out, in the order NCCL walks them
  // GPU
  int rank = -1;
  int dev = -1;  // NVML index, or the network plugin's device of a NET
  int sm = 0;
  bool gdr = false;          // also of a NET
  float xgmi_bandwidth = 0;  // of one link of AMD's GPU; 0: NVLinks
  // NET
  float bandwidth = 0;
  float latency_us = 0;
  std::uint64_t asic = 0;  // ports of one ASIC share its guid
  int port = 0;
  int max_channels = 0;
  bool collnet = false;
  std::optional<int> rail = {};  // since 2.30.7: NICs of one rail may be joined, of different planes never
  std::optional<int> plane = {};
  NodeIndex local_gpu = 0;  // the GPU it serves first
  // CPU
  net::CpuClass cpu;
  // PCI switch
  std::uint64_t pci_device = 0;
};

// How one node reaches another. `links` lead from the first to the second.
struct Path {
  PathClass type = PathClass::kDis;
  float bandwidth = 0;
  std::vector<LinkIndex> links;
};

// The settings that change the graph; the defaults are NCCL's.
struct SystemOptions {
  NcclVersion version = NcclVersion::k2_28;
  bool several_nodes = false;               // the communicator spans hosts
  std::optional<PathClass> p2p_level = {};  // NCCL_P2P_LEVEL; NCCL_P2P_DISABLE=1 is kLoc
  std::optional<PathClass> gdr_level = {};  // NCCL_NET_GDR_LEVEL
  bool nvb = true;                          // NCCL_NVB_DISABLE=0
  bool pxn = true;                          // NCCL_PXN_DISABLE=0
};

class System {
 public:
  // ConfigError: no GPU with a rank.
  [[nodiscard]] static System of_host(const net::Topology& topology, std::size_t host, const SystemOptions& options);
  System(const net::XmlElement& topology_xml, const SystemOptions& options);

  [[nodiscard]] const SystemOptions& options() const { return options_; }
  [[nodiscard]] const Node& node(NodeIndex index) const { return nodes_[index]; }
  [[nodiscard]] const Link& link(LinkIndex index) const { return links_[index]; }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
  // Nodes of one type, in NCCL's order.
  [[nodiscard]] std::span<const NodeIndex> of_type(NodeType type) const { return by_type_[static_cast<std::size_t>(type)]; }
  [[nodiscard]] std::span<const NodeIndex> gpus() const { return of_type(NodeType::kGpu); }
  [[nodiscard]] std::span<const NodeIndex> nets() const { return of_type(NodeType::kNet); }

  // `to` is a GPU, NVS, CPU or NET.
  [[nodiscard]] const Path& path(NodeIndex from, NodeIndex to) const { return paths_[from * nodes_.size() + to]; }

  // The best bandwidth of a GPU to what the search must reach (another GPU, or a NIC), and the most one GPU can move.
  [[nodiscard]] float max_bandwidth() const { return max_bandwidth_; }
  [[nodiscard]] float total_bandwidth() const { return total_bandwidth_; }

  // Returns the nodes of `type` that `from` reaches with the most bandwidth, and of these the closest.
  [[nodiscard]] std::vector<NodeIndex> local(NodeIndex from, NodeType type) const;
  // The NIC that a GPU uses on a channel; nothing without any.
  [[nodiscard]] std::optional<NodeIndex> local_net(NodeIndex gpu, int channel) const;
  // The GPU that uses this NIC on the lowest channel.
  [[nodiscard]] std::optional<NodeIndex> local_gpu(NodeIndex net) const;
  [[nodiscard]] NodeIndex local_cpu(NodeIndex gpu) const;

  // The farthest class of paths over which peers may copy directly (P2P), not only through host memory.
  [[nodiscard]] PathClass p2p_level() const;
  [[nodiscard]] bool p2p_allowed(NodeIndex a, NodeIndex b) const;
  // GPUDirect RDMA between them; `read`: the NIC reads GPU memory (a send).
  [[nodiscard]] bool gdr_allowed(NodeIndex gpu, NodeIndex net, bool read) const;
  // The GPU through which `gpu` reaches `net` (PXN), or itself.
  [[nodiscard]] NodeIndex relay_gpu(NodeIndex gpu, NodeIndex net) const;

  // GB/s of one NVLink of a GPU of this compute capability.
  [[nodiscard]] static float nvlink_bandwidth(int sm, NcclVersion version);
  // GB/s of one link to other GPUs.
  [[nodiscard]] float gpu_link_bandwidth(NodeIndex gpu) const;

  // The text of NCCL's INFO lines, without their prefix.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::string describe_paths(NodeIndex from) const;  // one line: "GPU/0-60 :GPU/0-60 (0/5000.0/LOC) ..."
  [[nodiscard]] std::string name(NodeIndex node) const;            // "GPU/0-60"

 private:
  friend class SystemBuilder;

  void set_paths_to(NodeIndex base);
  void join_paths(NodeIndex from, NodeIndex over, NodeIndex to);
  void compute_paths();
  void compute_bandwidths();
  [[nodiscard]] Path& path_ref(NodeIndex from, NodeIndex to) { return paths_[from * nodes_.size() + to]; }
  void describe_tree(std::string& out, NodeIndex node, std::optional<NodeIndex> from, std::string line) const;

  SystemOptions options_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<NodeIndex> by_type_[6];
  std::vector<Path> paths_;  // [from][to]
  float max_bandwidth_ = 0;
  float total_bandwidth_ = 0;
};

}  // namespace weft::coll::nccl
