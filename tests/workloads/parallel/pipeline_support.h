// Pipeline orders for tests: written down as in models/workloads §3.2, timed, and checked for what every order must do.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/core/units.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "tests/support/pipeline_timing.h"

namespace weft::work::test {

using namespace weft::literals;

// "F0 F1.1 [F3|B1]": to_string() of every op, ops that run together in brackets.
inline std::string text_of(const std::vector<PipelineOp>& order) {
  std::string text;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!text.empty()) text += ' ';
    const bool pair = order[i].with_next;
    text += (pair ? "[" : "") + to_string(order[i]);
    if (pair) text += "|" + to_string(order[++i]) + "]";
  }
  return text;
}

inline std::string order_text(std::string_view schedule, const PipelineShape& shape, int stage) {
  return text_of(make_pipeline_schedule(schedule)->order(shape, stage));
}

inline std::string refusal(std::string_view schedule, const PipelineShape& shape) {
  return make_pipeline_schedule(schedule)->refusal(shape);
}

// Uniform stages without latency between them; `overlapped`: of DualPipe's pairs.
inline PipelineCosts uniform(Duration forward, Duration input, Duration weight, Duration overlapped = {}) {
  return {.passes = {{forward, input, weight, overlapped}}, .p2p = {}};
}

inline PipelineTiming timed(std::string_view schedule, const PipelineShape& shape, const PipelineCosts& costs) {
  PipelineTiming timing = time_pipeline(*make_pipeline_schedule(schedule), shape, costs);
  EXPECT_EQ(timing.deadlock, "") << schedule << " p " << shape.stages << " m " << shape.microbatches;
  return timing;
}

inline std::vector<int> peaks(const PipelineTiming& timing) {
  std::vector<int> found;
  for (const StageTiming& stage : timing.stages) found.push_back(stage.peak_in_flight);
  return found;
}

// Every stage runs each microbatch of each chunk once forward and once backward, whole or in halves.
inline void expect_complete(const PipelineSchedule& schedule, const PipelineShape& shape) {
  for (int stage = 0; stage < shape.stages; ++stage) {
    std::map<std::pair<int, int>, std::map<PipelinePass, int>> runs;
    for (const PipelineOp& op : schedule.order(shape, stage)) ++runs[{op.chunk, op.microbatch}][op.pass];
    ASSERT_EQ(static_cast<int>(runs.size()), schedule.chunks(shape) * schedule.microbatches(shape));
    for (const auto& [key, passes] : runs) {
      const std::map<PipelinePass, int> whole{{PipelinePass::kForward, 1}, {PipelinePass::kBackward, 1}};
      const std::map<PipelinePass, int> split{
          {PipelinePass::kForward, 1}, {PipelinePass::kBackwardInput, 1}, {PipelinePass::kBackwardWeight, 1}};
      EXPECT_TRUE(passes == whole || (schedule.splits_backward() && passes == split)) << "stage " << stage;
    }
  }
}

}  // namespace weft::work::test
