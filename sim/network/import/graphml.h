// Writes a topology as GraphML: a directed graph, one edge per direction of a link. Devices carry name, kind, host and their
// labels; edges type, width, rate (b/s), efficiency and latency (ps). The order is that of the topology.
#pragma once

#include <string>

#include "sim/network/topology.h"

namespace weft::net {

[[nodiscard]] std::string export_graphml(const Topology& topology);

}  // namespace weft::net
