#include "sim/network/node_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/config/quantity.h"
#include "sim/network/import/nccl_xml.h"
#include "sim/network/link_type.h"
#include "sim/network/wiring.h"

namespace weft::net {
namespace {

constexpr std::int64_t kMostOfAKind = 1 << 20;  // as NCCL's topology files may count
constexpr std::array kKinds{DeviceKind::kGpu, DeviceKind::kNvSwitch, DeviceKind::kPcieSwitch, DeviceKind::kCpu,
                            DeviceKind::kNic, DeviceKind::kHost,     DeviceKind::kStorage};

// Switches pass packets on as fast as switches of the links they join; a CPU does so through its root complex.
void set_forwarding(std::vector<ListedDevice>& devices, const std::vector<ListedLinks>& links, const Profile& profile) {
  const Duration root_complex = profile.get(host_forwarding_params).root_complex_latency;
  for (ListedDevice& device : devices) {
    if (device.device.kind == DeviceKind::kCpu && !device.states_latency) device.device.forwarding.latency = root_complex;
  }
  std::vector<bool> seen(devices.size(), false);
  for (const ListedLinks& entry : links) {
    const LinkType* type = find_link_type(entry.spec.type);
    const auto set = [&](std::uint32_t index) {
      ListedDevice& listed = devices[index];
      const bool forwards = listed.device.kind == DeviceKind::kNvSwitch || listed.device.kind == DeviceKind::kPcieSwitch;
      if (!forwards || seen[index]) return;
      seen[index] = true;
      // The decision needs the packet's header only.
      listed.device.forwarding.header = std::max(entry.spec.overhead, Bytes{16});
      if (!listed.states_latency) listed.device.forwarding.latency = type->switch_latency(profile);
    };
    for (const auto& [a, b] : entry.cables) {
      set(a);
      set(b);
    }
  }
}

// Which devices are of one OS host: those that anything but NVLink joins. NVML and network plugins count from 0 on each.
std::vector<std::size_t> os_hosts(std::size_t devices, const std::vector<ListedLinks>& links) {
  std::vector<std::size_t> parent(devices);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const ListedLinks& entry : links) {
    const LinkType* type = find_link_type(entry.spec.type);
    if (type == nullptr || type->medium() == LinkMedium::kNvlink) continue;
    for (const auto& [a, b] : entry.cables) parent[std::max(root(a), root(b))] = std::min(root(a), root(b));
  }
  for (std::size_t i = 0; i < devices; ++i) parent[i] = root(i);
  return parent;
}

std::optional<std::uint64_t> small_number(std::string_view text) {
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number || *number < 0 || *number >= kMostOfAKind) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// NCCL tells devices apart by these: a GPU's rank in the node, the number of a GPU or NIC on its OS host, and bus ids.
void check_identities(const std::vector<ListedDevice>& devices, const std::vector<ListedLinks>& links,
                      Diagnostics& diagnostics) {
  const std::vector<std::size_t> hosts = os_hosts(devices.size(), links);
  std::map<std::tuple<std::string_view, DeviceKind, std::size_t, std::uint64_t>, std::string> taken;
  std::int64_t gpus = 0;  // a GPU that states no rank has its number
  const auto check = [&](std::size_t i, std::string_view key, DeviceKind of, std::size_t host) {
    const TemplateDevice& device = devices[i].device;
    const std::string* stated = find_label(device.labels, key);
    if (stated == nullptr && key != "rank") return true;
    const std::string value = stated == nullptr ? fmt::format("{}", gpus) : *stated;
    const ConfigNode at = devices[i].node.find(key).value_or(devices[i].node);
    // As NCCL reads them: however a bus id is written.
    const std::optional<std::uint64_t> number = key == "bus_id" ? bus_id_number(value) : small_number(value);
    if (!number) {
      const std::string expected =
          key == "bus_id" ? std::string{"a bus id such as 0000:1b:00.0"} : fmt::format("0 to {}", kMostOfAKind - 1);
      report(diagnostics, at, fmt::format("'{}': expected {}, got {}", device.name, expected, value));
      return false;
    }
    // All NVSwitches of a board may have the one that NCCL cannot name.
    if (device.kind == DeviceKind::kNvSwitch) return true;
    const auto [first, is_new] = taken.try_emplace({key, of, host, *number}, device.name);
    if (!is_new) report(diagnostics, at, fmt::format("'{}' and '{}' both have {} {}", first->second, device.name, key, value));
    return is_new;
  };
  constexpr std::size_t kWholeNode = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceKind kind = devices[i].device.kind;
    if (kind == DeviceKind::kGpu && !check(i, "rank", kind, kWholeNode)) return;
    if ((kind == DeviceKind::kGpu || kind == DeviceKind::kNic) && !check(i, "dev", kind, hosts[i])) return;
    gpus += kind == DeviceKind::kGpu ? 1 : 0;
    if (!check(i, "bus_id", DeviceKind::kGpu, hosts[i])) return;
  }
}

