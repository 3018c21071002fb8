// One pipeline stage's part of the model, and what one of its ranks computes: chunks of layers, parameter tensors, token counts
// and widths after sharding.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workloads/kernels/experts.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/training/training.h"

namespace weft::work {

enum class TensorKind : std::uint8_t {
  kEmbedding,
  kAttentionNorm,
  kQkv,
  kProj,
  kMlpNorm,
  kUp,  // of gated MLPs both halves
  kDown,
  kRouter,
  kSharedUp,
  kSharedDown,
  kExpertUp,
  kExpertDown,
  kFinalNorm,
  kHead,
};

// A parameter tensor as one rank holds it before any sharding over data. Biases belong to their matrix.
struct ParameterTensor {
  TensorKind kind = TensorKind::kEmbedding;
  std::int64_t layer = -1;
  std::int64_t held = 0;       // elements
  std::int64_t trainable = 0;  // of LoRA: the adapters'
  [[nodiscard]] bool is_expert() const { return kind == TensorKind::kExpertUp || kind == TensorKind::kExpertDown; }
  [[nodiscard]] bool is_norm() const {
    return kind == TensorKind::kAttentionNorm || kind == TensorKind::kMlpNorm || kind == TensorKind::kFinalNorm;
  }
};

// A model chunk of a stage: layers [first, last).
struct StageChunk {
  int position = 0;  // of `positions` in order of the forward pass
  int positions = 1;
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool has_embedding = false;
  bool has_head = false;
};

struct StageModel {
  int stage = 0;
  std::vector<StageChunk> chunks;

  [[nodiscard]] bool has_embedding() const;
  [[nodiscard]] bool has_head() const;
};

// Layers at each of a schedule's positions: an even share per stage, or as the plan says for the first and the last one.
// A stage's remainder goes to its later chunks, on the last stage to its earlier ones: away from embedding and head.
// `schedule` may be null for a pipeline of one stage.
[[nodiscard]] std::vector<std::int64_t> layers_by_position(const TransformerModel& model, const ParallelPlan& plan,
                                                           const PipelineShape& shape, const PipelineSchedule* schedule);
[[nodiscard]] StageModel stage_model(const TrainingSetup& setup, const PipelineSchedule* schedule, int stage);

// In order of registration. `replicated_vocabulary`: every tensor rank holds the whole embedding and head.
[[nodiscard]] std::vector<ParameterTensor> layer_tensors(const TrainingSetup& setup, std::int64_t layer);
[[nodiscard]] std::vector<std::vector<ParameterTensor>> stage_tensors(const TrainingSetup& setup, const StageModel& stage,
                                                                      bool replicated_vocabulary);  // by chunk
// Elements of them, `trainable` or held.
[[nodiscard]] StageParameters count(const std::vector<ParameterTensor>& tensors, bool trainable);

// Sizes of one microbatch on one rank.
struct RankShapes {
  explicit RankShapes(const TrainingSetup& setup);

  std::int64_t sequences = 1;    // b
  std::int64_t sequence = 0;     // s / c
  std::int64_t tokens = 0;       // b s / c
  std::int64_t norm_tokens = 0;  // outside the tensor-parallel regions: tokens / t under sequence parallelism
  std::int64_t hidden = 0;
  std::int64_t heads = 0;            // a / t
  std::int64_t kv_heads = 0;         // kv / t, at least 1
  std::int64_t qkv_width = 0;        // (a + 2 kv) d_h / t
  std::int64_t attention_width = 0;  // a d_v / t
  std::int64_t ffn = 0;              // f / t
  std::int64_t vocab = 0;            // V / t, padded; of frameworks that replicate it the caller takes the model's
  double width = 2;                  // bytes of an activation element
  [[nodiscard]] std::int64_t activation_bytes(std::int64_t elements) const {
    return static_cast<std::int64_t>(static_cast<double>(elements) * width);
  }
  // S of models/workloads §2.4: b s h w / c.
  [[nodiscard]] Bytes hidden_bytes() const { return Bytes{activation_bytes(tokens * hidden)}; }
};

// Nodes that a token visits whose `picks` fall uniformly on `nodes` of them, picks with replacement (models/workloads §2.7).
[[nodiscard]] double expected_nodes(double nodes, double picks);

// The load of the rank whose experts have most to do, by `expert_load.power_law`, of `tokens` that each rank routes.
[[nodiscard]] ExpertVisits drawn_expert_load(const TrainingSetup& setup, std::int64_t tokens);

// Routed experts' tokens on one rank, of one microbatch (models/workloads §2.7).
//
// Model: where routing is limited to some nodes and an expert group spans several, or `dispatch: per_node` says so, a token's
// copies to one node travel as one, and are multiplied there at no cost (DeepEP); elsewhere each copy travels.
//
// Model: every rank of an expert group does what its most loaded one does. With a capacity every expert is full.
struct ExpertShapes {
  explicit ExpertShapes(const TrainingSetup& setup);

  // Rows of a rank's experts over those of an even share.
  [[nodiscard]] double load() const { return copies > 0 ? static_cast<double>(sent) / static_cast<double>(copies) : 1; }

  std::int64_t tokens = 0;         // a rank routes
  std::int64_t copies = 0;         // tokens x k
  std::int64_t sent = 0;           // token copies it dispatches: tokens x k, or all experts' capacity
  std::int64_t local_experts = 0;  // E / e
  std::int64_t per_expert = 0;     // token copies one local expert computes
  std::int64_t ffn = 0;            // f_e / t_e
  std::int64_t shared_ffn = 0;     // E_shared f_e / t
  Bytes dispatch;                  // on the wire: sent x h, less what is merged
  Bytes combine;
};

}  // namespace weft::work
