#include "sim/planning/cost/bill_of_materials.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/network/gpu_spec.h"

namespace weft::plan {
namespace {

using net::DeviceKind;

constexpr int kNode = -1;
constexpr int kNoTier = 1'000;  // behind every tier that has a number

struct Tier {
  int level = kNoTier;
  std::string name;
  auto operator<=>(const Tier&) const = default;
};

// Fabrics call their tiers by number; the names differ ("edge" of a fat tree, "leaf" of a leaf-spine) and mean the same.
Tier tier_of(const net::Topology& topology, DeviceId device) {
  if (topology.host_of(device) >= 0) return {kNode, "node"};
  const std::string_view label = net::label_of(topology.labels(device), "tier");
  if (label == "0") return {0, "leaf"};
  if (label == "1") return {1, "spine"};
  if (label == "2") return {2, "core"};
  const std::string name = topology.name(device);
  return {kNoTier, name.substr(0, name.find_last_not_of("0123456789") + 1)};
}

ServerLine server_of(const net::HostTemplate& t) {
  ServerLine line;
  line.model = t.name;
  for (const net::TemplateDevice& device : t.devices) {
    line.gpus += device.kind == DeviceKind::kGpu ? 1 : 0;
    line.nvswitches += device.kind == DeviceKind::kNvSwitch ? 1 : 0;
    line.pcie_switches += device.kind == DeviceKind::kPcieSwitch ? 1 : 0;
    line.cpus += device.kind == DeviceKind::kCpu ? 1 : 0;
    line.nics += device.kind == DeviceKind::kNic ? 1 : 0;
    if (device.gpu == nullptr || !line.gpu.empty()) continue;
    line.gpu = device.gpu->name;
    line.gpu_watts = device.gpu->tdp_watts;
  }
  return line;
}

// A host's line, with the cables of the first host of each template.
std::vector<ServerLine> count_servers(const net::Topology& topology, std::vector<std::size_t>& first_host) {
  std::vector<ServerLine> lines;
  std::map<std::uint32_t, std::size_t> index;
  for (std::size_t host = 0; host < topology.host_count(); ++host) {
    const std::uint32_t of = topology.host(host).host_template;
    const auto [known, is_new] = index.try_emplace(of, lines.size());
    if (is_new) {
      lines.push_back(server_of(topology.host_template(of)));
      first_host.push_back(host);
    }
    ++lines[known->second].count;
  }
  return lines;
}

std::vector<SwitchLine> switch_lines(const net::Topology& topology) {
  using Key = std::tuple<Tier, std::string, std::int64_t>;
  std::map<Key, SwitchLine> lines;
  for (const DeviceId device : topology.fabric_switches()) {
    const net::LinkSpec* fastest = nullptr;
    for (const LinkId link : topology.out_links(device)) {
      const net::LinkSpec& spec = topology.spec(link);
      if (fastest == nullptr || spec.rate > fastest->rate) fastest = &spec;
    }
    const Tier tier = tier_of(topology, device);
    const std::string type = fastest == nullptr ? std::string{} : fastest->type;
    const Bandwidth rate = fastest == nullptr ? Bandwidth{} : fastest->rate;
    SwitchLine& line = lines[{tier, type, rate.bits_per_second()}];
    line.tier = tier.name;
    line.type = type;
    line.rate = rate;
    const auto ports = static_cast<std::int64_t>(topology.out_links(device).size());
    line.ports = std::max(line.ports, ports);
    line.ports_used += ports;
    ++line.count;
  }
  std::vector<SwitchLine> ordered;
  for (auto& [key, line] : lines) ordered.push_back(std::move(line));
  return ordered;
}

}  // namespace

BillOfMaterials bill_of_materials(const net::Topology& topology) {
  BillOfMaterials bill;
  std::vector<std::size_t> first_host;
  bill.servers = count_servers(topology, first_host);
  bill.switches = switch_lines(topology);

  // Links of hosts come first (topology.h); of what follows, each cable is two links.
  std::size_t host_links = 0;
  for (std::size_t host = 0; host < topology.host_count(); ++host) host_links += topology.template_of_host(host).links.size();
  using Key = std::tuple<Tier, Tier, std::string, std::int64_t>;
  std::map<Key, CableLine> lines;
  for (std::size_t i = host_links; i < topology.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const net::Link& link = topology.link(id);
    const std::int32_t host = topology.host_of(link.from);
    const net::LinkSpec& spec = topology.spec(id);
    for (std::size_t s = 0; s < first_host.size(); ++s) {
      if (host < 0 || static_cast<std::size_t>(host) != first_host[s]) continue;
      ++bill.servers[s].fabric_ports;
      bill.servers[s].port_rate = std::max(bill.servers[s].port_rate, spec.rate);
    }
    if (link.twin < id) continue;
    Tier low = tier_of(topology, link.from);
    Tier high = tier_of(topology, link.to);
    if (high < low) std::swap(low, high);
    CableLine& line = lines[{low, high, spec.type, spec.rate.bits_per_second()}];
    line.tiers = low.name + "-" + high.name;
    line.type = spec.type;
    line.rate = spec.rate;
    line.at_node = low.level == kNode;
    ++line.count;
  }
  for (auto& [key, line] : lines) bill.cables.push_back(std::move(line));
  return bill;
}

std::int64_t BillOfMaterials::server_count() const {
  std::int64_t sum = 0;
  for (const ServerLine& line : servers) sum += line.count;
  return sum;
}

std::int64_t BillOfMaterials::gpus() const {
  std::int64_t sum = 0;
  for (const ServerLine& line : servers) sum += line.count * line.gpus;
  return sum;
}

std::int64_t BillOfMaterials::nics() const {
  std::int64_t sum = 0;
  for (const ServerLine& line : servers) sum += line.count * line.nics;
  return sum;
}

std::int64_t BillOfMaterials::nvswitches() const {
  std::int64_t sum = 0;
  for (const ServerLine& line : servers) sum += line.count * line.nvswitches;
  return sum;
}

std::int64_t BillOfMaterials::switch_count() const {
  std::int64_t sum = 0;
  for (const SwitchLine& line : switches) sum += line.count;
  return sum;
}

std::int64_t BillOfMaterials::cable_count() const {
  std::int64_t sum = 0;
  for (const CableLine& line : cables) sum += line.count;
  return sum;
}

std::int64_t BillOfMaterials::switches_of(std::string_view tier) const {
  std::int64_t sum = 0;
  for (const SwitchLine& line : switches) sum += line.tier == tier ? line.count : 0;
  return sum;
}

std::int64_t BillOfMaterials::cables_of(std::string_view tiers) const {
  std::int64_t sum = 0;
  for (const CableLine& line : cables) sum += line.tiers == tiers ? line.count : 0;
  return sum;
}

}  // namespace weft::plan
