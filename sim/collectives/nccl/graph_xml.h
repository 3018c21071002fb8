// NCCL's graph files (NCCL_GRAPH_FILE in, NCCL_GRAPH_DUMP_FILE out; models/nccl §1.4): what the search found, one `graph` for
// each family. A `dev` is the OS host within the node in the upper 8 bits and the NVML index (of a GPU) or the plugin's number
// (of a NIC) below; `rank` stands beside it since NCCL 2.29.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

// The graphs of a file, in its order. ConfigError with every error of the file: an attribute that is missing or not what NCCL
// writes, a GPU or NIC that is not in `system`, a channel that does not hold every GPU once. `file` names it in messages.
[[nodiscard]] std::vector<Graph> read_graph_xml(std::string_view text, const std::string& file, const System& system);
[[nodiscard]] std::vector<Graph> read_graph_xml_file(const std::string& path, const System& system);

// In NCCL's order (ring, tree, CollNet direct, CollNet chain, NVLS); families that were not searched stand there empty.
[[nodiscard]] std::string write_graph_xml(const NodeGraphs& graphs, const System& system);

}  // namespace weft::coll::nccl
