#include "sim/scenario/route_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/workloads/flow_ends.h"

namespace weft::scenario {
namespace {

constexpr std::size_t kMaxPairs = 4'000'000;

void find_places(const net::Router& router, ListedRoute& route) {
  const net::Topology& topology = router.topology();
  std::vector<net::NextHop> hops;
  route.places.push_back({route.ends.source});
  if (route.ends.source == route.ends.destination) return;
  for (bool more = true; more;) {
    WEFT_CHECK(route.places.size() <= topology.device_count());
    std::vector<DeviceId> next;
    more = false;
    for (const DeviceId at : route.places.back()) {
      if (at == route.ends.destination) continue;
      hops.clear();
      router.next_hops(at, route.ends.source, route.ends.destination, route.ends.key, hops);
      for (const net::NextHop& hop : hops) {
        const DeviceId to = topology.link(hop.link).to;
        if (std::ranges::find(next, to) != next.end()) continue;
        next.push_back(to);
        more |= to != route.ends.destination;
      }
    }
    std::ranges::sort(next);
    if (!next.empty()) route.places.push_back(std::move(next));
  }
}

}  // namespace

RouteList list_routes(const net::Topology& topology, std::string_view routing, std::uint64_t seed,
                      const work::Workload* workload, std::size_t most) {
  net::Router router{topology, net::make_routing_policy(routing), seed};
  RouteList list;
  list.loads.assign(topology.link_count(), 0);
  list.are_pairs = workload == nullptr || workload->flows.empty();
  list.takes_detours = router.policy().detour() != net::Detour::kNever;
  const auto add = [&](std::size_t flow, const net::PathEnds& ends) {
    net::Footprint footprint = router.route(ends.source, ends.destination, ends.key);
    for (const Usage& usage : footprint.usages) {
      if (usage.resource.index() < list.loads.size()) list.loads[usage.resource.index()] += usage.usage;
    }
    if (list.routes.size() == most) {
      ++list.left_out;
      return;
    }
    ListedRoute& made = list.routes.emplace_back();
    made.flow = flow;
    made.ends = ends;
    made.is_named = ends.key.named_way != 0;
    made.latency = footprint.latency;
    made.links = std::move(footprint.usages);
    find_places(router, made);
  };
  if (!list.are_pairs) {
    const std::vector<net::PathEnds> ends = work::flow_ends(*workload, router);
    for (std::size_t i = 0; i < ends.size(); ++i) add(i, ends[i]);
    return list;
  }
  const std::vector<DeviceId>& endpoints = topology.endpoints();
  if (endpoints.size() * endpoints.size() > kMaxPairs) {
    throw ConfigError(
        fmt::format("--routes: {} endpoints have too many pairs to list (over {}); --set nodes=... makes the "
                    "cluster smaller, and a scenario lists the routes of its flows alone",
                    endpoints.size(), kMaxPairs));
  }
  std::size_t pair = 0;
  for (const DeviceId from : endpoints) {
    for (const DeviceId to : endpoints) {
      if (from == to) continue;
      add(pair, {from, to, {pair}});
      ++pair;
    }
  }
  return list;
}

std::string way_text(const net::Topology& topology, const ListedRoute& route) {
  constexpr std::size_t kMost = 6;  // devices of one place
  std::string text;
  for (const std::vector<DeviceId>& place : route.places) {
    if (!text.empty()) text += " -> ";
    if (place.size() == 1) {
      text += topology.name(place[0]);
      continue;
    }
    std::string names;
    for (std::size_t i = 0; i < std::min(place.size(), kMost); ++i) names += (i == 0 ? "" : ", ") + topology.name(place[i]);
    text += fmt::format("{{{}{}}}", names, place.size() > kMost ? fmt::format(", {} more", place.size() - kMost) : "");
  }
  return text;
}

}  // namespace weft::scenario
