#include "sim/scenario/topology_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/network/link_type.h"

namespace weft::scenario {
namespace {

using net::DeviceKind;

std::string stem(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  return name.substr(0, digits == std::string::npos ? 0 : digits + 1);
}

std::vector<SwitchCount> count_switches(const net::Topology& topology) {
  std::map<std::pair<std::string, std::string>, SwitchCount> counts;
  for (const DeviceId device : topology.fabric_switches()) {
    const std::string tier{net::label_of(topology.labels(device), "tier")};
    const std::string name = stem(topology.name(device));
    SwitchCount& count = counts[{tier, name}];
    count.name = name;
    count.tier = tier;
    ++count.switches;
    count.ports = std::max(count.ports, static_cast<std::int64_t>(topology.out_links(device).size()));
  }
  std::vector<SwitchCount> switches;
  for (auto& [key, count] : counts) switches.push_back(std::move(count));
  return switches;
}

// How many bonded links a GPU sends over towards another device of its host.
int bonded_links(const net::Router& router, DeviceId from, DeviceId to, bool& infinity_fabric) {
  std::vector<net::NextHop> hops;
  router.next_hops(from, from, to, {}, hops);
  int width = 0;
  for (const net::NextHop& hop : hops) {
    const net::LinkSpec& spec = router.topology().spec(hop.link);
    width += spec.width;
    infinity_fabric |= spec.type == "infinity_fabric";
  }
  return width;
}

std::string path_cell(const net::Router& router, DeviceId from, DeviceId to) {
  if (from == to) return "X";
  const net::PathClass path_class = router.path_class(from, to);
  if (path_class != net::PathClass::kNvl) return std::string{net::to_string(path_class)};
  bool infinity_fabric = false;
  const int width = bonded_links(router, from, to, infinity_fabric);
  return infinity_fabric ? "XGMI" : fmt::format("NV{}", width);
}

}  // namespace

TopologySummary summarize(const net::Topology& topology) {
  TopologySummary summary;
  summary.endpoints = static_cast<std::int64_t>(topology.endpoints().size());
  summary.all_devices = static_cast<std::int64_t>(topology.device_count());
  summary.all_cables = static_cast<std::int64_t>(topology.link_count() / 2);

  std::map<std::uint32_t, std::int64_t> hosts_of;  // template -> hosts
  for (std::size_t i = 0; i < topology.host_count(); ++i) ++hosts_of[topology.host(i).host_template];
  std::map<DeviceKind, std::int64_t> kinds;
  std::map<std::uint32_t, std::int64_t> inside;  // spec -> directed links
  std::map<std::uint32_t, std::int64_t> outside;
  std::size_t host_links = 0;
  for (const auto& [index, hosts] : hosts_of) {
    const net::HostTemplate& t = topology.host_template(index);
    summary.hosts.emplace_back(t.name, hosts);
    for (const net::TemplateDevice& device : t.devices) kinds[device.kind] += hosts;
    for (const net::TemplateLink& link : t.links) inside[link.spec] += hosts;
    host_links += static_cast<std::size_t>(hosts) * t.links.size();
  }
  summary.devices.assign(kinds.begin(), kinds.end());
  // Links of hosts come first (topology.h).
  for (std::size_t i = host_links; i < topology.link_count(); ++i) {
    const net::Link& link = topology.link(LinkId::from_index(i));
    ++outside[link.spec];
    if (topology.host_of(link.from) == 0) {
      ++summary.host_ports;
      summary.host_bandwidth = summary.host_bandwidth + topology.spec(LinkId::from_index(i)).rate;
    }
  }
  for (const auto& [spec, links] : inside) summary.cables.push_back({topology.spec_at(spec), true, links / 2});
  for (const auto& [spec, links] : outside) summary.cables.push_back({topology.spec_at(spec), false, links / 2});
  summary.switches = count_switches(topology);
  return summary;
}

PathMatrix path_matrix(const net::Router& router, std::size_t host) {
  const net::Topology& topology = router.topology();
  const net::HostTemplate& t = topology.template_of_host(host);
  std::vector<std::uint32_t> devices = t.of_kind(DeviceKind::kGpu);
  const std::vector<std::uint32_t> nics = t.of_kind(DeviceKind::kNic);
  devices.insert(devices.end(), nics.begin(), nics.end());
  PathMatrix matrix;
  for (const std::uint32_t row : devices) {
    matrix.names.push_back(t.devices[row].name);
    std::vector<std::string>& cells = matrix.cells.emplace_back();
    for (const std::uint32_t column : devices) {
      cells.push_back(path_cell(router, topology.device_of(host, row), topology.device_of(host, column)));
    }
  }
  return matrix;
}

RouteView view_route(const net::Topology& topology, std::string_view routing, std::uint64_t seed, DeviceId source,
                     DeviceId destination) {
  const net::Router taken{topology, net::make_routing_policy(routing), seed};
  const net::Router all{topology, net::make_routing_policy("spray"), seed};  // answers with every link of equal cost
  RouteView view;
  view.path_class = taken.path_class(source, destination);
  view.footprint = taken.route(source, destination, {});
  std::map<ResourceId, double> usage;
  for (const Usage& entry : view.footprint.usages) usage[entry.resource] = entry.usage;

  std::vector<DeviceId> wave;
  if (source != destination) wave.push_back(source);
  std::vector<net::NextHop> hops;
  while (!wave.empty()) {
    WEFT_CHECK(view.hops.size() < topology.device_count());
    std::vector<DeviceId> next;
    std::vector<RouteLink>& links = view.hops.emplace_back();
    for (const DeviceId at : wave) {
      hops.clear();
      taken.next_hops(at, source, destination, {}, hops);
      const std::vector<net::NextHop> chosen = hops;
      hops.clear();
      all.next_hops(at, source, destination, {}, hops);
      for (const net::NextHop& hop : hops) {
        const auto used = usage.find(ResourceId{hop.link.value()});
        const auto choice = std::ranges::find(chosen, hop.link, &net::NextHop::link);
        const bool is_used = choice != chosen.end() && used != usage.end();
        links.push_back({hop.link, is_used ? choice->weight : 0, is_used ? used->second : 0});
        const DeviceId to = topology.link(hop.link).to;
        if (to != destination) next.push_back(to);
      }
    }
    std::ranges::sort(next);
    next.erase(std::ranges::unique(next).begin(), next.end());
    wave = std::move(next);
  }

  view.bytes_per_ps = std::numeric_limits<double>::infinity();
  for (const Usage& entry : view.footprint.usages) {
    const LinkId link{entry.resource.value()};
    const double alone = topology.spec(link).capacity() / entry.usage;
    if (alone >= view.bytes_per_ps) continue;
    view.bytes_per_ps = alone;
    view.bottleneck = link;
  }
  return view;
}

DeviceId find_endpoint(const net::Topology& topology, const std::string& name) {
  const std::vector<DeviceId>& endpoints = topology.endpoints();
  if (const auto number = parse_integer(name); number && *number >= 0 && static_cast<std::size_t>(*number) < endpoints.size()) {
    return endpoints[static_cast<std::size_t>(*number)];
  }
  const auto device = topology.find(name);
  if (device && std::ranges::find(endpoints, *device) != endpoints.end()) return *device;
  std::vector<std::string> names;  // of the first hosts: enough to show how names are made
  constexpr std::size_t kNames = 1'000;
  for (std::size_t i = 0; i < std::min(endpoints.size(), kNames); ++i) names.push_back(topology.name(endpoints[i]));
  const std::string near = nearest(name, names);
  const std::string range = endpoints.empty() ? std::string{"this topology has no endpoints"}
                                              : fmt::format("endpoints here: {} to {}, or their numbers 0 to {}", names.front(),
                                                            topology.name(endpoints.back()), endpoints.size() - 1);
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("{} '{}'", device ? "not an endpoint:" : "no endpoint", name),
                                .source_line = {},
                                .length = 1,
                                .note = near.empty() ? range : fmt::format("did you mean '{}'? {}", near, range)}});
}

}  // namespace weft::scenario
