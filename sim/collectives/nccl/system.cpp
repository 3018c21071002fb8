#include "sim/collectives/nccl/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/core/error.h"
#include "sim/network/import/nccl_xml_writer.h"

namespace weft::coll::nccl {
namespace {

using net::PciRole;
using net::XmlElement;

std::string_view text_of(const XmlElement& element, std::string_view attribute) {
  const std::string* value = element.find(attribute);
  return value == nullptr ? std::string_view{} : std::string_view{*value};
}

std::int64_t number_of(const XmlElement& element, std::string_view attribute, std::int64_t otherwise) {
  return net::parse_attribute_integer(text_of(element, attribute)).value_or(otherwise);
}

std::uint64_t hex_of(const XmlElement& element, std::string_view attribute) {
  std::string_view text = text_of(element, attribute);
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

std::uint64_t bus_of(const XmlElement& element, std::string_view attribute) {
  return net::bus_id_number(text_of(element, attribute)).value_or(0);
}

constexpr std::int64_t kMostPcieLanes = 32;  // of one link

// Broadcom's generation 4 and 5 switches show themselves as two levels of one device (models/nccl §1.1).
int broadcom_generation(std::uint64_t device, std::uint64_t level) {
  if ((device & 0xFFFF'FFFF'FFFF'F000) == 0x1000'C010'1000'A000) return 4;
  if ((device & 0xFFFF'FFFF'FFFF'F000) == (0x1000'C030'1000'0000 | level * 0x1000)) return 5;
  return 0;
}

}  // namespace

// Makes the nodes and links, in NCCL's order of steps, for the order of a node's links decides between equal paths.
class SystemBuilder {
 public:
  explicit SystemBuilder(System& system) : s_{system} {}

  void build(const XmlElement& root) {
    for (const XmlElement& cpu : root.children) {
      if (cpu.name == "cpu") add_cpu(cpu);
    }
    for (const XmlElement& cpu : root.children) {
      if (cpu.name == "cpu") add_nvlinks(cpu, system_of(cpu), 0);
    }
    for (const XmlElement& cpu : root.children) {
      if (cpu.name == "cpu") add_c2c(cpu, system_of(cpu), 0);
    }
    for (const XmlElement& cpu : root.children) {
      if (cpu.name == "cpu") add_pci_links(cpu, system_of(cpu), 0);
    }
    flatten_broadcom_switches();
    connect_cpus();
    for (const NodeIndex cpu : s_.of_type(NodeType::kCpu)) sort_links(cpu, std::nullopt);
    pair_links();
  }

 private:
  [[nodiscard]] bool since(NcclVersion version) const { return s_.options_.version >= version; }

  NodeIndex create(NodeType type, std::int32_t system, std::uint64_t id) {
    const auto index = static_cast<NodeIndex>(s_.nodes_.size());
    Node node;
    node.type = type;
    node.system = system;
    node.id = id;
    s_.nodes_.push_back(std::move(node));
    s_.by_type_[static_cast<std::size_t>(type)].push_back(index);
    return index;
  }

  [[nodiscard]] std::optional<NodeIndex> find(NodeType type, std::int32_t system, std::uint64_t id) const {
    for (const NodeIndex index : s_.of_type(type)) {
      if (s_.nodes_[index].system == system && s_.nodes_[index].id == id) return index;
    }
    return std::nullopt;
  }

  // Links to one neighbour add up; a node's links are in falling order of bandwidth, of equals the older first.
  void connect(NodeIndex from, NodeIndex to, LinkType type, float bandwidth) {
    std::vector<LinkIndex>& links = s_.nodes_[from].links;
    auto at = std::ranges::find_if(links, [&](LinkIndex l) { return s_.links_[l].to == to && s_.links_[l].type == type; });
    if (at == links.end()) {
      s_.links_.push_back({.from = from, .to = to, .type = type, .bandwidth = 0, .reverse = 0});
      links.push_back(static_cast<LinkIndex>(s_.links_.size() - 1));
      at = links.end() - 1;
    }
    s_.links_[*at].bandwidth += bandwidth;
    for (; at != links.begin() && s_.links_[*(at - 1)].bandwidth < s_.links_[*at].bandwidth; --at) std::iter_swap(at, at - 1);
  }
  void connect_both(NodeIndex a, NodeIndex b, LinkType type, float bandwidth) {
    connect(a, b, type, bandwidth);
    connect(b, a, type, bandwidth);
  }

  std::int32_t system_of(const XmlElement& cpu) {
    const auto next = static_cast<std::int32_t>(systems_.size());
    return systems_.try_emplace(hex_of(cpu, "host_hash"), next).first->second;
  }

  void add_cpu(const XmlElement& cpu) {
    const std::int32_t system = system_of(cpu);
    const NodeIndex self = create(NodeType::kCpu, system, static_cast<std::uint64_t>(number_of(cpu, "numaid", 0)));
    s_.nodes_[self].cpu = net::cpu_class(cpu);
    std::optional<NodeIndex> virtual_nic;
    for (const XmlElement& child : cpu.children) {
      if (child.name == "pci") add_pci(child, self, system);
      if (child.name == "nic") {
        if (!virtual_nic) {
          virtual_nic = create(NodeType::kNic, system, 0);
          connect_both(self, *virtual_nic, LinkType::kPci, kLocalBandwidth);
        }
        add_nets(child, *virtual_nic, system);
      }
    }
  }

  void add_pci(const XmlElement& pci, NodeIndex parent, std::int32_t system) {
    const std::uint64_t bus = bus_of(pci, "busid");
    const std::int64_t stated = number_of(pci, "link_width", 0);
    // 0 is none stated. What no PCIe link has is taken for that, as topologies are imported.
    const int lanes = stated >= 1 && stated <= kMostPcieLanes ? static_cast<int>(stated) : net::kDefaultPcieLanes;
    const int lane_rate = net::pcie_lane_rate(text_of(pci, "link_speed")).value_or(net::kDefaultPcieLaneRate);
    // models/nccl §1.2: bw = lanes * u / 80.
    const auto bandwidth = static_cast<float>(lanes * lane_rate / 80.0);

    if (const XmlElement* gpu = pci.child("gpu")) {
      if (gpu->find("rank") == nullptr) return;
      const NodeIndex self = create(NodeType::kGpu, system, bus);
      Node& node = s_.nodes_[self];
      node.rank = static_cast<int>(number_of(*gpu, "rank", 0));
      node.dev = static_cast<int>(number_of(*gpu, "dev", 0));
      node.sm = static_cast<int>(number_of(*gpu, "sm", 0));
      node.gdr = number_of(*gpu, "gdr", 0) != 0;
      if (gpu->find("gcn") != nullptr) {
        // Model: AMD's GPUs are tuned, and over several nodes searched, as of compute capability 9.0, not by RCCL's tables.
        node.sm = 90;
        node.xgmi_bandwidth = static_cast<float>(net::xgmi_link(text_of(*gpu, "gcn")).planned_gigabytes_per_second);
      }
      connect_both(self, parent, LinkType::kPci, bandwidth);
    } else if (const XmlElement* nic = pci.child("nic")) {
      // Ports are functions of one device; NCCL merged them into one NIC.
      const std::uint64_t id = since(kFirstWithSeparateNics) ? bus : bus & ~std::uint64_t{0xF};
      const auto known = find(NodeType::kNic, system, id);
      const NodeIndex self = known ? *known : create(NodeType::kNic, system, id);
      add_nets(*nic, self, system);
      if (!known) connect_both(self, parent, LinkType::kPci, bandwidth);
    } else if (net::pci_role(text_of(pci, "class")) == PciRole::kSwitch) {
      const NodeIndex self = create(NodeType::kPci, system, bus);
      std::uint64_t device = 0;
      for (const char* part : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
        device = device << 16 | hex_of(pci, part);
      s_.nodes_[self].pci_device = device;
      for (const XmlElement& child : pci.children) {
        if (child.name == "pci") add_pci(child, self, system);
      }
      connect_both(self, parent, LinkType::kPci, bandwidth);
    }
  }

  void add_nets(const XmlElement& nic, NodeIndex self, std::int32_t system) {
    for (const XmlElement& net : nic.children) {
      // Ports fused into a virtual NIC are marked net="0".
      if (net.name != "net" || net.find("dev") == nullptr || number_of(net, "net", 1) == 0) continue;
      const std::int64_t dev = number_of(net, "dev", 0);
      const NodeIndex index = create(NodeType::kNet, system, static_cast<std::uint64_t>(dev));
      Node& node = s_.nodes_[index];
      std::int64_t megabits = number_of(net, "speed", 0);
      if (megabits <= 0) megabits = 10'000;
      node.dev = static_cast<int>(dev);
      node.bandwidth = static_cast<float>(static_cast<double>(megabits) / 8000.0);
      const std::string_view latency = text_of(net, "latency");
      std::from_chars(latency.data(), latency.data() + latency.size(), node.latency_us);
      node.port = static_cast<int>(number_of(net, "port", 0));
      node.gdr = number_of(net, "gdr", 0) != 0;
      node.max_channels = static_cast<int>(number_of(net, "maxconn", rule(kMaxChannels, s_.options_.version)));
      node.collnet = number_of(net, "coll", 0) != 0;
      node.asic = net.find("guid") != nullptr ? hex_of(net, "guid") : static_cast<std::uint64_t>(dev);
      if (since(kFirstWithRails)) {
        if (net.find("rail") != nullptr) node.rail = static_cast<int>(number_of(net, "rail", 0));
        if (net.find("plane") != nullptr) node.plane = static_cast<int>(number_of(net, "plane", 0));
      }
      connect_both(self, index, LinkType::kNet, node.bandwidth);
    }
  }

  // The CPU above a GPU, over PCIe switches only.
  [[nodiscard]] std::optional<NodeIndex> cpu_above(NodeIndex node, NodeIndex from) const {
    if (s_.nodes_[node].type == NodeType::kCpu) return node;
    for (const LinkIndex l : s_.nodes_[node].links) {
      const Link& link = s_.links_[l];
      const NodeType next = s_.nodes_[link.to].type;
      if (link.type != LinkType::kPci || link.to == from || (next != NodeType::kPci && next != NodeType::kCpu)) continue;
      if (const auto found = cpu_above(link.to, node)) return found;
    }
    return std::nullopt;
  }

  void add_nvlinks(const XmlElement& element, std::int32_t system, std::uint64_t bus) {
    if (element.name == "gpu") {
      const auto gpu = find(NodeType::kGpu, system, bus);
      if (!gpu) return;
      const float per_link = s_.gpu_link_bandwidth(*gpu);
      for (const XmlElement& nvlink : element.children) {
        if (nvlink.name != "nvlink" && nvlink.name != "xgmi") continue;
        const float bandwidth = static_cast<float>(number_of(nvlink, "count", 0)) * per_link;
        switch (net::pci_role(text_of(nvlink, "tclass"))) {
          case PciRole::kGpu:
            if (const auto peer = find(NodeType::kGpu, system, bus_of(nvlink, "target")))
              connect(*gpu, *peer, LinkType::kNvl, bandwidth);
            break;
          case PciRole::kCpuBridge:
            if (const auto cpu = cpu_above(*gpu, *gpu)) connect_both(*gpu, *cpu, LinkType::kNvl, bandwidth);
            break;
          default: {
            const auto switches = s_.of_type(NodeType::kNvs);
            connect_both(*gpu, switches.empty() ? create(NodeType::kNvs, 0, 0) : switches.front(), LinkType::kNvl, bandwidth);
          }
        }
      }
      return;
    }
    const std::uint64_t own = element.find("busid") != nullptr ? bus_of(element, "busid") : bus;
    for (const XmlElement& child : element.children) add_nvlinks(child, system, own);
  }

  void add_c2c(const XmlElement& element, std::int32_t system, std::uint64_t bus) {
    if (element.name == "c2c") {
      const auto gpu = find(NodeType::kGpu, system, bus);
      const auto cpu = gpu ? cpu_above(*gpu, *gpu) : std::nullopt;
      const auto bandwidth =
          static_cast<float>(static_cast<double>(number_of(element, "bw", 0) * number_of(element, "count", 0)) / 1000.0);
      if (cpu) connect_both(*gpu, *cpu, LinkType::kC2c, bandwidth);
      return;
    }
    const std::uint64_t own = element.find("busid") != nullptr ? bus_of(element, "busid") : bus;
    for (const XmlElement& child : element.children) add_c2c(child, system, own);
  }

  void add_pci_links(const XmlElement& element, std::int32_t system, std::uint64_t bus) {
    if (element.name == "pcilink") {
      const auto from = find(NodeType::kPci, system, bus);
      const auto to = find(NodeType::kPci, system, bus_of(element, "target"));
      if (from && to) connect(*from, *to, LinkType::kLoc, kLocalBandwidth);
      return;
    }
    const std::uint64_t own = element.find("busid") != nullptr ? bus_of(element, "busid") : bus;
    for (const XmlElement& child : element.children) add_pci_links(child, system, own);
  }

  // Both levels of a Broadcom switch pass full bandwidth between all ports, so they become one node.
  void flatten_broadcom_switches() {
    std::vector<NodeIndex>& switches = s_.by_type_[static_cast<std::size_t>(NodeType::kPci)];
    for (std::size_t i = 0; i < switches.size(); ++i) {
      const NodeIndex top = switches[i];
      const int generation = broadcom_generation(s_.nodes_[top].pci_device, 0);
      if (generation == 0) continue;
      std::vector<NodeIndex> subs;
      std::erase_if(s_.nodes_[top].links, [&](LinkIndex l) {
        const NodeIndex sub = s_.links_[l].to;
        if (s_.nodes_[sub].type != NodeType::kPci || broadcom_generation(s_.nodes_[sub].pci_device, 1) != generation)
          return false;
        subs.push_back(sub);
        return true;
      });
      for (const NodeIndex sub : subs) {
        for (const LinkIndex l : s_.nodes_[sub].links) {
          const NodeIndex below = s_.links_[l].to;
          if (below == top) continue;
          s_.links_[l].from = top;
          s_.nodes_[top].links.push_back(l);
          for (const LinkIndex up : s_.nodes_[below].links) {
            if (s_.links_[up].to == sub) {
              s_.links_[up].to = top;
              break;
            }
          }
        }
        s_.nodes_[sub].links.clear();
        std::erase(switches, sub);
      }
      s_.nodes_[top].pci_device |= 0xFFFF;  // no further merging with this one
      i = static_cast<std::size_t>(-1);     // the list has changed
    }
  }

  void connect_cpus() {
    for (const NodeIndex a : s_.of_type(NodeType::kCpu)) {
      for (const NodeIndex b : s_.of_type(NodeType::kCpu)) {
        if (a == b || s_.nodes_[a].system != s_.nodes_[b].system) continue;
        net::CpuClass cpu = s_.nodes_[a].cpu;
        const bool newer = cpu.model == net::CpuModel::kSapphireRapids || cpu.model == net::CpuModel::kEmeraldRapids;
        if (!since(kFirstWithSapphireRapids) && newer) cpu.model = net::CpuModel::kSkylake;
        const bool unlimited =
            !since(kFirstWithAmdSockets) && cpu.arch == net::CpuArch::kX86 && cpu.vendor == net::CpuVendor::kAmd;
        connect(a, b, LinkType::kSys,
                unlimited ? kLocalBandwidth : static_cast<float>(net::inter_socket_gigabytes_per_second(cpu)));
      }
    }
  }

  // The way up goes last, after NVLinks and the way down.
  void sort_links(NodeIndex node, std::optional<NodeIndex> up) {
    std::vector<LinkIndex>& links = s_.nodes_[node].links;
    if (up) {
      const auto at = std::ranges::find_if(links, [&](LinkIndex l) { return s_.links_[l].to == *up; });
      if (at != links.end()) std::rotate(at, at + 1, links.end());
    }
    for (const LinkIndex l : links) {
      if (s_.links_[l].type == LinkType::kPci && s_.links_[l].to != up) sort_links(s_.links_[l].to, node);
    }
  }

  void pair_links() {
    for (const Node& node : s_.nodes_) {
      for (const LinkIndex l : node.links) {
        Link& link = s_.links_[l];
        const std::vector<LinkIndex>& back = s_.nodes_[link.to].links;
        const auto found = std::ranges::find_if(
            back, [&](LinkIndex b) { return s_.links_[b].to == link.from && s_.links_[b].type == link.type; });
        if (found == back.end()) {
          throw ConfigError(fmt::format("NCCL topology: {} from {} to {} has no link back", to_string(link.type),
                                        s_.name(link.from), s_.name(link.to)));
        }
        link.reverse = *found;
      }
    }
  }

  System& s_;
  std::map<std::uint64_t, std::int32_t> systems_;
};

std::string_view to_string(NodeType type) {
  constexpr std::string_view kNames[] = {"GPU", "PCI", "NVS", "CPU", "NIC", "NET"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(LinkType type) {
  constexpr std::string_view kNames[] = {"LOC", "NVL", "C2C", "PCI", "SYS", "NET"};
  return kNames[static_cast<std::size_t>(type)];
}

float System::nvlink_bandwidth(int sm, NcclVersion version) {
  if (sm >= 100 && version >= kFirstWithSm100) return rule(kNvlinkSm100, version);
  if (sm >= 90) return rule(kNvlinkSm90, version);
  if (sm == 86) return 12.0F;
  if (sm >= 70 || sm < 60) return 20.0F;
  return 18.0F;
}

float System::gpu_link_bandwidth(NodeIndex gpu) const {
  const Node& node = nodes_[gpu];
  return node.xgmi_bandwidth > 0 ? node.xgmi_bandwidth : nvlink_bandwidth(node.sm, options_.version);
}

System System::of_host(const net::Topology& topology, std::size_t host, const SystemOptions& options) {
  return System{net::nccl_xml_tree(topology, host), options};
}

System::System(const net::XmlElement& topology_xml, const SystemOptions& options) : options_{options} {
  SystemBuilder{*this}.build(topology_xml);
  if (gpus().empty()) throw ConfigError("NCCL topology: no GPU with a rank");
  paths_.resize(nodes_.size() * nodes_.size());
  compute_paths();
  compute_bandwidths();
}

void System::compute_bandwidths() {
  if (!options_.several_nodes && gpus().size() == 1) {
    max_bandwidth_ = total_bandwidth_ = kLocalBandwidth;
    return;
  }
  for (const NodeIndex gpu : gpus()) {
    for (const NodeIndex to : options_.several_nodes ? nets() : gpus()) {
      if (!path(gpu, to).links.empty()) max_bandwidth_ = std::max(max_bandwidth_, path(gpu, to).bandwidth);
    }
    float nvlink = 0;
    float pcie = 0;
    for (const LinkIndex l : nodes_[gpu].links) {
      if (links_[l].type == LinkType::kNvl) nvlink += links_[l].bandwidth;
      if (links_[l].type == LinkType::kPci) pcie = links_[l].bandwidth;
    }
    total_bandwidth_ = std::max({total_bandwidth_, nvlink, pcie});
  }
}

}  // namespace weft::coll::nccl
