// Writes a topology for Graphviz (`dot -Tsvg`): one cluster of nodes per host, shape and colour by kind of device, one edge per
// cable with its type, width and rate. The order is that of the topology, so equal topologies give equal text.
#pragma once

#include <span>
#include <string>

#include "sim/network/topology.h"

namespace weft::net {

[[nodiscard]] std::string export_dot(const Topology& topology);
// With what flows put on each link, by link: an arrow for each direction in use, wider the more share it, and thin lines for
// cables that nobody uses.
[[nodiscard]] std::string export_dot(const Topology& topology, std::span<const double> loads);

}  // namespace weft::net
