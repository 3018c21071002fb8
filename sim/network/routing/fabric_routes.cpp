#include "sim/network/routing/fabric_routes.h"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/range/iterator_range.hpp>
#include <iterator>
#include <numeric>
#include <string_view>

#include "sim/core/error.h"
#include "sim/core/parallel.h"
#include "sim/network/routing/hash_mix.h"

namespace weft::net {
namespace {

using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property, boost::no_property,
                                               std::uint32_t, std::uint32_t>;

// A set of links that nobody has asked for yet.
constexpr std::uint32_t kUnknown = 0xFFFF'FFFF;

}  // namespace

// The fabric's switches alone, each link the wrong way round: distances from a leaf are distances to it.
struct FabricRoutes::Graph {
  Csr csr;
};

FabricRoutes::~FabricRoutes() = default;

FabricRoutes::FabricRoutes(const Topology& topology, std::unique_ptr<RoutingPolicy> policy, std::uint64_t seed,
                           const FabricRoutes* shared)
    : topology_{&topology},
      policy_{std::move(policy)},
      seed_{seed},
      graph_{std::make_unique<Graph>()},
      by_switch_{shared != nullptr},
      distances_{shared != nullptr ? shared->distances_ : std::make_shared<Distances>()} {
  const std::span<const DeviceId> switches = topology.fabric_switches();
  index_of_.assign(topology.device_count(), 0);
  for (std::size_t i = 0; i < switches.size(); ++i) index_of_[switches[i].index()] = static_cast<SwitchIndex>(i);
  tables_.resize(switches.size());
  if (distances_->empty()) distances_->resize(switches.size());
  sets_.emplace_back();  // set 0: no way
  set_ids_.emplace(std::vector<LinkId>{}, 0);

  build_graph();
  position_.assign(topology.device_count(), 0);
  tier_.assign(switches.size(), -1);
  std::map<std::string_view, std::int32_t> groups;
  for (const DeviceId device : switches) {
    const std::string_view group = label_of(topology.labels(device), "group");
    group_.push_back(groups.try_emplace(group, static_cast<std::int32_t>(groups.size())).first->second);
  }
  has_groups_ = groups.size() > 1;
  std::vector<SwitchIndex> queue;
  std::uint32_t next_position = 0;
  std::uint32_t hosts_per_leaf = 0;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    std::uint32_t hosts = 0;
    for (const LinkId link : topology.out_links(switches[i])) {
      const DeviceId to = topology.link(link).to;
      if (topology.host_of(to) < 0) continue;
      position_[to.index()] = next_position++;
      ++hosts;
    }
    if (hosts > 0) {
      tier_[i] = 0;
      leaves_.push_back(switches[i]);
      queue.push_back(static_cast<SwitchIndex>(i));
      if (hosts_per_leaf == 0) hosts_per_leaf = hosts;
    }
  }
  // Tiers: hops to the nearest leaf. Strides: hosts below one switch of the tier beneath, for D-mod-K.
  stride_ = {1};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const SwitchIndex at = queue[head];
    for (const auto edge : boost::make_iterator_range(boost::out_edges(at, graph_->csr))) {
      const SwitchIndex to = boost::target(edge, graph_->csr);
      if (tier_[to] >= 0) continue;
      tier_[to] = tier_[at] + 1;
      queue.push_back(to);
      if (stride_.size() <= static_cast<std::size_t>(tier_[to])) {
        std::uint32_t below = 0;  // switches of the tier beneath that hang on `at`
        if (tier_[at] > 0) {
          for (const auto down : boost::make_iterator_range(boost::out_edges(at, graph_->csr))) {
            const int tier = tier_[boost::target(down, graph_->csr)];
            below += tier >= 0 && tier < tier_[at] ? 1U : 0U;
          }
        }
        stride_.push_back(tier_[at] == 0 ? hosts_per_leaf : stride_.back() * std::max(below, 1U));
      }
    }
  }
  number_devices();
}

void FabricRoutes::number_devices() {
  std::map<int, std::uint32_t> of_tier;
  for (const int tier : tier_) switch_numbers_.push_back(static_cast<std::uint32_t>(tier + 1) << 24 | of_tier[tier]++);
  for (std::size_t host = 0; host < topology_->host_count(); ++host) {
    const std::uint32_t index = topology_->host(host).host_template;
    if (places_.size() <= index) places_.resize(index + 1);
    if (!places_[index].empty()) continue;
    std::map<DeviceKind, std::uint32_t> of_kind;
    for (const TemplateDevice& device : topology_->host_template(index).devices)
      places_[index].push_back(of_kind[device.kind]++);
  }
}

