// Counts in closed form what a rank must hold: parameters, gradients, optimizer states and activations (models/workloads §1.4,
// §1.5). Tests compare a program's own account of live activations (MemoryChange) with these.
#pragma once

#include <cstdint>

#include "sim/workloads/model/transformer.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::work {

// The parameters one rank of a pipeline stage holds, before any sharding over data.
struct StageParameters {
  std::int64_t dense = 0;    // replicated over data x context
  std::int64_t experts = 0;  // replicated over expert_data
  [[nodiscard]] std::int64_t total() const { return dense + experts; }
};
// Layers [first, last) of the model; `has_embedding` and `has_head` of the first and the last stage.
[[nodiscard]] StageParameters stage_parameters(const TransformerModel& model, const ParallelPlan& plan, std::int64_t first,
                                               std::int64_t last, bool has_embedding, bool has_head);

struct StateBytes {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  [[nodiscard]] double total() const { return parameters + gradients + optimizer; }
};
// Resident all the step long. `trainable` is below `held` under LoRA. `moments` of the optimizer: two of Adam.
[[nodiscard]] StateBytes state_bytes(const StageParameters& held, const StageParameters& trainable, const ParallelPlan& plan,
                                     const PrecisionPlan& precision, int moments = 2);

// Bytes that the forward pass of one microbatch of one layer leaves for the backward pass, on one rank. With recomputation: the
// layer's input.
// `experts_load`: rows that the rank's experts get, over those of an even share without padding.
[[nodiscard]] double activation_bytes(const TransformerModel& model, std::int64_t layer, const ParallelPlan& plan,
                                      const Batch& batch, const PrecisionPlan& precision, double experts_load = 1);
// Korthikanti's coefficients: bytes over s b h of one layer of a GPT without flash attention.
[[nodiscard]] double korthikanti_coefficient(const TransformerModel& model, const ParallelPlan& plan, double sequence);

// Key/value cache, bytes per token over all layers and one replica (MLA: not divided by tensor parallelism).
// Layers with a window count as the others.
[[nodiscard]] double kv_bytes_per_token(const TransformerModel& model, Precision precision);
// States of recurrent layers, in fp32, bytes per sequence however long (transformers: mamba_ssm_cache_dtype).
[[nodiscard]] double state_bytes_per_sequence(const TransformerModel& model);

}  // namespace weft::work
