// What a scenario runs: a list of collectives, or a list of flows, as YAML gives them.
//
//   workload: {collectives: [{kind: all_reduce, bytes: 1 GiB, ranks: all, count: 1}]}
//   workload: {flows: [{from: h0, to: h3, bytes: 10 MB, start: 0 us, rate_cap: 5 Gb/s, priority: 3}]}
//   workload: {flows_file: perm128.txt}     # one flow a line: source host, destination host, bytes
//
// Collectives run one after another on one communicator; flows start at their times. Generated training steps and traces are
// programs, which this version does not have yet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::work {

struct CollectiveItem {
  coll::CollectiveCall call;
  std::vector<DeviceId> devices;  // rank r is devices[r]
  std::int64_t count = 1;         // times in a row
  std::string algorithm;          // empty: chosen
  int channels = 0;               // 0: chosen
};

struct FlowItem {
  DeviceId from;
  DeviceId to;
  Bytes bytes;
  Time start;
  Bandwidth rate_cap;  // 0: none
  int priority = 0;
};

struct Workload {
  std::vector<CollectiveItem> collectives;
  std::vector<FlowItem> flows;
};

// `node` is the map under `workload`. Errors go to `diagnostics`.
[[nodiscard]] Workload read_workload(const ConfigNode& node, const net::Topology& topology, Diagnostics& diagnostics);

// The endpoints that "all", a number, or a list of names or indices stands for; empty after an error.
[[nodiscard]] std::vector<DeviceId> read_ranks(const ConfigNode& node, const net::Topology& topology, Diagnostics& diagnostics);

inline constexpr std::int64_t kMaxFlows = 50'000'000;

}  // namespace weft::work
