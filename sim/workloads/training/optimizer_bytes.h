// Memory traffic of optimizers, bytes per parameter (models/workloads §1.3).
#pragma once

#include "sim/workloads/parallel/plan.h"
#include "sim/workloads/training/training.h"

namespace weft::work {

// Kernels that pass over all parameters: one where fused, of "foreach" one for each operation of Adam.
[[nodiscard]] constexpr int optimizer_passes(OptimizerKind kind) { return kind == OptimizerKind::kAdamForeach ? 8 : 1; }

// Over all passes. Fused Adam reads the gradient and reads and writes both moments and the parameter (its fp32 copy, where
// there is one, besides writing the parameter): 14 B where all are bf16, 28 B with fp32 states and gradients in bf16.
// `momentum`: of SGD, read and written.
[[nodiscard]] inline double optimizer_bytes(const PrecisionPlan& precision, OptimizerKind kind, bool momentum = false) {
  const double gradient = bytes_per_element(precision.gradients);
  const double moment = bytes_per_element(precision.optimizer);
  const double parameter = bytes_per_element(precision.parameters);
  const double master = precision.master_parameters ? 8 : parameter;
  switch (kind) {
    case OptimizerKind::kAdamFused:
      return gradient + 4 * moment + master + parameter;
    // Decay, both moments (2 + 3 + 2 + 3 accesses), root, division and sum of the denominator (2 + 2 + 2), update (4).
    case OptimizerKind::kAdamForeach:
      return 20 * moment;
    case OptimizerKind::kSgd:
      return gradient + master + parameter + (momentum ? 2 * moment : 0);
  }
  return 0;
}

// Megatron-LM keeps masters in fp32 beside the parameters: gradients are cast for Adam, which does not see the parameters, and
// masters are cast back (distrib_optimizer.py, optimizer.py). Moments of fewer bits are its precision-aware optimizer's, which
// casts in its own kernel.
[[nodiscard]] inline bool has_cast_masters(const PrecisionPlan& precision, OptimizerKind kind) {
  return kind == OptimizerKind::kAdamFused && precision.master_parameters && precision.optimizer == Precision::kFp32;
}

}  // namespace weft::work
