// Machines with an operating system of their own. A host of the topology is NCCL's node, one NVLink domain; the trays of an
// NVL72 rack are several machines in one.
#pragma once

#include <vector>

#include "sim/network/topology.h"

namespace weft::scenario {

// GPUs and bare hosts by machine, both in topology order. Two GPUs are of one machine if a path inside their host joins them
// that passes no NVSwitch; those that none joins to a CPU are of one.
[[nodiscard]] std::vector<std::vector<DeviceId>> endpoints_by_os_host(const net::Topology& topology);

}  // namespace weft::scenario
