// Layer operators with fused kernels, and what sets frameworks that run them apart.
#pragma once

#include <memory>

#include "sim/workloads/training/layer_operators.h"

namespace weft::work {

// As Megatron-LM has it where nothing is said.
struct FusedStyle {
  FrameworkTraits traits = {};
  double rotary_bytes = 0;  // read and written per element of queries and keys; 0: each once, by one kernel
  // Recomputation by operators leaves the activation to the kernel of its backward pass, which writes its output again.
  bool activation_again_in_backward = false;
  // A recomputed layer is run as far as its backward pass reads: without its last product.
  bool stops_recomputing_early = false;
};

[[nodiscard]] std::unique_ptr<LayerOperators> fused_operators(const FusedStyle& style);

}  // namespace weft::work