std::uint32_t FabricRoutes::number_of(DeviceId device) const {
  const std::int32_t host = topology_->host_of(device);
  if (host < 0) return switch_numbers_[index_of_[device.index()]];
  const std::uint32_t place = places_[topology_->host(static_cast<std::size_t>(host)).host_template][topology_->local(device)];
  return static_cast<std::uint32_t>(host) << 12 | static_cast<std::uint32_t>(topology_->kind(device)) << 8 | place;
}

void FabricRoutes::build_graph() {
  const std::span<const DeviceId> switches = topology_->fabric_switches();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    for (const LinkId link : topology_->out_links(switches[i])) {
      const DeviceId to = topology_->link(link).to;
      if (topology_->host_of(to) < 0 && is_up(topology_->link(link).twin))
        edges.emplace_back(static_cast<std::uint32_t>(i), index_of_[to.index()]);
    }
  }
  graph_->csr = Csr(boost::edges_are_sorted, edges.begin(), edges.end(), static_cast<std::uint32_t>(switches.size()));
}

void FabricRoutes::set_link_state(LinkId link, bool up) {
  if (failed_.empty()) failed_.assign(topology_->link_count(), false);
  failed_[link.index()] = !up;
  build_graph();
  for (std::vector<std::uint32_t>& table : tables_) table.clear();
  for (std::vector<Distance>& distances : *distances_) distances.clear();
  near_sets_.clear();
  spread_cache_.clear();
}

std::vector<LinkId> FabricRoutes::links_down() const {
  std::vector<LinkId> down;
  for (std::size_t i = 0; i < failed_.size(); ++i) {
    const LinkId link = LinkId::from_index(i);
    if (failed_[i] && (topology_->link(link).twin > link || is_up(topology_->link(link).twin))) down.push_back(link);
  }
  return down;
}

std::uint32_t FabricRoutes::set_between(SwitchIndex from, SwitchIndex leaf) const {
  std::vector<std::uint32_t>& table = tables_[by_switch_ ? from : leaf];
  if (table.empty()) table.assign(topology_->fabric_switches().size(), kUnknown);
  const SwitchIndex column = by_switch_ ? leaf : from;
  if (table[column] != kUnknown) return table[column];
  const Distance here = distance(from, leaf);
  const std::vector<Distance>& distances = (*distances_)[leaf];
  std::vector<LinkId> hops;
  if (here != kNotJoined && from != leaf) {
    for (const LinkId link : topology_->out_links(topology_->fabric_switches()[from])) {
      const DeviceId to = topology_->link(link).to;
      if (topology_->host_of(to) >= 0 || !is_up(link)) continue;
      const SwitchIndex next = index_of_[to.index()];
      if (distances[next] != kNotJoined && one_more(from, next, distances[next]) == here) hops.push_back(link);
    }
  }
  return table[column] = intern(hops);
}

std::uint32_t FabricRoutes::intern(const std::vector<LinkId>& links) const {
  const auto [found, inserted] = set_ids_.emplace(links, static_cast<std::uint32_t>(sets_.size()));
  if (inserted) sets_.push_back(links);
  return found->second;
}

FabricRoutes::Distance FabricRoutes::distance(SwitchIndex from, SwitchIndex leaf) const {
  if ((*distances_)[leaf].empty()) find_distances(leaf);
  return (*distances_)[leaf][from];
}

void FabricRoutes::find_all_distances(int threads) const {
  on_threads(leaves_.size(), threads, [&](std::size_t i) {
    const SwitchIndex leaf = index_of_[leaves_[i].index()];
    if ((*distances_)[leaf].empty()) find_distances(leaf);
  });
}

void FabricRoutes::find_distances(SwitchIndex leaf) const {
  std::vector<Distance>& distances = (*distances_)[leaf];
  // Breadth first; with groups, a switch is looked at again where a longer way crosses fewer of their links.
  distances.assign(topology_->fabric_switches().size(), kNotJoined);
  distances[leaf] = {};
  std::vector<SwitchIndex> queue{leaf};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const SwitchIndex at = queue[head];
    for (const auto edge : boost::make_iterator_range(boost::out_edges(at, graph_->csr))) {
      const SwitchIndex next = boost::target(edge, graph_->csr);
      const Distance found = one_more(next, at, distances[at]);
      if (found >= distances[next]) continue;
      distances[next] = found;
      queue.push_back(next);
    }
  }
}

