// How far off a profile's predictions were of the collective that a run is about: on as many GPUs, over the same network.
//
//   error_of_collective(cluster, {.operation = "all_reduce", .gpus = 16, .nodes = 2});   // "median error of all_reduce 2.6 %
//   over RoCE" error_of_others(cluster);                                                            // "tested on collectives
//   alone"
//
// A profile's `validation` says in `data` what an entry is of: "all_reduce of 2 and 4, FILE" or "all_reduce of 16 over RoCE,
// FILE". An entry in other words is of several operations at once, and says nothing of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/network/cluster.h"

namespace weft::scenario {

struct TestedOn {
  std::string operation;
  std::vector<int> gpus;
  std::string network;  // as NicTransport::called; empty: within a host
};
[[nodiscard]] std::optional<TestedOn> tested_on(std::string_view data);

struct PredictedCollective {
  std::string_view operation;
  int gpus = 0;
  int nodes = 1;
  std::string made_by = {};  // a library, an algorithm or a setting that no entry was measured with; empty: NCCL's own choice
};

// Names the network of a call on so many nodes as TestedOn::network does: empty within a host, else what joins hosts.
[[nodiscard]] std::string_view network_between(const net::Cluster& cluster, int nodes);

// One sentence, without its point; "all_reduce not tested on 32 GPUs over RoCE; median error 2.6 % on 16" where nothing is of
// it. Model: a value that a file laid over the profile replaced, or --set, is of no test.
[[nodiscard]] std::string error_of_collective(const net::Cluster& cluster, const PredictedCollective& predicted);
// The same of training, serving, traces and all else: what collectives are off by is not theirs.
[[nodiscard]] std::string error_of_others(const net::Cluster& cluster);

}  // namespace weft::scenario
