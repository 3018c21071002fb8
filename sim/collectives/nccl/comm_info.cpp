#include "sim/collectives/nccl/comm_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "sim/collectives/nccl/channel_counts.h"
#include "sim/collectives/nccl/graph_xml.h"
#include "sim/collectives/nccl/mesh_rings.h"
#include "sim/collectives/nccl/peer_nets.h"
#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/search.h"
#include "sim/core/error.h"
#include "sim/network/import/nccl_xml_writer.h"

namespace weft::coll::nccl {
namespace {

using net::XmlElement;

// NCCL_P2P_LEVEL and the like: a class of paths, or NCCL's old numbers (models/nccl §1.3). Settings has checked them.
std::optional<PathClass> path_level(const Settings& settings, std::string_view key) {
  constexpr std::pair<std::string_view, PathClass> kLevels[] = {
      {"LOC", PathClass::kLoc}, {"NVL", PathClass::kNvl}, {"PIX", PathClass::kPix}, {"PXB", PathClass::kPxb},
      {"PHB", PathClass::kPhb}, {"SYS", PathClass::kSys}, {"0", PathClass::kLoc},   {"1", PathClass::kPix},
      {"2", PathClass::kPxb},   {"3", PathClass::kPhb},   {"4", PathClass::kSys},   {"5", PathClass::kSys}};
  const auto text = settings.find(key);
  if (!text) return std::nullopt;
  const auto level = std::ranges::find(kLevels, std::string_view{*text}, &std::pair<std::string_view, PathClass>::first);
  return level == std::end(kLevels) ? std::nullopt : std::optional{level->second};
}

// One kind of node: what its hosts have in common, and what NCCL finds there.
struct NodeKind {
  System system;
  NodeGraphs graphs;
  int ranks = 0;
  int per_peer = 0;
};

std::optional<Graph> nonempty(Graph graph) { return graph.channels.empty() ? std::nullopt : std::optional{std::move(graph)}; }

bool has_collnet(const System& system) {
  return std::ranges::any_of(system.nets(), [&](NodeIndex net) { return system.node(net).collnet; });
}

bool all_through_nvswitch(const System& system) {
  if (system.of_type(NodeType::kNvs).empty()) return false;
  for (const NodeIndex a : system.gpus()) {
    for (const NodeIndex b : system.gpus()) {
      if (a != b && system.path(a, b).type != PathClass::kNvl) return false;
    }
  }
  return true;
}

bool all_nvlink(const System& system) {
  for (const NodeIndex a : system.gpus()) {
    for (const NodeIndex b : system.gpus()) {
      if (a != b && system.path(a, b).type >= PathClass::kPix) return false;
    }
  }
  return true;
}

NodeGraphs find_graphs(const System& system, const Settings& settings, bool collnet, bool nvls) {
  const NcclVersion version = system.options().version;
  const int cross_nic = settings.integer("CROSS_NIC").value_or(2);
  std::vector<Graph> given;
  if (const auto file = settings.find("GRAPH_FILE")) given = read_graph_xml_file(*file, system);
  const auto find = [&](GraphRequest request) {
    const auto from_file = std::ranges::find(given, request.kind, &Graph::kind);
    if (from_file != given.end() && !from_file->channels.empty()) return *from_file;
    request.cross_nic = cross_nic;
    return search(system, request);
  };
  NodeGraphs graphs;
  if (std::optional<Graph> mesh = given.empty() ? mesh_graph(system) : std::nullopt) {
    graphs.ring = graphs.tree = *std::move(mesh);
    graphs.tree.kind = GraphKind::kTree;
    graphs.tree.pattern = GraphPattern::kBalancedTree;
  } else {
    graphs.ring = find(ring_request(version));
    graphs.tree = find(tree_request(graphs.ring));
  }
  if (collnet) {
    graphs.collnet_chain = nonempty(find(collnet_chain_request(graphs.ring)));
    graphs.collnet_direct = nonempty(find(collnet_direct_request(version)));
  }
  if (nvls) graphs.nvls = nonempty(find(nvls_request(version)));
  return graphs;
}

// All nodes agree on the least channels and speeds and the farthest classes.
void agree(Graph& common, const Graph& other) {
  common.channels.resize(std::min(common.channels.size(), other.channels.size()));
  common.same_channels = common.same_channels && other.same_channels;
  common.bandwidth_intra = std::min(common.bandwidth_intra, other.bandwidth_intra);
  common.bandwidth_inter = std::min(common.bandwidth_inter, other.bandwidth_inter);
  common.type_intra = std::max(common.type_intra, other.type_intra);
  common.type_inter = std::max(common.type_inter, other.type_inter);
  common.cross_nic = std::max(common.cross_nic, other.cross_nic);
  common.latency_inter = std::max(common.latency_inter, other.latency_inter);
  if (common.kind == GraphKind::kTree) common.pattern = std::max(common.pattern, other.pattern);
}
void agree(std::optional<Graph>& common, const std::optional<Graph>& other) {
  if (!common || !other) {
    common.reset();
  } else {
    agree(*common, *other);
  }
}

class Assembly {
 public:
  Assembly(const Settings& settings, NcclVersion version, int nodes, int ranks) : settings_{settings} {
    info_.version = version;
    info_.nodes = nodes;
    info_.ranks = ranks;
    const int threshold = settings.integer("COLLNET_NODE_THRESHOLD").value_or(2);
    wants_collnet_ = settings.integer("COLLNET_ENABLE").value_or(0) == 1 && nodes >= threshold;
    wants_nvls_ = settings.integer("NVLS_ENABLE").value_or(2) != 0;
  }