std::vector<LinkId> FabricRoutes::usable_uplinks(DeviceId nic_a, DeviceId nic_b) const {
  // Cables between the two; else all uplinks that lead to the nearest of the destination's leaves, each once.
  std::vector<LinkId> best;
  for (const LinkId up : topology_->uplinks(nic_a)) {
    if (topology_->link(up).to == nic_b && is_up(up)) best.push_back(up);
  }
  if (!best.empty()) return best;
  const auto on_switch = [&](LinkId link, LinkId used) {
    return topology_->host_of(topology_->link(link).to) < 0 && is_up(used);
  };
  Distance best_distance = kNotJoined;
  for (const LinkId up : topology_->uplinks(nic_a)) {
    if (!on_switch(up, up)) continue;
    Distance nearest = kNotJoined;
    for (const LinkId down : topology_->uplinks(nic_b)) {
      if (!on_switch(down, topology_->link(down).twin)) continue;
      nearest =
          std::min(nearest, distance(index_of_[topology_->link(up).to.index()], index_of_[topology_->link(down).to.index()]));
    }
    if (nearest == kNotJoined || nearest > best_distance) continue;
    if (nearest != best_distance) best.clear();
    best_distance = nearest;
    best.push_back(up);
  }
  return best;
}

bool FabricRoutes::joined(DeviceId nic_a, DeviceId nic_b) const { return !usable_uplinks(nic_a, nic_b).empty(); }

void FabricRoutes::spread(DeviceId at, std::span<const LinkId> candidates, std::vector<NextHop>& out) const {
  const bool even = topology_->host_of(at) < 0 && policy_->per_packet() != PerPacket::kLeastQueued;
  const auto part = [&](LinkId link) { return topology_->spec(even ? candidates[0] : link).capacity(); };
  double total = 0;
  for (const LinkId link : candidates) total += part(link);
  for (const LinkId link : candidates) out.push_back({link, part(link) / total});
}

void FabricRoutes::select(DeviceId at, int tier, std::span<const LinkId> candidates, DeviceId nic_b, const Flow& flow,
                          std::vector<NextHop>& out) const {
  if (candidates.size() == 1) {
    out.push_back({candidates[0], 1.0});
    return;
  }
  if (policy_->spreads()) {
    spread(at, candidates, out);
    return;
  }
  std::vector<double> weights;
  if (const LinkWeights by = policy_->weights(); by != LinkWeights::kEqual) {
    for (const LinkId link : candidates) {
      const LinkSpec& spec = topology_->spec(link);
      weights.push_back(by == LinkWeights::kStated ? spec.weight : spec.capacity());
    }
  }
  const std::size_t stride = std::min(static_cast<std::size_t>(std::max(tier, 0)), stride_.size() - 1);
  const std::uint32_t pick = policy_->pick({.at = at,
                                            .tier = tier,
                                            .source = number_of(flow.source),
                                            .destination = number_of(flow.destination),
                                            .flow = flow.key.entropy,
                                            .switch_seed = mix(seed_ ^ mix(number_of(at))),
                                            .seed = mix(seed_),
                                            .destination_position = position_[nic_b.index()],
                                            .stride = stride_[stride],
                                            .candidates = static_cast<std::uint32_t>(candidates.size()),
                                            .weights = weights});
  WEFT_CHECK(pick < candidates.size());
  out.push_back({candidates[pick], 1.0});
}

LinkId FabricRoutes::pick(DeviceId at, std::span<const LinkId> candidates, const Flow& flow) const {
  if (policy_->spreads()) {
    const std::uint64_t ends = std::uint64_t{number_of(flow.source)} << 32 | number_of(flow.destination);
    const std::uint64_t hash = mix(mix(seed_ ^ mix(number_of(at))) ^ mix(ends ^ mix(flow.key.entropy)));
    return candidates[static_cast<std::size_t>((static_cast<Uint128>(hash) * candidates.size()) >> 64)];
  }
  std::vector<NextHop> one;
  select(at, topology_->host_of(at) < 0 ? tier_[index_of_[at.index()]] : -1, candidates, flow.destination, flow, one);
  return one.front().link;
}

