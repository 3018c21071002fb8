#include "sim/workloads/model/memory.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"
#include "sim/workloads/model/parameters.h"

namespace weft::work {
namespace {

// Key/value heads on one rank: where there are fewer than ranks, each rank keeps one.
std::int64_t local_kv_heads(const TransformerModel& model, int tensor) { return ceil_div(model.kv_heads, tensor); }

// Returns what tensor parallelism leaves of one layer on one rank. Matrices are sharded with the biases of their columns; the
// rest is whole.
StageParameters local_layer(const TransformerModel& model, const LayerShape& shape, const ParallelPlan& plan) {
  const int t = plan.tensor;
  const Mixer& m = shape.mixer;
  const LayerParameters p = shape_parameters(model, shape);
  StageParameters out;
  out.dense = p.latent + p.router + p.norms + ceil_div(p.proj, t) + ceil_div(p.mlp, t);
  std::int64_t column_biases = 0;
  if (m.kind != AttentionKind::kGrouped) {
    out.dense += ceil_div(p.qkv, t);
  } else {
    const auto width = [&m](std::int64_t heads, std::int64_t kv_heads) {
      const std::int64_t keys = m.shares_cache ? 0 : kv_heads * m.head_dim;
      const std::int64_t values = m.shares_cache || m.keys_are_values ? 0 : kv_heads * m.value_dim;
      return heads * m.head_dim + keys + values;
    };
    const std::int64_t local_width = width(ceil_div(m.heads, t), ceil_div(m.kv_heads, t));
    out.dense += model.hidden * (local_width + ceil_div(m.gate_width, t));
    if (m.qkv_bias) {
      column_biases += width(m.heads, m.kv_heads);
      out.dense += local_width;
    }
  }
  if (shape.feed.bias) {
    const std::int64_t inner = (shape.feed.matrices() - 1) * shape.feed.ffn;
    column_biases += inner;
    out.dense += ceil_div(inner, t);
  }
  out.dense += p.biases - column_biases;
  const MixtureOfExperts& moe = shape.feed.moe;
  if (moe.experts > 0) {
    out.experts = ceil_div(moe.experts, plan.expert) * ceil_div(p.experts / moe.experts, plan.expert_tensor_size());
  }
  return out;
}

// Over how many ranks the optimizer's states, the gradients and the parameters are sharded.
struct Shards {
  int optimizer = 1;
  int gradients = 1;
  int parameters = 1;
};

Shards shards_over(int replicas, const ParallelPlan& plan) {
  int level = plan.zero;
  if (plan.data_parallelism == DataParallelism::kDistributedOptimizer) level = std::max(level, 1);
  if (plan.data_parallelism == DataParallelism::kFsdp || plan.data_parallelism == DataParallelism::kDeepSpeed2021) {
    level = 3;
    if (plan.fsdp_shard > 0) replicas = std::min(replicas, plan.fsdp_shard);
  }
  return {level >= 1 ? replicas : 1, level >= 2 ? replicas : 1, level >= 3 ? replicas : 1};
}

void add_state(std::int64_t held, std::int64_t trainable, const Shards& shards, const PrecisionPlan& precision, int moments,
               StateBytes& out) {
  const bool stored_in_fp32 = bytes_per_element(precision.parameters) == 4;
  const double per_parameter =
      moments * bytes_per_element(precision.optimizer) + (precision.master_parameters && !stored_in_fp32 ? 4 : 0);
  out.parameters += bytes_per_element(precision.parameters) * static_cast<double>(held) / shards.parameters;
  out.gradients += bytes_per_element(precision.gradients) * static_cast<double>(trainable) / shards.gradients;
  out.optimizer += per_parameter * static_cast<double>(trainable) / shards.optimizer;
}

// Elements per token that a layer's attention keeps, apart from its normalized input: those that sequence parallelism shards
// and those that are split over heads.
struct Kept {
  double whole = 0;
  double sharded = 0;  // over tensor parallelism
};

Kept kept_by_attention(const TransformerModel& m, int tensor) {
  const auto t = static_cast<double>(tensor);
  if (m.attention == AttentionKind::kLatent) {
    // The latents before and after their norms; then Q, K, V and the output.
    const auto latents = static_cast<double>(2 * (m.latent.query_rank + m.latent.kv_rank) + m.latent.rope_dim);
    return {latents, static_cast<double>(2 * m.heads * (m.score_dim() + m.value_dim())) / t};
  }
  const double heads = static_cast<double>(m.heads) / t;
  const auto kv_heads = static_cast<double>(local_kv_heads(m, tensor));
  double kept = 2 * heads + 2 * kv_heads;
  if (m.qk_norm) kept += heads + kv_heads;  // what the norms read
  return {0, kept * static_cast<double>(m.head_dim)};
}

// Model: what experts return is not kept for the gradient of their weights.
// Bytes of the routed experts: the tokens they were sent, what their first matrices gave, and the product that the last one
// reads (models/workloads §1.6).
double kept_by_experts(const TransformerModel& m, const ParallelPlan& plan, double tokens, double width) {
  const double expert_tensor = plan.expert_tensor_size();
  double rows = tokens * static_cast<double>(m.moe.experts_per_token);
  // Under sequence parallelism a rank routes its own tokens only, and those of an expert's tensor group are gathered.
  if (plan.sequence_parallel) rows *= expert_tensor / plan.tensor;
  const auto inner = static_cast<double>(m.mlp_matrices() * m.moe.expert_ffn);
  constexpr double kIndexBytes = 4;  // where a row came from
  return rows * (width * (static_cast<double>(m.hidden) + inner / expert_tensor) + kIndexBytes);
}

}  // namespace

StageParameters stage_parameters(const TransformerModel& model, const ParallelPlan& plan, std::int64_t first, std::int64_t last,
                                 bool has_embedding, bool has_head) {
  StageParameters out;
  for (std::int64_t layer = first; layer < last; ++layer) {
    const StageParameters one = local_layer(model, layer_shape(model, layer), plan);
    out.dense += one.dense;
    out.experts += one.experts;
  }
  // Model: the vocabulary is split as evenly as it goes, without Megatron's padding.
  const std::int64_t table = ceil_div(model.vocab, plan.tensor) * model.hidden;
  if (has_embedding) out.dense += table + model.learned_positions * model.hidden;
  // A tied head on another stage is a copy of the embedding.
  if (has_head && !(model.tied_embedding && has_embedding)) out.dense += table;
  if (has_head) out.dense += final_norm_parameters(model) + (model.head_bias ? ceil_div(model.vocab, plan.tensor) : 0);
  return out;
}

StateBytes state_bytes(const StageParameters& held, const StageParameters& trainable, const ParallelPlan& plan,
                       const PrecisionPlan& precision, int moments) {
  StateBytes out;
  add_state(held.dense, trainable.dense, shards_over(plan.data * plan.context, plan), precision, moments, out);
  add_state(held.experts, trainable.experts, shards_over(std::max(plan.expert_data(), 1), plan), precision, moments, out);
  return out;
}

double activation_bytes(const TransformerModel& model, std::int64_t layer, const ParallelPlan& plan, const Batch& batch,
                        const PrecisionPlan& precision, double experts_load) {
  // Model: inputs of matrices are kept in the precision of activations, of fp8 training too.
  const double width = bytes_per_element(precision.activations);
  const double tokens = static_cast<double>(batch.micro * batch.sequence) / plan.context;
  const double t = plan.tensor;
  const double whole_over = plan.sequence_parallel ? t : 1;
  const auto hidden = static_cast<double>(model.hidden);
  if (plan.recompute == Recompute::kFull) return tokens * hidden * width / whole_over;

  if (plan.recompute == Recompute::kOperators) {
    // The layer's input and the last product, what each rank of a tensor group reduced; Q, V, attention's output with the rows'
    // logarithms, and the first product of the MLP.
    const std::int64_t heads =
        2 * model.heads * model.head_dim + local_kv_heads(model, plan.tensor) * plan.tensor * model.head_dim;
    const double whole = (plan.tensor > 1 ? 3 : 2) * hidden;
    return tokens * (width * (whole / whole_over + static_cast<double>(heads + model.ffn) / t) +
                     4 * static_cast<double>(model.heads) / t);
  }

  // Inputs of both norms and of both first matrices; a parallel block has one of each.
  const double inputs = (model.parallel_block ? 2 : 4) * hidden;
  const Kept attention = kept_by_attention(model, plan.tensor);
  double bytes = tokens * width * ((inputs + attention.whole) / whole_over + attention.sharded);
  const bool is_moe = model.is_moe_layer(layer);
  const std::int64_t ffn = is_moe ? model.moe.shared_experts * model.moe.expert_ffn : model.ffn;
  // Gate and up projection and their product, or the activation function's input and output.
  bytes += tokens * width * static_cast<double>(model.mlp_matrices() * ffn) / t;
  if (is_moe) bytes += experts_load * kept_by_experts(model, plan, tokens, width);
  // Flash attention keeps the fp32 logarithm of each row's sum instead of scores; recomputed, not even that.
  if (plan.recompute == Recompute::kNone) bytes += 4 * tokens * static_cast<double>(model.heads) / t;
  if (model.dropout > 0) bytes += 2 * tokens * hidden / whole_over;  // masks of one byte behind attention and MLP
  return bytes;
}

double korthikanti_coefficient(const TransformerModel& model, const ParallelPlan& plan, double sequence) {
  const double t = plan.tensor;
  const double scores = 5 * static_cast<double>(model.heads) * sequence / static_cast<double>(model.hidden);
  switch (plan.recompute) {
    case Recompute::kFull:
      return plan.sequence_parallel ? 2 / t : 2;
    case Recompute::kSelective:
      return plan.sequence_parallel ? 34 / t : 10 + 24 / t;
    case Recompute::kNone:
    case Recompute::kOperators:
      return plan.sequence_parallel ? (34 + scores) / t : 10 + 24 / t + scores / t;
  }
  WEFT_CHECK(false);
}

double kv_bytes_per_token(const TransformerModel& model, Precision precision) {
  std::int64_t elements = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) elements += layer_shape(model, layer).mixer.cache_elements();
  return static_cast<double>(elements) * bytes_per_element(precision);
}

double state_bytes_per_sequence(const TransformerModel& model) {
  std::int64_t elements = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) elements += layer_shape(model, layer).mixer.state_elements();
  return 4 * static_cast<double>(elements);
}

}  // namespace weft::work
