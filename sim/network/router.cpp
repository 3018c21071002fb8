#include "sim/network/router.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/network/routing/fabric_routes.h"
#include "sim/network/routing/host_routes.h"

namespace weft::net {

void Footprint::couple(const Footprint& other) {
  paths.insert(paths.end(), other.paths.begin(), other.paths.end());
  usages.insert(usages.end(), other.usages.begin(), other.usages.end());
  std::ranges::stable_sort(usages, {}, &Usage::resource);  // stable: sums keep one order
  std::size_t kept = 0;
  for (std::size_t i = 0; i < usages.size(); ++i) {
    if (kept > 0 && usages[kept - 1].resource == usages[i].resource) {
      usages[kept - 1].usage += usages[i].usage;
    } else {
      usages[kept++] = usages[i];
    }
  }
  usages.resize(kept);
  latency = std::max(latency, other.latency);
  fill = std::max(fill, other.fill);
  fill_packet = std::max(fill_packet, other.fill_packet);
}

// Which NICs a pair of endpoints uses. Both invalid: the route stays inside the host.
struct Router::Plan {
  DeviceId nic_a;
  DeviceId nic_b;
};

Router::Router(const Topology& topology, std::unique_ptr<RoutingPolicy> policy, std::uint64_t seed,
               std::shared_ptr<const HostRoutes> hosts)
    : topology_{&topology},
      hosts_{hosts != nullptr ? std::move(hosts) : std::make_shared<const HostRoutes>(topology)},
      fabric_{std::make_unique<FabricRoutes>(topology, std::move(policy), seed)} {}

Router::~Router() = default;

const Topology& Router::topology() const { return *topology_; }

DeviceId Router::nic_of(DeviceId gpu) const {
  if (topology_->kind(gpu) == DeviceKind::kHost || topology_->kind(gpu) == DeviceKind::kNic) return gpu;
  const auto host = static_cast<std::size_t>(topology_->host_of(gpu));
  if (topology_->kind(gpu) != DeviceKind::kGpu) return {};
  const auto nic = hosts_->nic_of(topology_->host(host).host_template, topology_->local(gpu));
  return nic ? topology_->device_of(host, *nic) : DeviceId{};
}

DeviceId Router::leaf_of(DeviceId gpu) const {
  if (topology_->kind(gpu) != DeviceKind::kGpu) return {};
  const DeviceId nic = nic_of(gpu);
  if (!nic.valid() || topology_->uplinks(nic).empty()) return {};
  return topology_->link(topology_->uplinks(nic).front()).to;
}

std::optional<DeviceId> Router::host_memory(DeviceId device) const {
  const auto host = static_cast<std::size_t>(topology_->host_of(device));
  const std::uint32_t host_template = topology_->host(host).host_template;
  std::optional<DeviceId> nearest;
  std::pair<PathClass, std::size_t> best{PathClass::kDis, 0};
  for (const std::uint32_t cpu : topology_->host_template(host_template).of_kind(DeviceKind::kCpu)) {
    const RouteFragment* fragment = hosts_->find(host_template, topology_->local(device), cpu);
    if (fragment == nullptr) continue;
    const std::pair distance{fragment->path_class, fragment->links.size()};
    if (nearest && distance >= best) continue;
    nearest = topology_->device_of(host, cpu);
    best = distance;
  }
  return nearest;
}

std::optional<Router::Plan> Router::find_plan(DeviceId source, DeviceId destination, std::string* why) const {
  if (topology_->host_of(source) == topology_->host_of(destination)) return Plan{};
  Plan plan{nic_of(source), nic_of(destination)};
  const auto unreachable = [&](std::string_view reason) {
    if (why != nullptr) {
      *why = fmt::format("no route from '{}' to '{}': {}", topology_->name(source), topology_->name(destination), reason);
    }
    return std::nullopt;
  };
  if (!plan.nic_a.valid()) return unreachable(fmt::format("'{}' has no path to a NIC of its host", topology_->name(source)));
  if (!plan.nic_b.valid())
    return unreachable(fmt::format("'{}' has no path to a NIC of its host", topology_->name(destination)));
  if (fabric_->joined(plan.nic_a, plan.nic_b)) return plan;
  // Rails that no spine joins: leave by the NIC on the destination's rail; failing that, enter by another of its NICs.
  const auto nics_of = [&](DeviceId endpoint) {
    const auto host = static_cast<std::size_t>(topology_->host_of(endpoint));
    const std::uint32_t host_template = topology_->host(host).host_template;
    std::vector<DeviceId> nics;
    for (const std::uint32_t nic : topology_->host_template(host_template).of_kind(DeviceKind::kNic)) {
      const std::uint32_t local = topology_->local(endpoint);
      const bool sends = endpoint == source;
      if (hosts_->find(host_template, sends ? local : nic, sends ? nic : local) != nullptr)
        nics.push_back(topology_->device_of(host, nic));
    }
    return nics;
  };
  const std::vector<DeviceId> leaving = nics_of(source);
  for (const DeviceId candidate : leaving) {
    if (fabric_->joined(candidate, plan.nic_b)) return Plan{candidate, plan.nic_b};
  }
  for (const DeviceId entering : nics_of(destination)) {
    for (const DeviceId candidate : leaving) {
      if (fabric_->joined(candidate, entering)) return Plan{candidate, entering};
    }
  }
  return unreachable("the fabric does not join their hosts");
}

Router::Plan Router::plan(DeviceId source, DeviceId destination) const {
  std::string why;
  const std::optional<Plan> found = find_plan(source, destination, &why);
  if (!found) throw ConfigError(why);
  return *found;
}

std::span<const LinkId> Router::links_towards(DeviceId at, DeviceId nic) const { return fabric_->links_towards(at, nic); }

DeviceId Router::entry_nic(DeviceId source, DeviceId destination) const { return plan(source, destination).nic_b; }

const RoutingPolicy& Router::policy() const { return fabric_->policy(); }

void Router::set_link_state(LinkId link, bool up) { fabric_->set_link_state(link, up); }

std::vector<LinkId> Router::links_down() const { return fabric_->links_down(); }

std::uint32_t RoutingPolicy::pick(const RoutingChoice& /*choice*/) const { return 0; }

PathClass Router::path_class(DeviceId source, DeviceId destination) const {
  if (topology_->host_of(source) != topology_->host_of(destination)) return PathClass::kNet;
  const auto host = static_cast<std::size_t>(topology_->host_of(source));
  const RouteFragment* fragment =
      hosts_->find(topology_->host(host).host_template, topology_->local(source), topology_->local(destination));
  return fragment == nullptr ? PathClass::kDis : fragment->path_class;
}

Footprint Router::route(DeviceId source, DeviceId destination, FlowKey key, bool read) const {
  std::string why;
  std::optional<Footprint> found = find(source, destination, key, read, &why);
  if (!found) throw ConfigError(why);
  return *std::move(found);
}

std::optional<Footprint> Router::find_route(DeviceId source, DeviceId destination, FlowKey key, bool read) const {
  return find(source, destination, key, read, nullptr);
}

std::optional<std::string> Router::what_cuts(const std::optional<Footprint>& way) const {
  const std::vector<LinkId> down = links_down();
  const auto is_down = [&](const Usage& usage) {
    return std::ranges::any_of(down, [&](LinkId link) {
      return usage.resource.value() == link.value() || usage.resource.value() == topology_->link(link).twin.value();
    });
  };
  if (down.empty() || (way && std::ranges::none_of(way->usages, is_down))) return std::nullopt;
  std::string links;
  for (std::size_t i = 0; i < down.size(); ++i)
    links += (i == 0 ? "" : i + 1 == down.size() ? " and " : ", ") + topology_->name(down[i]);
  return fmt::format("{} {} down", links, down.size() == 1 ? "is" : "are");
}

std::optional<Footprint> Router::find(DeviceId source, DeviceId destination, FlowKey key, bool read, std::string* why) const {
  Footprint footprint;
  if (source == destination) return footprint;
  footprint.paths.push_back({source, destination, key});
  const auto add = [&](LinkId link, double usage) {
    footprint.usages.push_back({ResourceId{link.value()}, usage});
    const double back = topology_->spec(link).read_overhead;
    if (read && back > 0) footprint.usages.push_back({ResourceId{topology_->link(link).twin.value()}, usage * back});
  };
  PathCost cost;
  const auto add_inside = [&](DeviceId from, DeviceId to) {
    if (from == to) return true;
    const auto host = static_cast<std::size_t>(topology_->host_of(from));
    const RouteFragment* fragment =
        hosts_->find(topology_->host(host).host_template, topology_->local(from), topology_->local(to));
    if (fragment == nullptr) {
      if (why != nullptr) {
        *why = fmt::format("no route from '{}' to '{}' inside their host", topology_->name(from), topology_->name(to));
      }
      return false;
    }
    for (const auto& [link, usage] : fragment->links) add(topology_->link_of(host, link), usage);
    cost.join(topology_->forwarding(from), fragment->cost);
    return true;
  };

  const std::optional<Plan> plan = find_plan(source, destination, why);
  if (!plan) return std::nullopt;
  if (!plan->nic_a.valid()) {
    if (!add_inside(source, destination)) return std::nullopt;
  } else {
    if (!add_inside(source, plan->nic_a)) return std::nullopt;
    const RouteFragment fragment = fabric_->route(plan->nic_a, plan->nic_b, {source, destination, key});
    for (const auto& [link, usage] : fragment.links) add(LinkId{link}, usage);
    cost.join(topology_->forwarding(plan->nic_a), fragment.cost);
    if (!add_inside(plan->nic_b, destination)) return std::nullopt;
  }
  footprint.latency = cost.latency();
  footprint.fill = cost.fill();
  footprint.fill_packet = cost.packet();
  footprint.couple({});  // sorts, and adds up what a path uses twice
  return footprint;
}

void Router::next_hops(DeviceId at, DeviceId source, DeviceId destination, FlowKey key, std::vector<NextHop>& out) const {
  if (at == destination) return;
  // Links of the fragment that leave `at`, weighted by what they carry of the whole.
  const auto out_of = [&](const RouteFragment& fragment, std::size_t host) {
    double total = 0;
    const std::size_t first = out.size();
    for (const auto& [link, usage] : fragment.links) {
      const LinkId global = topology_->link_of(host, link);
      if (topology_->link(global).from != at) continue;
      out.push_back({global, usage});
      total += usage;
    }
    for (std::size_t i = first; i < out.size(); ++i) out[i].weight /= total;
  };
  if (topology_->host_of(at) >= 0 && topology_->host_of(at) == topology_->host_of(destination)) {
    const auto host = static_cast<std::size_t>(topology_->host_of(at));
    const RouteFragment* fragment =
        hosts_->find(topology_->host(host).host_template, topology_->local(at), topology_->local(destination));
    if (fragment != nullptr) out_of(*fragment, host);
    return;
  }
  const Plan plan = this->plan(source, destination);
  if (topology_->host_of(at) >= 0 && at != plan.nic_a) {
    // The source's own fragment, not a new one from here: a relay over NVLink (PXN) is part of the way from the source only.
    const auto host = static_cast<std::size_t>(topology_->host_of(at));
    const RouteFragment* fragment =
        hosts_->find(topology_->host(host).host_template, topology_->local(source), topology_->local(plan.nic_a));
    if (fragment != nullptr && topology_->host_of(at) == topology_->host_of(source)) out_of(*fragment, host);
    return;
  }
  fabric_->next_hops(at, plan.nic_b, {source, destination, key}, out);
}

}  // namespace weft::net
