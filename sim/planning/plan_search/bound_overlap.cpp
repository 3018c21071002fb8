// Passes that run together hide what they wait for; those that no other pass runs beside do not.
#include <utility>

#include "sim/planning/plan_search/bound.h"

namespace weft::plan {

const std::vector<std::vector<PlanBounds::ChunkPasses>>& PlanBounds::passes_alone(const work::ParallelPlan& plan,
                                                                                  const work::PipelineSchedule& schedule,
                                                                                  const work::PipelineShape& shape) {
  const auto [known, is_new] =
      alone_.try_emplace(LiveKey{plan.schedule, plan.pipeline, plan.virtual_stages, shape.microbatches, plan.overlap_expert});
  std::vector<std::vector<ChunkPasses>>& stages = known->second;
  if (!is_new) return stages;
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    std::vector<ChunkPasses>& chunks = stages.emplace_back(static_cast<std::size_t>(schedule.chunks(shape)));
    const std::vector<work::PipelineOp> order = schedule.order(shape, stage);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].with_next) {
        ++i;  // both
      } else {
        chunks[static_cast<std::size_t>(order[i].chunk)].count(order[i].pass);
      }
    }
  }
  return stages;
}

}  // namespace weft::plan
