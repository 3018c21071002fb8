// Rings over a full mesh of AMD's GPUs, which RCCL takes from tables of known machines where NCCL would search.
#pragma once

#include <optional>
#include <vector>

#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

// 2(n-1) rings over n GPUs, n even and 4 or more: in them every GPU follows every other twice, so that all links of a full mesh
// carry as much.
[[nodiscard]] std::vector<std::vector<int>> mesh_rings(int gpus);

// The rings of a node whose GPUs are all joined by one xGMI link each; nothing: it is no such node, or one of several.
[[nodiscard]] std::optional<Graph> mesh_graph(const System& system);

}  // namespace weft::coll::nccl
