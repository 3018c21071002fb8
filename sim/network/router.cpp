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

Router::Router(const Topology& topology, std::unique_ptr<RoutingPolicy> policy, std::uint64_t seed,
               std::shared_ptr<const HostRoutes> hosts)
    : topology_{&topology},
      hosts_{hosts != nullptr ? std::move(hosts) : std::make_shared<const HostRoutes>(topology)},
      fabric_{std::make_unique<FabricRoutes>(topology, std::move(policy), seed)} {}

Router::Router(const Router& known, std::unique_ptr<RoutingPolicy> policy, std::uint64_t seed)
    : topology_{known.topology_},
      hosts_{known.hosts_},
      fabric_{std::make_unique<FabricRoutes>(*topology_, std::move(policy), seed, known.fabric_.get())} {}

Router::~Router() = default;

std::uint32_t Router::add_named_way(DeviceId source, DeviceId destination, NamedWay way, std::uint64_t entropy) {
  OwnWay& own = own_ways_.emplace_back(OwnWay{source, destination, std::move(way), entropy, {}});
  find_own_way(own);
  if (own.found.links.empty()) {
    const std::string why = own.found.why;
    own_ways_.pop_back();
    throw ConfigError(
        fmt::format("no way as named from '{}' to '{}': {}", topology_->name(source), topology_->name(destination), why));
  }
  return static_cast<std::uint32_t>(own_ways_.size());
}

void Router::find_own_way(OwnWay& own) const {
  const FabricRoutes::Flow flow{own.source, own.destination, {own.entropy}};
  const auto open = [this](LinkId link) { return fabric_->is_open(link); };
  const auto pick = [&](DeviceId at, std::span<const LinkId> links) { return fabric_->pick(at, links, flow); };
  own.found = find_named_way(*topology_, own.source, own.destination, own.way, pick, open);
  // Equal links may end where the next leg cannot begin; the first of them all is what was checked when the file was read.
  if (!own.found.links.empty()) return;
  const auto first = [](DeviceId, std::span<const LinkId> links) { return links.front(); };
  own.found = find_named_way(*topology_, own.source, own.destination, own.way, first, open);
}

void Router::find_all_distances(int threads) const { fabric_->find_all_distances(threads); }

const Topology& Router::topology() const { return *topology_; }

std::vector<DeviceId> Router::nics_of(DeviceId gpu) const {
  if (topology_->kind(gpu) == DeviceKind::kHost || topology_->kind(gpu) == DeviceKind::kNic) return {gpu};
  if (topology_->kind(gpu) != DeviceKind::kGpu) return {};
  const auto host = static_cast<std::size_t>(topology_->host_of(gpu));
  std::vector<DeviceId> nics;
  for (const std::uint32_t nic : hosts_->nics_of(topology_->host(host).host_template, topology_->local(gpu)))
    nics.push_back(topology_->device_of(host, nic));
  return nics;
}