void FabricRoutes::next_hops(DeviceId at, DeviceId nic_b, const Flow& flow, std::vector<NextHop>& out) const {
  if (topology_->host_of(at) >= 0) {  // a NIC: its uplinks
    const std::vector<LinkId> uplinks = usable_uplinks(at, nic_b);
    if (!uplinks.empty()) select(at, -1, uplinks, nic_b, flow, out);
    return;
  }
  const SwitchIndex here = index_of_[at.index()];
  const std::vector<LinkId>& links = sets_[set_towards(here, nic_b)];
  if (!links.empty()) select(at, tier_[here], links, nic_b, flow, out);
}

// At a leaf of the NIC: its downlinks. Elsewhere: the links to the nearest of its leaves.
std::uint32_t FabricRoutes::set_towards(SwitchIndex at, DeviceId nic) const {
  const DeviceId device = topology_->fabric_switches()[at];
  Distance best = kNotJoined;
  SwitchIndex leaf = 0;
  for (const LinkId down : topology_->uplinks(nic)) {
    if (topology_->host_of(topology_->link(down).to) >= 0 || !is_up(topology_->link(down).twin)) continue;
    const SwitchIndex candidate = index_of_[topology_->link(down).to.index()];
    const Distance d = distance(at, candidate);
    if (d >= best) continue;
    best = d;
    leaf = candidate;
  }
  if (best == kNotJoined) return 0;
  if (best > Distance{}) return set_between(at, leaf);
  std::vector<LinkId> down;
  for (const LinkId up : topology_->uplinks(nic)) {
    const LinkId twin = topology_->link(up).twin;
    if (topology_->link(up).to == device && is_up(twin)) down.push_back(twin);
  }
  return intern(down);
}

std::span<const LinkId> FabricRoutes::links_towards(DeviceId at, DeviceId nic) const {
  const SwitchIndex here = index_of_[at.index()];
  const std::span<const LinkId> up = topology_->uplinks(nic);
  if (up.size() == 1) {
    const SwitchIndex leaf = index_of_[topology_->link(up[0]).to.index()];
    if (leaf != here) return sets_[set_between(here, leaf)];
    return {&topology_->link(up[0]).twin, is_up(topology_->link(up[0]).twin) ? std::size_t{1} : std::size_t{0}};
  }
  const std::uint64_t key = std::uint64_t{here} << 32 | nic.value();
  const auto found = near_sets_.find(key);
  if (found != near_sets_.end()) return sets_[found->second];
  const std::uint32_t set = set_towards(here, nic);
  near_sets_.emplace(key, set);
  return sets_[set];
}

std::span<const LinkId> FabricRoutes::links_between(DeviceId at, DeviceId leaf) const {
  return sets_[set_between(index_of_[at.index()], index_of_[leaf.index()])];
}

int FabricRoutes::hops_between(DeviceId at, DeviceId leaf) const {
  return distance(index_of_[at.index()], index_of_[leaf.index()]).hops;
}

bool FabricRoutes::is_detour(DeviceId from, DeviceId by, DeviceId to) const {
  const SwitchIndex first = index_of_[from.index()];
  const SwitchIndex middle = index_of_[by.index()];
  const SwitchIndex last = index_of_[to.index()];
  if (has_groups_ ? group_[middle] == group_[first] || group_[middle] == group_[last] : middle == first || middle == last)
    return false;
  return distance(first, middle) != kNotJoined && distance(middle, last) != kNotJoined;
}

RouteFragment FabricRoutes::route(DeviceId nic_a, DeviceId nic_b, const Flow& flow) const {
  const std::span<const LinkId> up = topology_->uplinks(nic_a);
  const std::span<const LinkId> down = topology_->uplinks(nic_b);
  if (!policy_->spreads() || up.size() != 1 || down.size() != 1 || topology_->link(up[0]).to == nic_b) {
    return walk(nic_a, nic_b, flow);
  }
  // Between two leaves every spread flow takes the same links: only uplink and downlink differ.
  const Link& first = topology_->link(up[0]);
  const Link& last = topology_->link(topology_->link(down[0]).twin);
  const SpreadKey key{first.to.value(), last.from.value(), first.spec, last.spec};
  auto found = spread_cache_.find(key);
  if (found == spread_cache_.end()) {
    std::optional<RouteFragment> detours;
    if (policy_->detour() == Detour::kAlways) detours = walk_detours(nic_a, nic_b);
    RouteFragment whole = detours ? *std::move(detours) : walk(nic_a, nic_b, flow);
    std::erase_if(whole.links, [&](const auto& entry) {
      return entry.first == up[0].value() || entry.first == topology_->link(down[0]).twin.value();
    });
    found = spread_cache_.emplace(key, std::move(whole)).first;
  }
  RouteFragment fragment = found->second;
  fragment.links.emplace_back(up[0].value(), 1.0);
  fragment.links.emplace_back(topology_->link(down[0]).twin.value(), 1.0);
  return fragment;
}

