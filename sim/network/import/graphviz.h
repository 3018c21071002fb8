// Writes a topology for Graphviz (`dot -Tsvg`): one cluster of nodes per host, shape and colour by kind of device, one edge per
// cable with its type, width and rate. The order is that of the topology, so equal topologies give equal text.
#pragma once

#include <string>

#include "sim/network/topology.h"

namespace weft::net {

[[nodiscard]] std::string export_dot(const Topology& topology);

}  // namespace weft::net
