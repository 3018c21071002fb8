// Where the groups of one rank lie on nodes, for the rank whose groups leave their nodes most. A step is no shorter than that
// rank's: the others wait for it.
#pragma once

#include <vector>

#include "sim/core/ids.h"
#include "sim/network/topology.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::plan {

struct GroupPlaces {
  Rank rank = 0;
  int stage = 0;
  // Members of its groups by node, fewest first, a 0 behind each group: what tells two places apart.
  std::vector<int> members;
  bool operator<(const GroupPlaces& other) const { return members < other.members; }
};

// `plan` with its rank map; `first_stage_only`: among the ranks of the first stage.
[[nodiscard]] GroupPlaces farthest_groups(const net::Topology& topology, const work::ParallelPlan& plan, bool first_stage_only);

}  // namespace weft::plan
