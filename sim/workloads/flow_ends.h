// Where the flows of a workload begin and end, with the keys that the router is asked by: for checks before a run.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/network/router.h"
#include "sim/workloads/workload.h"

namespace weft::work {

// By number of the flow. Ways that flows name are added to the router. A READ's are those of its data.
[[nodiscard]] std::vector<net::PathEnds> flow_ends(const Workload& workload, net::Router& router);

}  // namespace weft::work
