// Closed forms of papers, which tests compare with what Weft counts.
#pragma once

#include <cstdint>

#include "sim/workloads/model/memory.h"
#include "sim/workloads/model/messages.h"

namespace weft::work {

// FLOPs of a GPT's step: 72 without recomputation, 96 with all of it (Narayanan 2021, eq. 3).
inline double gpt_72_form(double batch, double sequence, double layers, double hidden, double vocab) {
  return 72 * batch * sequence * layers * hidden * hidden * (1 + sequence / (6 * hidden) + vocab / (12 * layers * hidden));
}

inline double gpt_96_form(double batch, double sequence, double layers, double hidden, double vocab) {
  return 96 * batch * sequence * layers * hidden * hidden * (1 + sequence / (6 * hidden) + vocab / (16 * layers * hidden));
}

// Parameters of a GPT (Narayanan 2021, eq. 2): tied head, learned positions, biases; without the final norm.
inline std::int64_t gpt_closed_form(std::int64_t layers, std::int64_t hidden, std::int64_t vocab, std::int64_t positions) {
  // 12 L h^2 (1 + 13 / (12 h) + (V + s) / (12 L h)), multiplied out.
  return layers * hidden * (12 * hidden + 13) + (vocab + positions) * hidden;
}

// Bytes of the first pipeline stage, as figure 1 of Korthikanti 2022 counts them.
inline double korthikanti_first_stage(const TransformerModel& model, const ParallelPlan& plan, const Batch& batch) {
  // p microbatches of L/p layers; interleaving holds (p - 1)/(p v) more. Without embedding dropout, last norm and logits.
  const double p = plan.pipeline;
  const double interleaving = plan.virtual_stages > 1 ? 1 + (p - 1) / (p * plan.virtual_stages) : 1;
  return static_cast<double>(model.layers * batch.micro * batch.sequence * model.hidden) * interleaving *
         korthikanti_coefficient(model, plan, static_cast<double>(batch.sequence));
}

// Returns the bytes that one rank sends to the next pipeline stage: its share of the hidden states. `scattered`: by Megatron's
// scatter/gather each rank of a tensor group sends a part, even where all hold the whole.
inline double pipeline_message_bytes(const TransformerModel& model, const ParallelPlan& plan, const Batch& batch,
                                     Precision precision, bool scattered) {
  const double whole = hidden_state_bytes(model, plan, batch, precision);
  return plan.sequence_parallel || scattered ? whole / plan.tensor : whole;
}

}  // namespace weft::work