  void add_kind(const XmlElement& xml) {
    System system{xml, system_options(settings_, info_.version, info_.nodes > 1)};
    const bool collnet = wants_collnet_ && has_collnet(system);
    NodeGraphs graphs = find_graphs(system, settings_, collnet, wants_nvls_);
    const auto ranks = static_cast<int>(system.gpus().size());
    kinds_.push_back({.system = std::move(system), .graphs = std::move(graphs), .ranks = ranks});
  }

  CommInfo finish(std::vector<int> kind_of_node) {
    describe_machines();
    agree_on_graphs();
    info_.p2p_level =
        std::ranges::min(kinds_, {}, [](const NodeKind& kind) { return kind.system.p2p_level(); }).system.p2p_level();
    set_channels(info_, settings_);
    set_nvls_channels(info_, settings_, least_ranks());
    extend_to_nvls(info_);
    set_p2p_channels(info_, settings_);
    int per_peer = max_channels(info_.version);
    for (const NodeKind& kind : kinds_) {
      per_peer = std::min(per_peer, channels_per_peer(kind.system, settings_, info_.ranks, info_.p2p_channels));
    }
    set_channels_per_peer(info_, settings_, per_peer);
    if (info_.nodes > 1) {
      for (const NodeKind& kind : kinds_) info_.peer_nets.push_back(peer_nets(kind.system, settings_));
    }
    set_p2p_chunk(info_, settings_, std::ranges::all_of(kinds_, [](const NodeKind& kind) { return all_nvlink(kind.system); }));
    if (kinds_.size() > 1) {
      for (NodeKind& kind : kinds_) info_.node_graphs.push_back(std::move(kind.graphs));
      info_.kind_of_node = std::move(kind_of_node);
    }
    return std::move(info_);
  }

 private:
  [[nodiscard]] int least_ranks() const { return std::ranges::min_element(kinds_, {}, &NodeKind::ranks)->ranks; }

  void describe_machines() {
    const System& first = kinds_.front().system;
    info_.cpu = first.node(first.of_type(NodeType::kCpu).front()).cpu;
    info_.min_sm = info_.max_sm = first.node(first.gpus().front()).sm;
    info_.ranks_per_node = std::ranges::max_element(kinds_, {}, &NodeKind::ranks)->ranks;
    info_.nvswitch = true;
    info_.collnet = wants_collnet_;
    if (info_.nodes > 1) info_.min_net_bandwidth = min_net_bandwidth(first);
    for (const NodeKind& kind : kinds_) {
      const net::CpuClass& cpu = kind.system.node(kind.system.of_type(NodeType::kCpu).front()).cpu;
      info_.mixed_cpus = info_.mixed_cpus || cpu.arch != info_.cpu.arch || cpu.vendor != info_.cpu.vendor;
      info_.nvswitch = info_.nvswitch && all_through_nvswitch(kind.system);
      info_.collnet = info_.collnet && has_collnet(kind.system);
      for (const NodeIndex gpu : kind.system.gpus()) {
        info_.min_sm = std::min(info_.min_sm, kind.system.node(gpu).sm);
        info_.max_sm = std::max(info_.max_sm, kind.system.node(gpu).sm);
      }
      if (info_.nodes > 1) info_.min_net_bandwidth = std::min(info_.min_net_bandwidth, min_net_bandwidth(kind.system));
    }
  }

  void agree_on_graphs() {
    const NodeGraphs& first = kinds_.front().graphs;
    info_.ring = first.ring;
    info_.tree = first.tree;
    info_.collnet_chain = first.collnet_chain;
    info_.collnet_direct = first.collnet_direct;
    info_.nvls_graph = first.nvls;
    for (const NodeKind& kind : kinds_) {
      agree(info_.ring, kind.graphs.ring);
      agree(info_.tree, kind.graphs.tree);
      agree(info_.collnet_chain, kind.graphs.collnet_chain);
      agree(info_.collnet_direct, kind.graphs.collnet_direct);
      agree(info_.nvls_graph, kind.graphs.nvls);
    }
    const bool enough = least_ranks() >= rule(kLeastNvlsGpus, info_.version);
    info_.nvls = info_.nvls_graph && !info_.nvls_graph->channels.empty() && enough;
    if (info_.nodes == 1) info_.collnet = false;
  }