DeviceId Router::leaf_of(DeviceId gpu) const {
  if (topology_->kind(gpu) != DeviceKind::kGpu) return {};
  const std::vector<DeviceId> nics = nics_of(gpu);
  if (nics.empty() || topology_->uplinks(nics.front()).empty()) return {};
  return topology_->link(topology_->uplinks(nics.front()).front()).to;
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

// The rate of its cables, or of its links inside the host if those carry less.
double Router::nic_capacity(DeviceId nic) const {
  double out = 0;
  double in = 0;
  for (const LinkId link : topology_->out_links(nic)) {
    const bool leaves = topology_->host_of(topology_->link(link).to) != topology_->host_of(nic);
    (leaves ? out : in) += topology_->spec(link).capacity();
  }
  return in > 0 ? std::min(out, in) : out;
}

// Each NIC carries its part of what its side's carry together; the i-th of one side is paired with the i-th of the other, as
// far as the fabric joins them, and what is left over then with the others.
std::vector<NicWay> Router::spread(const std::vector<DeviceId>& leaving, const std::vector<DeviceId>& entering) const {
  if (leaving.size() == 1 && entering.size() == 1) {
    if (!fabric_->joined(leaving[0], entering[0])) return {};
    return {{{leaving[0], entering[0]}, 1.0}};
  }
  const auto shares = [&](const std::vector<DeviceId>& nics) {
    std::vector<double> each;
    double total = 0;
    for (const DeviceId nic : nics) total += each.emplace_back(nic_capacity(nic));
    for (double& share : each) share = total > 0 ? share / total : 1.0 / static_cast<double>(nics.size());
    return each;
  };
  constexpr double kNothing = 1e-9;  // rounding
  std::vector<double> to_leave = shares(leaving);
  std::vector<double> to_enter = shares(entering);
  std::vector<NicWay> ways;
  double total = 0;
  for (std::size_t turn = 0; turn < entering.size(); ++turn) {
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      const std::size_t j = (i + turn) % entering.size();
      const double share = std::min(to_leave[i], to_enter[j]);
      if (share < kNothing || !fabric_->joined(leaving[i], entering[j])) continue;
      ways.push_back({{leaving[i], entering[j]}, share});
      to_leave[i] -= share;
      to_enter[j] -= share;
      total += share;
    }
  }
  for (NicWay& way : ways) way.share /= total;
  return ways;
}

std::vector<NicWay> Router::find_ways(DeviceId source, DeviceId destination, FlowKey key, std::string* why) const {
  const auto unreachable = [&](std::string_view reason) {
    if (why != nullptr) {
      *why = fmt::format("no route from '{}' to '{}': {}", topology_->name(source), topology_->name(destination), reason);
    }
    return std::vector<NicWay>{};
  };
  const auto [leaving, entering] = key.nics;
  const bool named = leaving.valid() && entering.valid();
  if (named && fabric_->joined(leaving, entering)) return {{key.nics, 1.0}};
  const std::vector<DeviceId> own = nics_of(source);
  const std::vector<DeviceId> theirs = nics_of(destination);
  for (const DeviceId end : {source, destination}) {
    if (!(end == source ? own : theirs).empty()) continue;
    return unreachable(fmt::format("'{}' has no path to a NIC of its host", topology_->name(end)));
  }
  if (std::vector<NicWay> ways = spread(own, theirs); !ways.empty()) return ways;
  // Rails that no spine joins: leave by the nearest NIC on the destination's rails; failing that, enter by another of its NICs.
  const auto nics_of_host = [&](DeviceId endpoint) {
    const auto host = static_cast<std::size_t>(topology_->host_of(endpoint));
    std::vector<DeviceId> nics;
    for (const std::uint32_t local : topology_->template_of_host(host).of_kind(DeviceKind::kNic)) {
      const DeviceId nic = topology_->device_of(host, local);
      if ((endpoint == source ? inside(endpoint, nic) : inside(nic, endpoint)) != nullptr) nics.push_back(nic);
    }
    // The nearest first, by the way over PCIe: over NVLink (PXN) all are as near.
    std::ranges::stable_sort(nics, {}, [&](DeviceId nic) {
      const RouteFragment* back = inside(nic, endpoint);
      return back == nullptr ? std::pair{PathClass::kDis, std::size_t{0}} : std::pair{back->path_class, back->links.size()};
    });
    return nics;
  };
  const std::vector<DeviceId> ways_out = nics_of_host(source);
  const auto first_to = [&](DeviceId nic) {
    return std::ranges::find_if(ways_out, [&](DeviceId out) { return fabric_->joined(out, nic); });
  };
  std::vector<DeviceId> reached;
  std::vector<DeviceId> by;
  for (const DeviceId nic : theirs) {
    const auto out = first_to(nic);
    if (out == ways_out.end()) continue;
    reached.push_back(nic);
    by.push_back(*out);
  }
  if (!reached.empty()) return spread(by, reached);
  for (const DeviceId nic : nics_of_host(destination)) {
    const auto out = first_to(nic);
    if (out != ways_out.end()) return {{{*out, nic}, 1.0}};
  }
  return unreachable("the fabric does not join their hosts");
}

