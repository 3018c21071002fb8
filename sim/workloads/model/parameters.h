// How many parameters a transformer has, by the part they belong to (models/workloads §1.1). Exact integers.
#pragma once

#include <cstdint>

#include "sim/workloads/model/transformer.h"

namespace weft::work {

// Parameters of one layer, apart where tensor parallelism treats them apart. It shards matrices but keeps norms, routers and
// MLA's down-projections whole.
struct LayerParameters {
  std::int64_t qkv = 0;      // Q, K, V and gates; of MLA what makes them of h or of its latents; what a recurrence reads
  std::int64_t latent = 0;   // MLA's projections of h down to its latents, and what chooses keys
  std::int64_t proj = 0;     // attention's output
  std::int64_t mlp = 0;      // dense MLP matrices, or shared experts'
  std::int64_t experts = 0;  // all routed experts' matrices
  std::int64_t router = 0;
  std::int64_t norms = 0;   // block norms, inner norms of MLA, norms of queries and keys
  std::int64_t biases = 0;  // of linear layers, sinks, convolutions of a few taps

  [[nodiscard]] std::int64_t total() const { return qkv + latent + proj + mlp + experts + router + norms + biases; }
  // That work for one token: all but the routed experts it does not visit.
  [[nodiscard]] std::int64_t active(const MixtureOfExperts& moe) const;
};

[[nodiscard]] LayerParameters shape_parameters(const TransformerModel& model, const LayerShape& shape);
[[nodiscard]] LayerParameters layer_parameters(const TransformerModel& model, std::int64_t layer);
[[nodiscard]] std::int64_t embedding_parameters(const TransformerModel& model);  // V h, and learned positions
[[nodiscard]] std::int64_t head_parameters(const TransformerModel& model);       // 0 where tied
[[nodiscard]] std::int64_t final_norm_parameters(const TransformerModel& model);
[[nodiscard]] std::int64_t total_parameters(const TransformerModel& model);
[[nodiscard]] std::int64_t active_parameters(const TransformerModel& model);
// Multi-token prediction (DeepSeek-V3 §2.2): each module is one layer like the last (or mtp_layers) and a projection of 2h to
// h, with three norms; embedding and head are the model's.
[[nodiscard]] std::int64_t mtp_parameters(const TransformerModel& model);
// Megatron's: vocab up to a multiple of 128 t.
[[nodiscard]] std::int64_t padded_vocab(std::int64_t vocab, int tensor);

}  // namespace weft::work
