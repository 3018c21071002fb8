// Orders that several schedules are made of, and refusals that several share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/workloads/parallel/pipeline_schedule.h"

namespace weft::work {

// One op of each of microbatches 0 .. m-1 of the only chunk.
[[nodiscard]] std::vector<PipelineOp> passes(PipelinePass pass, int microbatches);

// `warmup` forwards, then forward and backward in turn while there are forwards, then the backwards left. `together`: each
// forward of the middle runs with its backward.
[[nodiscard]] std::vector<PipelineOp> in_turn(std::span<const PipelineOp> forwards, std::span<const PipelineOp> backwards,
                                              int warmup, bool together);

// Zero-bubble orders of one chunk [ZB]: `warmup` forwards, then for each microbatch its input gradient, the weight gradient of
// the microbatch `delay` before it, and the next forward; the weight gradients left come last. At most warmup + delay
// microbatches are in flight.
[[nodiscard]] std::vector<PipelineOp> with_late_weights(int microbatches, int warmup, int delay);

// One chunk per rank and no overlapped experts; empty where that holds. `name`: of the schedule.
[[nodiscard]] std::string one_chunk_refusal(const PipelineShape& shape, std::string_view name);

}  // namespace weft::work
