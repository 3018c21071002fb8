// Tensor-parallel linear layers as Megatron-LM runs them (models/workloads §2.4): column-parallel (outputs split) and
// row-parallel (inputs split), with sequence parallelism or without, and with LoRA adapters.
//
// Communication of the backward pass runs beside the GEMM that does not need it: a column-parallel layer's input is gathered
// again beside its input gradient, and that is reduced beside the weight gradient. Forward it blocks, unless `overlap_tensor`
// cuts it into t chunks, of which only one is not beside its own GEMM. Frameworks may block backward too, and keep what they
// gathered (FrameworkTraits).
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/workloads/training/gradient_sync.h"
#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

enum class Split : std::uint8_t { kColumn, kRow, kNone };

// y[rows, out] = x[rows, in] W[in, out], `batch` of them in one kernel. Sizes of one rank.
struct SplitLinear {
  TensorKind kind = TensorKind::kQkv;
  Split split = Split::kNone;
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t batch = 1;
  std::string_view lora = {};  // the adapters' target name
  std::string_view name = {};
};

void linear_forward(StepEmitter& emit, const SplitLinear& linear);
void linear_backward(StepEmitter& emit, GradientSync& gradients, const SplitLinear& linear, BackwardPart part);

}  // namespace weft::work
