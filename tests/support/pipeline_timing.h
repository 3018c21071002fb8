// Times a pipeline whose stages run their orders strictly in order: exact, without a network or GPUs. Tests hold schedules to
// published bubbles with it, and see that an order can be executed at all.
//
//   const PipelineTiming timing = time_pipeline(*make_pipeline_schedule("zb_h1"), {.stages = 4, .microbatches = 8},
//                                               {.passes = {{.forward = 1_ms, .backward_input = 1_ms, .backward_weight =
//                                               1_ms}}});
//   timing.makespan;  // 27 ms
//
// Passes wait for each other (models/workloads §3). A forward waits for that of the position before. A backward, full or of
// inputs, waits for its own forward and the backward of the position after. A weight gradient waits for its own input gradient.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/workloads/parallel/pipeline_schedule.h"

namespace weft::work {

// Times of one microbatch in the layers of one position.
struct PassTimes {
  Duration forward = {};
  Duration backward_input = {};
  Duration backward_weight = {};  // a full backward takes both
  // The forward of this position together with a full backward (PipelineOp::with_next); 0: one after the other.
  Duration overlapped = {};
};

struct PipelineCosts {
  std::vector<PassTimes> passes = {};  // by position (ChunkPlace); one: the same at all positions
  Duration p2p = {};                   // from one stage to another
};

struct StageTiming {
  Time first_start = {};
  Time last_end = {};
  Duration busy = {};
  // Most microbatches (of one chunk each) whose activations are held: from their forward to the end of their full backward or
  // weight gradient.
  int peak_in_flight = 0;
};

struct PipelineTiming {
  Duration makespan = {};  // from time 0 to the last end of any stage
  std::vector<StageTiming> stages = {};
  std::string deadlock = {};  // the stage and op that wait for ever; empty: none. All else is then that of the ops before

  [[nodiscard]] Duration idle(int stage) const { return makespan - stages[static_cast<std::size_t>(stage)].busy; }
  // Idle over busy time of all stages, within the makespan.
  [[nodiscard]] double bubble_fraction() const;
  // The longest any stage takes from its first start to its last end: what [ZB] call the cost of a schedule.
  [[nodiscard]] Duration longest_span() const;
};

[[nodiscard]] PipelineTiming time_pipeline(const PipelineSchedule& schedule, const PipelineShape& shape,
                                           const PipelineCosts& costs);
// With orders of one's own, by stage, on the schedule's placement.
[[nodiscard]] PipelineTiming time_orders(const PipelineSchedule& schedule, const PipelineShape& shape,
                                         std::span<const std::vector<PipelineOp>> orders, const PipelineCosts& costs);

// "F3", "B3" (full), "b3" (inputs only), "W3", with ".chunk" behind where the chunk is not 0.
[[nodiscard]] std::string to_string(const PipelineOp& op);

}  // namespace weft::work
