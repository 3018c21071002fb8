#include "sim/workloads/parallel/pipeline_schedule.h"

#include "sim/core/config/defaults.h"
#include "sim/core/error.h"

namespace weft::work {

PipelineShape pipeline_shape(const ParallelPlan& plan, const Batch& batch) {
  return {.stages = plan.pipeline,
          .microbatches = static_cast<int>(batch.microbatches(plan)),
          .virtual_stages = plan.virtual_stages,
          .group = plan.microbatch_group,
          .overlap_expert = plan.overlap_expert && plan.expert > 1};
}

int PipelineSchedule::chunk_at(const PipelineShape& shape, int position, int chunk) const {
  const int stage = stage_at(shape, position, chunk);
  int held = 0;
  while (place(shape, stage, held).position != position) {
    ++held;
    WEFT_CHECK(held < chunks(shape));  // a stage holds each position that stage_at() says it holds
  }
  return held;
}

const Registry<PipelineSchedule>& pipeline_schedules() {
  static const Registration<PipelineSchedule>* const kEntries[] = {
#define WEFT_PIPELINE_SCHEDULE(name) &builtin::name,
#include "sim/workloads/parallel/schedules.def"
  };
  static const Registry<PipelineSchedule> kRegistry{"pipeline schedule", kEntries};
  return kRegistry;
}

std::unique_ptr<PipelineSchedule> make_pipeline_schedule(std::string_view name) {
  const Registration<PipelineSchedule>* entry = pipeline_schedules().find(name);
  WEFT_CHECK(entry != nullptr);
  return make_with_defaults(*entry);
}

}  // namespace weft::work