// GPUs that no link reaches, by name.
void check_connected(const HostTemplate& made, const ParamReader& params, Diagnostics& diagnostics) {
  if (made.devices.size() < 2) return;
  std::vector<bool> joined(made.devices.size(), false);
  for (const TemplateLink& link : made.links) joined[link.from] = true;
  std::string alone;
  int count = 0;
  for (std::size_t i = 0; i < made.devices.size(); ++i) {
    if (joined[i] || made.devices[i].kind != DeviceKind::kGpu) continue;
    if (++count <= 8) alone += (alone.empty() ? "" : ", ") + made.devices[i].name;
  }
  if (count == 0) return;
  if (count > 8) alone += fmt::format(" and {} more", count - 8);
  diagnostics.error(params.node().diagnostic(fmt::format("{}: disconnected GPUs: no link joins {}", params.path(), alone)));
}

}  // namespace

const ParamGroup<HostForwarding> host_forwarding_params{
    "network.host",
    "forwarding inside a host",
    {param("root_complex_latency", &HostForwarding::root_complex_latency,
           {.max = Duration::from_us(1'000),
            .source = ParamSource::kLiterature,
            .reference = "models/network §1.4, 200 to 400 ns",
            .description = "PCIe peer to peer through a CPU's root complex"})}};

HostTemplate read_node_template(const ConfigNode& node, const std::string& name, const Profile& profile,
                                TopologyBuilder& builder, Diagnostics& diagnostics) {
  ParamReader params{node, diagnostics};
  static_cast<void>(params.choice("kind", {"node"}, "node"));
  HostTemplate made;
  made.name = params.optional<std::string>("name", name);
  static_cast<void>(params.optional<std::string>("description", ""));

  const std::size_t errors_before = diagnostics.errors().size();
  std::vector<ListedDevice> devices = read_devices(params, kKinds);
  std::map<std::string, std::uint32_t, std::less<>> index;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    index.emplace(devices[i].device.name, static_cast<std::uint32_t>(i));
    names.push_back(devices[i].device.name);
  }
  const ResolveName resolve = [&](std::string_view wanted) -> std::optional<std::uint32_t> {
    const auto found = index.find(wanted);
    return found == index.end() ? std::nullopt : std::optional{found->second};
  };
  const std::vector<ListedLinks> links = read_links(params, profile, resolve, names);
  params.finish();
  check_ports(devices, 0, links, diagnostics);
  set_forwarding(devices, links, profile);

  if (diagnostics.errors().size() == errors_before) check_identities(devices, links, diagnostics);
  for (ListedDevice& device : devices) made.devices.push_back(std::move(device.device));
  for (const ListedLinks& entry : links) {
    if (entry.one_way) report(diagnostics, *entry.node.find("direction"), "links inside a node go both ways");
    if (const auto weight = entry.node.find("weight")) report(diagnostics, *weight, "flows are weighed between hosts only");
    const std::uint32_t spec = builder.add_spec(entry.spec);
    for (const auto& [a, b] : entry.cables) {
      const auto there = static_cast<std::uint32_t>(made.links.size());
      made.links.push_back({.from = a, .to = b, .spec = spec, .twin = there + 1, .labels = {}});
      made.links.push_back({.from = b, .to = a, .spec = spec, .twin = there, .labels = {}});
    }
  }
  if (diagnostics.errors().size() == errors_before) {
    if (made.of_kind(DeviceKind::kGpu).empty() && made.of_kind(DeviceKind::kHost).empty()) {
      params.error_here("has neither GPUs nor a host: nothing could hold a rank");
    }
    check_connected(made, params, diagnostics);
  }
  return made;
}

void replace_gpus(HostTemplate& host, const std::shared_ptr<const GpuSpec>& gpu) {
  for (TemplateDevice& device : host.devices) {
    if (device.kind != DeviceKind::kGpu) continue;
    std::erase_if(device.labels, [](const auto& label) {
      return label.first == "model" || label.first == "sm" || label.first == "gcn" || label.first == "memory";
    });
    set_gpu(device, gpu);
  }
}

}  // namespace weft::net
