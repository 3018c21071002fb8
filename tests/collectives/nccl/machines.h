// Communicators and settings that several tests of the planner ask about.
#pragma once

#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/collectives/nccl/settings.h"
#include "tests/collectives/nccl/golden_file.h"

namespace weft::coll::nccl {

// Nodes of `per_node` GPUs, ranks counted through.
inline std::vector<std::vector<Rank>> nodes_of(int nodes, int per_node) {
  std::vector<std::vector<Rank>> ranks(static_cast<std::size_t>(nodes), std::vector<Rank>(static_cast<std::size_t>(per_node)));
  for (std::size_t n = 0; n < ranks.size(); ++n) std::iota(ranks[n].begin(), ranks[n].end(), static_cast<Rank>(n) * per_node);
  return ranks;
}

// The 4 x H200 of the logs, which were taken with NVLS off.
inline CommInfo measured_node() {
  CommInfo comm = golden::read("hgx-h200-4gpu-n1").comm;
  comm.version = NcclVersion::k2_28;
  comm.nvls = false;
  comm.nvls_graph.reset();
  comm.nvls_channels = 0;
  return comm;
}

inline Settings given(std::initializer_list<std::pair<const char*, const char*>> values) {
  Settings settings;
  for (const auto& [key, value] : values) settings.set(key, value);
  return settings;
}

}  // namespace weft::coll::nccl