std::vector<NicWay> Router::nic_ways(DeviceId source, DeviceId destination, FlowKey key) const {
  if (topology_->host_of(source) == topology_->host_of(destination) || key.named_way != 0) return {};
  std::string why;
  std::vector<NicWay> ways = find_ways(source, destination, key, &why);
  if (ways.empty()) throw ConfigError(why);
  return ways;
}

const RouteFragment* Router::inside(DeviceId from, DeviceId to) const {
  const auto host = static_cast<std::size_t>(topology_->host_of(from));
  return hosts_->find(topology_->host(host).host_template, topology_->local(from), topology_->local(to));
}

std::span<const LinkId> Router::links_towards(DeviceId at, DeviceId nic) const { return fabric_->links_towards(at, nic); }

std::span<const LinkId> Router::links_between(DeviceId at, DeviceId leaf) const { return fabric_->links_between(at, leaf); }

int Router::hops_between(DeviceId at, DeviceId leaf) const { return fabric_->hops_between(at, leaf); }

std::span<const DeviceId> Router::leaves() const { return fabric_->leaves(); }

bool Router::is_detour(DeviceId from, DeviceId by, DeviceId to) const { return fabric_->is_detour(from, by, to); }

const RoutingPolicy& Router::policy() const { return fabric_->policy(); }

void Router::set_link_state(LinkId link, bool up) {
  fabric_->set_link_state(link, up);
  for (OwnWay& own : own_ways_) find_own_way(own);
}

std::vector<LinkId> Router::links_down() const { return fabric_->links_down(); }

std::uint32_t RoutingPolicy::pick(const RoutingChoice& /*choice*/) const { return 0; }

PathClass Router::path_class(DeviceId source, DeviceId destination) const {
  if (topology_->host_of(source) != topology_->host_of(destination)) return PathClass::kNet;
  const RouteFragment* fragment = inside(source, destination);
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
  if (key.named_way != 0) return along(std::move(footprint), own_way(key), why);
  const auto add = [&](LinkId link, double usage) {
    const LinkSpec& spec = topology_->spec(link);
    footprint.usages.push_back({ResourceId{link.value()}, read ? usage * spec.read_factor : usage});
    const double back = spec.read_overhead;
    if (read && back > 0) footprint.usages.push_back({ResourceId{topology_->link(link).twin.value()}, usage * back});
  };
  PathCost cost;
  PathCost longest;
  const auto end_way = [&] {
    if (cost.is_longer_than(longest)) longest = cost;
    cost = PathCost{};
  };
  const auto add_inside = [&](DeviceId from, DeviceId to, double share) {
    if (from == to) return true;
    const RouteFragment* fragment = inside(from, to);
    if (fragment == nullptr) {
      if (why != nullptr) {
        *why = fmt::format("no route from '{}' to '{}' inside their host", topology_->name(from), topology_->name(to));
      }
      return false;
    }
    const auto host = static_cast<std::size_t>(topology_->host_of(from));
    for (const auto& [link, usage] : fragment->links) add(topology_->link_of(host, link), usage * share);
    cost.join(topology_->forwarding(from), fragment->cost);
    return true;
  };

  if (topology_->host_of(source) == topology_->host_of(destination)) {
    if (!add_inside(source, destination, 1.0)) return std::nullopt;
    end_way();
  } else {
    const std::vector<NicWay> ways = find_ways(source, destination, key, why);
    if (ways.empty()) return std::nullopt;
    for (const auto& [nics, share] : ways) {
      if (!add_inside(source, nics.leaving, share)) return std::nullopt;
      const RouteFragment fragment = fabric_->route(nics.leaving, nics.entering, {source, destination, key});
      for (const auto& [link, usage] : fragment.links) add(LinkId{link}, usage * share);
      cost.join(topology_->forwarding(nics.leaving), fragment.cost);
      if (!add_inside(nics.entering, destination, share)) return std::nullopt;
      end_way();
    }
  }
  footprint.latency = longest.latency();
  footprint.fill = longest.fill();
  footprint.fill_packet = longest.packet();
  footprint.couple({});  // sorts, and adds up what a path uses twice
  return footprint;
}

