#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "sim/planning/plan_search/bound.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/training/stage_model.h"

namespace weft::plan {
namespace {

std::unique_ptr<work::PipelineSchedule> pipeline_of(const work::ParallelPlan& plan) {
  return plan.pipeline == 1 ? nullptr : work::make_pipeline_schedule(plan.schedule);
}

}  // namespace

const std::vector<double>& PlanBounds::live_chunks(const work::TrainingSetup& setup) {
  const work::ParallelPlan& plan = setup.plan;
  work::PipelineShape shape = work::pipeline_shape(plan, setup.batch);
  // The work under way at once does not grow beyond a few rounds of the pipeline.
  const int rounds = 4 * plan.pipeline;
  if (shape.microbatches > rounds) shape.microbatches = rounds;
  LiveKey key{plan.schedule, plan.pipeline, plan.virtual_stages, shape.microbatches, plan.overlap_expert};
  const auto known = live_.find(key);
  if (known != live_.end()) return known->second;
  const auto schedule = pipeline_of(plan);
  std::vector<double> live(static_cast<std::size_t>(plan.pipeline), 1);
  for (int stage = 0; schedule && schedule->refusal(shape).empty() && stage < plan.pipeline; ++stage) {
    std::int64_t now = 0;
    std::int64_t most = 0;
    for (const work::PipelineOp& op : schedule->order(shape, stage)) {
      if (op.pass == work::PipelinePass::kForward) most = std::max(most, ++now);
      if (op.pass == work::PipelinePass::kBackward || op.pass == work::PipelinePass::kBackwardWeight) --now;
    }
    live[static_cast<std::size_t>(stage)] = static_cast<double>(most);
  }
  return live_.emplace(std::move(key), std::move(live)).first->second;
}

double PlanBounds::memory_bytes(const PlanCandidate& candidate) {
  const work::TrainingSetup setup = setup_of(space_, candidate);
  const auto schedule = pipeline_of(setup.plan);
  const std::vector<double>& live = live_chunks(setup);
  const double experts_load = work::ExpertShapes{setup}.load();
  double most = 0;
  for (int stage = 0; stage < setup.plan.pipeline; ++stage) {
    const work::StageModel model = work::stage_model(setup, schedule.get(), stage);
    work::StageParameters held;
    double chunk_least = std::numeric_limits<double>::infinity();
    for (const work::StageChunk& chunk : model.chunks) {
      const work::StageParameters one =
          work::stage_parameters(setup.model, setup.plan, chunk.first, chunk.last, chunk.has_embedding, chunk.has_head);
      held.dense += one.dense;
      held.experts += one.experts;
      double bytes = 0;
      for (std::int64_t layer = chunk.first; layer < chunk.last; ++layer) {
        bytes += work::activation_bytes(setup.model, layer, setup.plan, setup.batch, setup.precision, experts_load);
      }
      chunk_least = std::min(chunk_least, bytes);
    }
    const work::StateBytes states = work::state_bytes(held, held, setup.plan, setup.precision, setup.moments());
    // FSDP has no whole gradients; they come and go.
    const bool is_fsdp = setup.plan.data_parallelism == work::DataParallelism::kFsdp;
    const double resident = is_fsdp ? states.parameters + states.optimizer : states.total();
    most = std::max(most, resident + live[static_cast<std::size_t>(stage)] * chunk_least);
  }
  return most;
}

}  // namespace weft::plan