std::optional<RouteFragment> FabricRoutes::walk_detours(DeviceId nic_a, DeviceId nic_b) const {
  const LinkId up = topology_->uplinks(nic_a).front();
  const LinkId down = topology_->link(topology_->uplinks(nic_b).front()).twin;
  const DeviceId first = topology_->link(up).to;
  const DeviceId last = topology_->link(down).from;
  std::vector<DeviceId> by;
  if (first != last)
    std::ranges::copy_if(leaves_, std::back_inserter(by), [&](DeviceId w) { return is_detour(first, w, last); });
  if (by.empty()) return std::nullopt;
  std::map<std::uint32_t, double> used;
  std::vector<NextHop> hops;
  RouteFragment fragment;
  fragment.path_class = PathClass::kNet;
  const double share = 1.0 / static_cast<double>(by.size());
  for (const DeviceId middle : by) {
    PathCost cost;
    cost.join(topology_->forwarding(nic_a), PathCost{topology_->spec(up)});
    DeviceId at = first;
    for (const DeviceId target : {middle, last}) {
      // By the first of equal links: they cost alike, and only what each carries is spread.
      std::map<DeviceId, double> wave{{at, share}};
      while (!wave.contains(target)) {
        std::map<DeviceId, double> next;
        for (const auto& [device, fraction] : wave) {
          hops.clear();
          spread(device, links_between(device, target), hops);
          for (const NextHop& hop : hops) {
            used[hop.link.value()] += fraction * hop.weight;
            next[topology_->link(hop.link).to] += fraction * hop.weight;
          }
        }
        wave = std::move(next);
      }
      for (; at != target; at = topology_->link(links_between(at, target)[0]).to)
        cost.join(topology_->forwarding(at), PathCost{topology_->spec(links_between(at, target)[0])});
    }
    cost.join(topology_->forwarding(last), PathCost{topology_->spec(down)});
    if (cost.is_longer_than(fragment.cost)) fragment.cost = cost;
  }
  fragment.links.assign(used.begin(), used.end());
  return fragment;
}

RouteFragment FabricRoutes::walk(DeviceId nic_a, DeviceId nic_b, const Flow& flow) const {
  // Fractions of the flow move hop by hop; all hops of a shortest-path set are equally far from the destination, so one
  // wavefront after another is settled before it moves on.
  struct Front {
    DeviceId device;
    double fraction;
    PathCost cost;
  };
  RouteFragment fragment;
  fragment.path_class = PathClass::kNet;
  std::vector<Front> wave{{nic_a, 1.0, {}}};
  std::vector<Front> next;
  std::vector<NextHop> hops;
  while (!wave.empty()) {
    next.clear();
    for (const Front& front : wave) {
      if (front.device == nic_b) {
        if (front.cost.is_longer_than(fragment.cost)) fragment.cost = front.cost;
        continue;
      }
      hops.clear();
      next_hops(front.device, nic_b, flow, hops);
      WEFT_CHECK(!hops.empty());
      for (const NextHop& hop : hops) {
        const double fraction = front.fraction * hop.weight;
        fragment.links.emplace_back(hop.link.value(), fraction);
        Front arrived{topology_->link(hop.link).to, fraction, front.cost};
        arrived.cost.join(topology_->forwarding(front.device), PathCost{topology_->spec(hop.link)});
        const auto same = std::ranges::find(next, arrived.device, &Front::device);
        if (same == next.end()) {
          next.push_back(arrived);
        } else {
          same->fraction += arrived.fraction;
          if (arrived.cost.is_longer_than(same->cost)) same->cost = arrived.cost;
        }
      }
    }
    std::swap(wave, next);
  }
  return fragment;
}

}  // namespace weft::net
