#include "sim/collectives/nccl/mesh_rings.h"

#include <algorithm>

#include "sim/core/error.h"

namespace weft::coll::nccl {

// RCCL's table of 8 MI300X has 14 rings in which each GPU follows each other twice (its src/graph/rome_models.cc, models 79 and
// 81). Any even number has such rings: the last GPU, then the others in zigzag from each in turn, i i+1 i-1 i+2 i-2 ... (mod
// n-1). A difference comes twice in a zigzag. The other half of the rings are these backwards.
std::vector<std::vector<int>> mesh_rings(int gpus) {
  WEFT_CHECK(gpus >= 4 && gpus % 2 == 0);
  const int others = gpus - 1;
  std::vector<std::vector<int>> rings;
  for (int first = 0; first < others; ++first) {
    std::vector<int>& ring = rings.emplace_back();
    ring.push_back(gpus - 1);
    for (int i = 0; i < others; ++i) {
      const int step = (i + 1) / 2;
      ring.push_back((first + (i % 2 == 1 ? step : others - step)) % others);
    }
  }
  for (int i = 0; i < others; ++i) {
    std::vector<int> backwards(rings[static_cast<std::size_t>(i)].rbegin(), rings[static_cast<std::size_t>(i)].rend());
    rings.push_back(std::move(backwards));
  }
  return rings;
}

std::optional<Graph> mesh_graph(const System& system) {
  const auto count = static_cast<int>(system.gpus().size());
  if (count < 4 || count % 2 != 0 || system.options().several_nodes) return std::nullopt;
  const float link = system.node(system.gpus().front()).xgmi_bandwidth;
  for (const NodeIndex a : system.gpus()) {
    for (const NodeIndex b : system.gpus()) {
      if (a == b) continue;
      const bool is_joined = system.path(a, b).type == PathClass::kNvl && system.path(a, b).bandwidth == link;
      if (link <= 0 || !is_joined) return std::nullopt;
    }
  }
  Graph graph;
  graph.bandwidth_intra = graph.bandwidth_inter = link / 2;  // two rings share a link
  graph.type_intra = PathClass::kNvl;
  graph.type_inter = PathClass::kPix;
  graph.same_channels = false;
  for (std::vector<int>& ring : mesh_rings(count))
    graph.channels.push_back({.net_in = {}, .gpus = std::move(ring), .net_out = {}});
  return graph;
}

}  // namespace weft::coll::nccl