std::optional<Footprint> Router::along(Footprint footprint, const FoundWay& way, std::string* why) const {
  if (way.links.empty()) {
    if (why != nullptr) *why = way.why;
    return std::nullopt;
  }
  PathCost cost;
  for (const LinkId link : way.links) {
    footprint.usages.push_back({ResourceId{link.value()}, 1.0});
    cost.join(topology_->forwarding(topology_->link(link).from), PathCost{topology_->spec(link)});
  }
  footprint.latency = cost.latency();
  footprint.fill = cost.fill();
  footprint.fill_packet = cost.packet();
  footprint.couple({});
  return footprint;
}

// Links of the way that leave `at`, weighted by what they carry of the whole.
void Router::hops_inside(DeviceId at, const RouteFragment& way, std::vector<NextHop>& out) const {
  const auto host = static_cast<std::size_t>(topology_->host_of(at));
  double total = 0;
  const std::size_t first = out.size();
  for (const auto& [link, usage] : way.links) {
    const LinkId global = topology_->link_of(host, link);
    if (topology_->link(global).from != at) continue;
    out.push_back({global, usage});
    total += usage;
  }
  for (std::size_t i = first; i < out.size(); ++i) out[i].weight /= total;
}

void Router::hops_of_way(DeviceId at, DeviceId source, DeviceId destination, FlowKey key, const NicPair& nics,
                         std::vector<NextHop>& out) const {
  if (topology_->host_of(at) >= 0 && at != nics.leaving) {
    // The source's own fragment, not a new one from here: a relay over NVLink (PXN) is part of the way from the source only.
    const RouteFragment* way = topology_->host_of(at) == topology_->host_of(source) ? inside(source, nics.leaving) : nullptr;
    if (way != nullptr) hops_inside(at, *way, out);
    return;
  }
  fabric_->next_hops(at, nics.entering, {source, destination, key}, out);
}

void Router::next_hops(DeviceId at, DeviceId source, DeviceId destination, FlowKey key, std::vector<NextHop>& out) const {
  if (at == destination) return;
  if (key.named_way != 0) {
    for (const LinkId link : own_way(key).links) {
      if (topology_->link(link).from == at) out.push_back({link, 1.0});
    }
    return;
  }
  if (topology_->host_of(at) >= 0 && topology_->host_of(at) == topology_->host_of(destination)) {
    if (const RouteFragment* way = inside(at, destination)) hops_inside(at, *way, out);
    return;
  }
  const std::vector<NicWay> ways = nic_ways(source, destination, key);
  if (ways.size() == 1) {
    hops_of_way(at, source, destination, key, ways.front().nics, out);
    return;
  }
  // All ways that lead past here: a NIC is on its own only.
  const bool at_nic = std::ranges::any_of(ways, [&](const NicWay& way) { return way.nics.leaving == at; });
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  std::vector<NextHop> hops;
  double total = 0;
  for (const NicWay& way : ways) {
    if (at_nic && way.nics.leaving != at) continue;
    hops.clear();
    hops_of_way(at, source, destination, key, way.nics, hops);
    for (const NextHop& hop : hops) {
      const double weight = hop.weight * way.share;
      total += weight;
      const auto known = std::find_if(out.begin() + first, out.end(), [&](const NextHop& o) { return o.link == hop.link; });
      if (known == out.end()) {
        out.push_back({hop.link, weight});
      } else {
        known->weight += weight;
      }
    }
  }
  for (auto hop = out.begin() + first; hop != out.end(); ++hop) hop->weight /= total;
}

}  // namespace weft::net
