// Attention of one layer with its context-parallel communication (models/workloads §2.5), between the QKV and the output
// projection.
#pragma once

#include <cstdint>

#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

void attention_forward(StepEmitter& emit, std::int64_t layer);
void attention_backward(StepEmitter& emit, std::int64_t layer);
// Bytes of scores that a layer keeps for its backward pass: none with flash attention or selective recomputation.
[[nodiscard]] std::int64_t saved_scores(const StepEmitter& emit);

}  // namespace weft::work
