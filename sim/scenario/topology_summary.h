// Summarizes a topology for a person. It counts what there is, says how devices of a host see each other, and which way traffic
// takes between two endpoints. It holds numbers only; `weft topo` prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/network/router.h"
#include "sim/network/topology.h"

namespace weft::scenario {

// Cables of one kind: both directions count once.
struct CableCount {
  net::LinkSpec spec;
  bool in_hosts = true;  // else of the fabric, host cables included
  std::int64_t cables = 0;
};

// Fabric switches that share a tier and the letters of their name: leaf0, leaf1, ...
struct SwitchCount {
  std::string name;  // "leaf"
  std::string tier;  // label `tier`; empty: none
  std::int64_t switches = 0;
  std::int64_t ports = 0;  // in use, of the one that uses most
};

struct TopologySummary {
  std::vector<std::pair<std::string, std::int64_t>> hosts;        // template and number, in order of appearance
  std::vector<std::pair<net::DeviceKind, std::int64_t>> devices;  // in hosts, by kind
  std::vector<SwitchCount> switches;                              // by tier, then name
  std::vector<CableCount> cables;                                 // of hosts, then of the fabric; in order of appearance
  std::int64_t endpoints = 0;
  std::int64_t all_devices = 0;
  std::int64_t all_cables = 0;
  std::int64_t host_ports = 0;  // cables between the first host and the fabric
  Bandwidth host_bandwidth;     // of them together, raw, per direction
};
[[nodiscard]] TopologySummary summarize(const net::Topology& topology);

// Classes of the paths between GPUs and NICs of a host, as `nvidia-smi topo -m` prints them: "X", "NV18" (bonded NVLinks out of
// the row's GPU towards the column's), "XGMI" for Infinity Fabric, "NVB", "PIX", "PHB", ... A bare host has none.
struct PathMatrix {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> cells;  // [row][column]
};
[[nodiscard]] PathMatrix path_matrix(const net::Router& router, std::size_t host);

// One link that lies on a shortest path, in hops from the source.
struct RouteLink {
  LinkId link;
  double weight = 0;  // of this link among the next hops of its device; 0: of equal cost, but the flow goes elsewhere
  double usage = 0;   // bytes it carries per byte moved
};

struct RouteView {
  net::PathClass path_class = net::PathClass::kDis;
  std::vector<std::vector<RouteLink>> hops;  // hop by hop; within a hop by device, then link
  net::Footprint footprint;
  double bytes_per_ps = 0;  // what one flow alone gets
  LinkId bottleneck;        // the link that limits it, the first of equals
};

// `routing` names the policy. ConfigError: no route.
[[nodiscard]] RouteView view_route(const net::Topology& topology, std::string_view routing, std::uint64_t seed, DeviceId source,
                                   DeviceId destination);

// "n3.gpu5", or the number of an endpoint; ConfigError with the nearest name.
[[nodiscard]] DeviceId find_endpoint(const net::Topology& topology, const std::string& name);

}  // namespace weft::scenario
