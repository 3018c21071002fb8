// Kernels that a layer of Megatron-LM runs beside its products, norms and attention: biases, and layouts of Q, K
// and V. Which ones follows from what its modules are made of (TransformerImpl).
//
// Transformer Engine has QKV's bias and its gradient in the products' epilogues. Its attention takes Q, K and V as
// they lie in one tensor where nothing has moved them. The other biases are left to Megatron-LM's own kernels by either
// (skip_bias_add). Other frameworks run none of these.
#pragma once

#include <cstdint>

#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

// Megatron-LM's own modules: also before FlashAttention and Transformer Engine.
[[nodiscard]] bool runs_local(const TrainingSetup& setup);

// After QKV's product.
void bias_of_qkv(StepEmitter& emit);
// Sums over the tokens.
void bias_gradients(StepEmitter& emit, std::int64_t layer);

// Around attention. The context is the output's heads side by side.
void layout_of_qkv(StepEmitter& emit);
void layout_of_context(StepEmitter& emit);
void gradient_layout_of_context(StepEmitter& emit);
// After the rotary embedding's gradient: dQ, dK and dV to the one tensor that QKV's product wrote.
void gradients_of_qkv_to_one(StepEmitter& emit);

}  // namespace weft::work
