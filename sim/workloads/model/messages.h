// Bytes that a model's tensors put on the wire under a plan, by the axis of parallelism they serve (models/workloads §2). What
// a collective makes of them is coll::bus_factor's matter; when they are sent, a program's.
#pragma once

#include "sim/workloads/model/transformer.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::work {

// The hidden states of one microbatch, b s h w / c: what tensor parallelism all-reduces (or gathers and reduce-scatters).
[[nodiscard]] double hidden_state_bytes(const TransformerModel& model, const ParallelPlan& plan, const Batch& batch,
                                        Precision precision);

// Expert dispatch or combine of one rank's `tokens`: a copy for each expert a token visits.
struct ExpertMessage {
  double payload = 0;
  double scales = 0;  // fp8: 4 bytes for 128 elements (DeepSeek-V3)
  [[nodiscard]] double total() const { return payload + scales; }
};
[[nodiscard]] ExpertMessage expert_message_bytes(const TransformerModel& model, double tokens, Precision precision);

}  // namespace weft::work
