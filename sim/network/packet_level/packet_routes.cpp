#include "sim/network/packet_level/packet_routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/network/routing/hash_mix.h"

namespace weft::net {

PacketRoutes::PacketRoutes(const Router& router, std::uint64_t seed, const std::vector<std::int64_t>* loads)
    : router_{router},
      topology_{router.topology()},
      seed_{seed},
      loads_{loads},
      per_packet_{router.policy().per_packet()},
      detour_{router.policy().detour()},
      switches_{topology_.fabric_switches().size()},
      first_switch_{topology_.fabric_switches().empty() ? 0xFFFF'FFFFU : topology_.fabric_switches().front().value()} {
  if (detour_ != Detour::kNever && router.leaves().size() >= kNoDetour)
    throw ConfigError(
        fmt::format("packets take detours by {} leaves at most, the fabric has {}", kNoDetour - 1, router.leaves().size()));
}

RouteId PacketRoutes::add(const PathEnds& ends) {
  Route route;
  route.ends = ends;
  if (!explore(route)) {
    throw ConfigError("no route for packets from " + topology_.name(ends.source) + " to " + topology_.name(ends.destination));
  }
  own_routes_.push_back(route);
  routes_ = own_routes_.data();
  return static_cast<RouteId>(own_routes_.size() - 1);
}

void PacketRoutes::read_those_of(const PacketRoutes& others) {
  WEFT_CHECK(own_routes_.empty());
  routes_ = others.routes_;
  steps_ = others.steps_;
  exit_count_ = others.exit_count_;
  make_room_for_exits(exit_count_);
}

// Sets that are known so far are found again.
void PacketRoutes::make_room_for_exits(std::size_t exits) {
  exit_room_ = exits;
  exits_ = LazyArray<std::uint32_t>{switches_ * exits};
}

PathEnds PacketRoutes::back(RouteId id, std::uint64_t entropy) const {
  const PathEnds& there = routes_[id].ends;
  PathEnds ends{there.destination, there.source, {entropy, {there.key.nics.entering, there.key.nics.leaving}}};
  if (ends.key.nics.leaving.valid() && !router_.find_route(ends.source, ends.destination, ends.key)) ends.key.nics = {};
  return ends;
}

// Walks all ways from the source at once, device by device. Where packets choose for themselves, the fabric's switches are left
// out: their links are looked up by the NIC they lead to. False: there is no way.
bool PacketRoutes::explore(Route& route) {
  route.first = static_cast<std::uint32_t>(own_steps_.size());
  route.fixed = true;
  // Where its NICs are not joined now and others are, the first of these.
  FlowKey key = route.ends.key;
  const std::vector<NicWay> ways = router_.nic_ways(route.ends.source, route.ends.destination, key);
  if (!ways.empty()) key.nics = ways.front().nics;
  std::vector<DeviceId> wave{route.ends.source};
  std::vector<DeviceId> seen = wave;
  std::vector<NextHop> hops;
  const auto visit = [&](DeviceId device) {
    if (std::ranges::find(seen, device) != seen.end()) return;
    seen.push_back(device);
    wave.push_back(device);
  };
  for (std::size_t i = 0; i < wave.size(); ++i) {
    const DeviceId at = wave[i];
    if (at == route.ends.destination) continue;
    if (per_packet_ != PerPacket::kNo && topology_.host_of(at) < 0 && key.named_way == 0) {
      route.fixed = false;
      if (!route.fabric_exit.valid()) {
        route.fabric_exit = key.nics.entering;
        const std::span<const LinkId> up = topology_.uplinks(route.fabric_exit);
        if (up.size() == 1) {
          route.leaf = topology_.link(up[0]).to;
          route.down = topology_.link(up[0]).twin;
        }
        route.exit = exit_of(route.leaf.valid() ? route.leaf : route.fabric_exit);
        visit(route.fabric_exit);
      }
      continue;
    }
    hops.clear();
    router_.next_hops(at, route.ends.source, route.ends.destination, key, hops);
    if (hops.empty()) return false;
    if (hops.size() > 1) route.fixed = false;
    for (const NextHop& hop : hops) {
      own_steps_.push_back({at, hop.link});
      visit(topology_.link(hop.link).to);
    }
  }
  route.count = static_cast<std::uint32_t>(own_steps_.size()) - route.first;
  route.one_way = std::any_of(own_steps_.begin() + route.first, own_steps_.end(),
                              [this](const Step& step) { return topology_.is_absent(topology_.link(step.link).twin); });
  steps_ = own_steps_.data();
  return true;
}

std::uint32_t PacketRoutes::exit_of(DeviceId device) {
  if (exit_of_.empty()) exit_of_.assign(topology_.device_count(), kNoExit);
  std::uint32_t& known = exit_of_[device.index()];
  if (known == kNoExit) {
    if (exit_count_ == exit_room_) make_room_for_exits(std::max<std::size_t>(2 * exit_room_, 16));
    known = exit_count_++;
  }
  return known;
}

std::uint32_t PacketRoutes::find_set(DeviceId from, const Route& route) {
  const std::span<const LinkId> links = router_.links_towards(from, route.fabric_exit);
  if (links.empty()) return 0;
  const auto [known, is_new] = set_of_.try_emplace(links.data(), static_cast<std::uint32_t>(sets_.size()));
  if (is_new) sets_.push_back(links);
  return known->second;
}

std::vector<LinkId> PacketRoutes::first_links(RouteId id) const {
  const Route& route = routes_[id];
  std::vector<LinkId> links;
  for (std::uint32_t i = 0; i < route.count; ++i) {
    const Step& step = steps_[route.first + i];
    if (step.from == route.ends.source) links.push_back(step.link);
  }
  return links;
}

LinkId PacketRoutes::next_step(const Route& route, DeviceId device, unsigned hop, std::uint16_t by) {
  if (route.broken) return {};
  if (route.fixed) {
    const Step& step = steps_[route.first + std::min(hop, route.count - 1)];
    return step.from == device ? step.link : LinkId{};
  }
  candidates_.clear();
  for (std::uint32_t i = 0; i < route.count; ++i) {
    const Step& step = steps_[route.first + i];
    if (step.from == device) candidates_.push_back(step.link);
  }
  if (candidates_.empty()) return {};
  return candidates_.size() == 1 ? candidates_[0] : choose(route, candidates_, by);
}

LinkId PacketRoutes::next_back(RouteId id, DeviceId device, unsigned hop) const {
  const Route& route = routes_[id];
  if (route.broken || hop >= route.count) return {};
  const Link& link = topology_.link(steps_[route.first + route.count - 1 - hop].link);
  return link.to == device ? link.twin : LinkId{};
}

LinkId PacketRoutes::choose(const Route& route, std::span<const LinkId> links, std::uint16_t by) {
  WEFT_CHECK(!links.empty());
  if (per_packet_ == PerPacket::kEntropy) {
    // The first link's number stands for the switch's own seed.
    const auto flow = static_cast<std::uint64_t>(&route - routes_);
    const std::uint64_t hash = mix(mix(seed_ ^ flow << 16 ^ by) ^ links[0].value());
    return links[static_cast<std::size_t>((static_cast<Uint128>(hash) * links.size()) >> 64)];
  }
  if (per_packet_ == PerPacket::kRandom) return links[static_cast<std::size_t>(random(route).below(links.size()))];
  // The least loaded; among equals a random one, lest all switches favour the same.
  const std::vector<std::int64_t>& loads = *loads_;
  LinkId best = links[0];
  std::size_t ties = 1;
  for (std::size_t i = 1; i < links.size(); ++i) {
    const std::int64_t more = loads[links[i].index()] - loads[best.index()];
    if (more > 0) continue;
    if (more < 0) ties = 0;
    ++ties;
    if (ties == 1 || random(route).below(ties) == 0) best = links[i];
  }
  return best;
}

std::int64_t PacketRoutes::least_load(std::span<const LinkId> links) const {
  std::int64_t least = (*loads_)[links[0].index()];
  for (const LinkId link : links) least = std::min(least, (*loads_)[link.index()]);
  return least;
}

std::uint16_t PacketRoutes::choose_detour(const Route& route, DeviceId first) {
  const std::span<const DeviceId> leaves = router_.leaves();
  if (!route.leaf.valid() || route.leaf == first) return kNoDetour;
  // Most leaves will do in a fabric of any size; in one where hardly any does, few draws find none and the way is minimal.
  constexpr int kDraws = 64;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto at = static_cast<std::size_t>(random(route).below(leaves.size()));
    if (!router_.is_detour(first, leaves[at], route.leaf)) continue;
    if (detour_ == Detour::kWhereShorter) {
      const std::int64_t minimal = router_.hops_between(first, route.leaf);
      const std::int64_t longer = router_.hops_between(first, leaves[at]) + router_.hops_between(leaves[at], route.leaf);
      if (least_load(router_.links_between(first, route.leaf)) * minimal <=
          least_load(router_.links_between(first, leaves[at])) * longer)
        return kNoDetour;
    }
    return static_cast<std::uint16_t>(at + 1);
  }
  return kNoDetour;
}

