// A mixture-of-experts layer as Megatron-core runs it (models/workloads §2.7): router, permutation, dispatch, grouped GEMMs,
// combination, and shared experts.
#pragma once

#include "sim/workloads/training/gradient_sync.h"
#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

void experts_forward(StepEmitter& emit);
void experts_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part);

// SwiGLU or GELU over `elements` outputs in one kernel, which moves as many tensors as it takes and `more`.
void fused_activation(StepEmitter& emit, std::int64_t elements, bool backward, int more = 0);

}  // namespace weft::work