  const Settings& settings_;
  CommInfo info_;
  std::vector<NodeKind> kinds_;
  bool wants_collnet_ = false;
  bool wants_nvls_ = true;
};

// The rank that the topology file of a host gives to this GPU.
std::string rank_in_file(const net::Topology& topology, DeviceId device) {
  if (const std::string* rank = net::find_label(topology.labels(device), "rank")) return *rank;
  const auto host = static_cast<std::size_t>(topology.host_of(device));
  const std::vector<std::uint32_t> gpus = topology.template_of_host(host).of_kind(net::DeviceKind::kGpu);
  return fmt::format("{}", std::ranges::find(gpus, topology.local(device)) - gpus.begin());
}

// Numbers the GPUs as `ranks` says and takes the rank from all others, which hides them from NCCL.
void renumber(XmlElement& element, const std::map<std::string, std::string>& ranks) {
  if (element.name == "gpu") {
    const auto at = std::ranges::find(element.attributes, "rank", &std::pair<std::string, std::string>::first);
    if (at == element.attributes.end()) return;
    const auto found = ranks.find(at->second);
    if (found == ranks.end()) {
      element.attributes.erase(at);
    } else {
      at->second = found->second;
    }
  }
  for (XmlElement& child : element.children) renumber(child, ranks);
}

XmlElement xml_of(const net::Topology& topology, std::span<const DeviceId> devices, const std::vector<Rank>& ranks) {
  std::map<std::string, std::string> numbers;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    numbers.emplace(rank_in_file(topology, devices[static_cast<std::size_t>(ranks[i])]), fmt::format("{}", i));
  }
  const DeviceId first = devices[static_cast<std::size_t>(ranks.front())];
  XmlElement xml = net::nccl_xml_tree(topology, static_cast<std::size_t>(topology.host_of(first)));
  renumber(xml, numbers);
  return xml;
}

int ranks_in(const XmlElement& element) {
  int count = element.name == "gpu" && element.find("rank") != nullptr ? 1 : 0;
  for (const XmlElement& child : element.children) count += ranks_in(child);
  return count;
}

}  // namespace

SystemOptions system_options(const Settings& settings, NcclVersion version, bool several_nodes) {
  SystemOptions options{.version = version, .several_nodes = several_nodes};
  options.p2p_level = path_level(settings, "P2P_LEVEL");
  if (settings.integer("P2P_DISABLE").value_or(0) == 1) options.p2p_level = PathClass::kLoc;
  options.gdr_level = path_level(settings, "NET_GDR_LEVEL");
  options.nvb = settings.integer("NVB_DISABLE").value_or(0) == 0;
  options.pxn = settings.integer("PXN_DISABLE").value_or(0) == 0;
  return options;
}

std::vector<std::vector<Rank>> node_ranks(const net::Topology& topology, std::span<const DeviceId> devices) {
  std::vector<std::vector<Rank>> nodes;
  std::map<std::int32_t, std::size_t> node_of_host;
  for (std::size_t r = 0; r < devices.size(); ++r) {
    const auto [at, is_new] = node_of_host.try_emplace(topology.host_of(devices[r]), nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[at->second].push_back(static_cast<Rank>(r));
  }
  return nodes;
}

net::XmlElement node_xml(const net::Topology& topology, std::span<const DeviceId> devices, int node) {
  return xml_of(topology, devices, node_ranks(topology, devices)[static_cast<std::size_t>(node)]);
}

CommInfo comm_info(const net::Topology& topology, std::span<const DeviceId> devices, const Settings& settings,
                   NcclVersion version) {
  WEFT_CHECK(!devices.empty());
  for (const DeviceId device : devices) {
    if (topology.kind(device) == net::DeviceKind::kGpu) continue;
    throw ConfigError(fmt::format("{} is no GPU: NCCL runs on GPUs", topology.name(device)));
  }
  const std::vector<std::vector<Rank>> nodes = node_ranks(topology, devices);
  Assembly assembly{settings, version, static_cast<int>(nodes.size()), static_cast<int>(devices.size())};
  // Nodes are of one kind if the same GPUs of one template serve in the same order.
  std::map<std::vector<std::uint32_t>, int> kinds;
  std::vector<int> kind_of_node;
  for (const std::vector<Rank>& ranks : nodes) {
    const DeviceId first = devices[static_cast<std::size_t>(ranks.front())];
    std::vector<std::uint32_t> key{topology.host(static_cast<std::size_t>(topology.host_of(first))).host_template};
    for (const Rank rank : ranks) key.push_back(topology.local(devices[static_cast<std::size_t>(rank)]));
    const auto [at, is_new] = kinds.try_emplace(std::move(key), static_cast<int>(kinds.size()));
    if (is_new) assembly.add_kind(xml_of(topology, devices, ranks));
    kind_of_node.push_back(at->second);
  }
  return assembly.finish(std::move(kind_of_node));
}

CommInfo comm_info(const net::XmlElement& topology_xml, int nodes, const Settings& settings, NcclVersion version) {
  WEFT_CHECK(nodes >= 1);
  Assembly assembly{settings, version, nodes, nodes * ranks_in(topology_xml)};
  assembly.add_kind(topology_xml);
  return assembly.finish({});
}

}  // namespace weft::coll::nccl