LinkId PacketRoutes::next_of_detour(const Route& route, DeviceId device, std::uint16_t by) {
  const std::span<const LinkId> links = router_.links_between(device, router_.leaves()[by - 1U]);
  if (links.empty()) return {};
  return links.size() == 1 ? links[0] : choose(route, links, by);
}

std::vector<LinkId> PacketRoutes::sample(RouteId id) {
  std::vector<LinkId> links;
  std::uint16_t minimal = kNoDetour;
  for (DeviceId at = routes_[id].ends.source; at != routes_[id].ends.destination;) {
    links.push_back(next(id, at, static_cast<unsigned>(links.size()), minimal));
    at = topology_.link(links.back()).to;
  }
  return links;
}

void PacketRoutes::forget() {
  own_steps_.clear();
  exits_ = {};
  exit_room_ = exit_count_ = 0;
  sets_.resize(1);
  set_of_.clear();
  exit_of_.clear();
  for (Route& route : own_routes_) {
    route.fabric_exit = route.leaf = {};
    route.exit = kNoExit;
    // The router says that two ends are not joined by an error, which here is a state that may pass.
    try {
      route.broken = !explore(route);
    } catch (const ConfigError&) {
      route.broken = true;
    }
  }
}

RandomStream& PacketRoutes::random_of(const Route& route) {
  const auto index = static_cast<std::size_t>(&route - routes_);
  if (random_.size() <= index) random_.resize(own_routes_.size());
  std::optional<RandomStream>& stream = random_[index];
  if (!stream) stream.emplace(seed_, fmt::format("route{}/paths", index));
  return *stream;
}

}  // namespace weft::net
