#include "sim/planning/plan_search/group_places.h"

#include <algorithm>
#include <map>

#include "sim/planning/plan_search/families.h"

namespace weft::plan {
namespace {

std::vector<int> members_by_node(const net::Topology& topology, const work::ParallelPlan& plan,
                                 const std::vector<Rank>& group) {
  std::map<std::int32_t, int> here;
  for (const Rank rank : group) {
    const auto r = static_cast<std::size_t>(rank);
    const auto endpoint = plan.rank_map.empty() ? r : static_cast<std::size_t>(plan.rank_map[r]);
    ++here[topology.host_of(topology.endpoints()[endpoint])];
  }
  std::vector<int> counts;
  for (const auto& [host, count] : here) counts.push_back(count);
  std::ranges::sort(counts);
  return counts;
}

}  // namespace

GroupPlaces farthest_groups(const net::Topology& topology, const work::ParallelPlan& plan, bool first_stage_only) {
  const work::RankGrid grid{plan};
  const work::GroupSlots slots{plan, false};
  GroupPlaces farthest;
  double most = -1;
  for (Rank rank = 0; rank < plan.world(); ++rank) {
    const int stage = grid.position(rank, work::Axis::kPipeline);
    if (first_stage_only && stage > 0) continue;
    double leaving = 0;  // sum over groups of the share of a member's data that others outside its node have
    std::vector<int> members;
    for (const work::GroupSlot slot : kPassSlots) {
      if (!slots.has(slot)) continue;
      const std::vector<int> counts = members_by_node(topology, plan, pass_group(grid, slot, rank));
      leaving += 1 - counts.front() / static_cast<double>(slots.size(slot));
      members.insert(members.end(), counts.begin(), counts.end());
      members.push_back(0);
    }
    if (leaving <= most) continue;
    most = leaving;
    farthest = {.rank = rank, .stage = stage, .members = std::move(members)};
  }
  return farthest;
}

}  // namespace weft::plan
