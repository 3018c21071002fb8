// The routes in use: those of a scenario's flows, or of all pairs of endpoints of a cluster; and what they put on each link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/network/router.h"
#include "sim/workloads/workload.h"

namespace weft::scenario {

// One flow's way, at its most: spread flows take all of the links, a share each.
struct ListedRoute {
  std::size_t flow = 0;  // its number; of a pair: in order
  net::PathEnds ends;
  bool is_named = false;                      // by `via` or `route`
  std::vector<std::vector<DeviceId>> places;  // by links from the source, both ends included
  std::vector<Usage> links;                   // with the share of the flow on each; of the first way by several NICs all
  Duration latency;                           // of a message of no bytes
};

struct RouteList {
  std::vector<ListedRoute> routes;  // at most so many as were asked for
  std::size_t left_out = 0;
  std::vector<double> loads;   // by link: flows that share it, of all routes
  bool are_pairs = false;      // of endpoints; else flows
  bool takes_detours = false;  // which are not listed: minimal ways are
};

// `workload` null, or without flows: all ordered pairs of endpoints. ConfigError: there is no route.
[[nodiscard]] RouteList list_routes(const net::Topology& topology, std::string_view routing, std::uint64_t seed,
                                    const work::Workload* workload, std::size_t most);

// "h0 -> leaf0 -> {spine0, spine1} -> leaf1 -> h4"
[[nodiscard]] std::string way_text(const net::Topology& topology, const ListedRoute& route);

}  // namespace weft::scenario
