#include "sim/workloads/inference/layer_kernels.h"

#include <algorithm>
#include <cmath>

#include "sim/core/portable_math.h"
#include "sim/core/whole_numbers.h"

namespace weft::work {
namespace {

class LayerBuilder {
 public:
  LayerBuilder(const InferenceSetup& setup, const EnginePlan& plan, std::int64_t layer, const GroupTokens& tokens)
      : setup_{setup},
        model_{setup.model},
        plan_{plan},
        layer_{layer},
        tokens_{tokens},
        activation_{bytes_per_element(setup.precision.activations)} {}

  std::vector<Kernel> build() {
    norm();
    if (model_.attention == AttentionKind::kLatent) {
      latent_projections();
    } else {
      const std::int64_t width = (local_heads() + 2 * local_kv_heads()) * model_.head_dim;
      gemm(tokens_.total(), width, model_.hidden);
      rotary((local_heads() + local_kv_heads()) * model_.head_dim);
    }
    cache_write();
    gemm(tokens_.total(), model_.hidden, local_heads() * model_.value_dim());
    norm();
    if (model_.is_moe_layer(layer_)) {
      experts();
    } else {
      mlp(ceil_div(model_.ffn, plan_.tensor));
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::int64_t local_heads() const { return ceil_div(model_.heads, plan_.tensor); }
  [[nodiscard]] std::int64_t local_kv_heads() const { return ceil_div(model_.kv_heads, plan_.tensor); }

  // `rows` x `columns`, with weights of `inner` x `columns` each of `batch`.
  void gemm(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t batch = 1, double weights = 0) {
    if (rows == 0) return;
    Kernel kernel{.kind = KernelKind::kGemm, .precision = setup_.precision.weights, .m = rows, .n = columns, .k = inner};
    kernel.batch = batch;
    const double held = weights > 0 ? weights : static_cast<double>(batch);
    const double outer = static_cast<double>(columns) * held;
    kernel.bytes = bytes_per_element(setup_.precision.weights) * static_cast<double>(inner) * outer +
                   activation_ * static_cast<double>(rows * batch) * static_cast<double>(inner + columns);
    out_.push_back(kernel);
  }

  void memory(double elements, double bytes_per_one, KernelKind kind = KernelKind::kElementwise) {
    if (elements == 0) return;
    out_.push_back({.kind = kind, .elements = elements, .bytes = bytes_per_one * elements});
  }

  // Reads the branch and the residual, writes their sum and its norm.
  void norm() { memory(static_cast<double>(tokens_.total() * model_.hidden), 4 * activation_, KernelKind::kNormForward); }
  void rotary(std::int64_t width) { memory(static_cast<double>(tokens_.total() * width), 2 * activation_); }

  void cache_write() {
    const bool is_latent = model_.attention == AttentionKind::kLatent;
    const std::int64_t width =
        is_latent ? model_.latent.kv_rank + model_.latent.rope_dim : 2 * local_kv_heads() * model_.head_dim;
    memory(static_cast<double>(tokens_.total() * width), activation_ + bytes_per_element(setup_.kv_cache.precision));
  }

  // MLA: down to the latents on every GPU, queries up by head. Prompts expand keys and values of all they have cached; answers
  // take the expanding matrices into queries and outputs instead (DeepSeek-V2 §2.1).
  void latent_projections() {
    const LatentAttention& latent = model_.latent;
    gemm(tokens_.total(), latent.query_rank + latent.kv_rank + latent.rope_dim, model_.hidden);
    const std::int64_t from = latent.query_rank > 0 ? latent.query_rank : model_.hidden;
    memory(static_cast<double>(tokens_.total() * (latent.query_rank + latent.kv_rank)), 2 * activation_,
           KernelKind::kNormForward);
    gemm(tokens_.total(), local_heads() * model_.score_dim(), from);
    rotary(local_heads() * latent.rope_dim + latent.rope_dim);
    gemm(tokens_.prefill_rows, local_heads() * (latent.nope_dim + latent.value_dim), latent.kv_rank);
    gemm(tokens_.decode, latent.kv_rank, latent.nope_dim, local_heads());
    gemm(tokens_.decode, latent.value_dim, latent.kv_rank, local_heads());
  }

  void mlp(std::int64_t inner) {
    const std::int64_t first = (model_.mlp_matrices() - 1) * inner;
    gemm(tokens_.total(), first, model_.hidden);
    memory(static_cast<double>(tokens_.total() * (first + inner)), activation_);
    gemm(tokens_.total(), model_.hidden, inner);
  }

  // Grouped products over the experts here that any token visits.
  void experts() {
    const MixtureOfExperts& moe = model_.moe;
    gemm(tokens_.total(), moe.experts, model_.hidden);
    memory(static_cast<double>(tokens_.total() * moe.experts), 4);  // softmax and top k
    const double visits = static_cast<double>(tokens_.stage * moe.experts_per_token) / plan_.expert * setup_.expert_imbalance;
    const auto rows = static_cast<std::int64_t>(std::ceil(visits));
    const double everywhere = experts_touched(static_cast<double>(moe.experts), static_cast<double>(moe.experts_per_token),
                                              static_cast<double>(tokens_.stage));
    // The GPU with the most of them sets the pace, and has one at least.
    const double touched = std::max(1.0, everywhere / plan_.expert);
    const std::int64_t groups = std::llround(touched);
    const std::int64_t each = ceil_div(rows, groups);
    const std::int64_t inner = ceil_div(moe.expert_ffn, plan_.expert_tensor());
    const std::int64_t first = (model_.mlp_matrices() - 1) * inner;
    memory(static_cast<double>(rows * model_.hidden), 2 * activation_);  // permute
    gemm(each, first, model_.hidden, groups, touched);
    memory(static_cast<double>(rows * (first + inner)), activation_);
    gemm(each, model_.hidden, inner, groups, touched);
    memory(static_cast<double>(rows * model_.hidden), 2 * activation_);  // and back, weighted
    if (moe.shared_experts > 0) mlp(ceil_div(moe.shared_experts * moe.expert_ffn, plan_.tensor));
  }

  const InferenceSetup& setup_;
  const TransformerModel& model_;
  const EnginePlan& plan_;
  std::int64_t layer_;
  const GroupTokens& tokens_;
  double activation_;
  std::vector<Kernel> out_;
};

// Pairs of queries and keys.
double prefill_pairs(const StepMix& mix, std::int64_t window) {
  double pairs = 0;
  for (const PrefillChunk& chunk : mix.prefills) {
    const Kernel shape{.kind = KernelKind::kAttentionForward,
                       .m = chunk.tokens,
                       .n = chunk.context + chunk.tokens,
                       .k = 1,
                       .causal = true,
                       .window = window};
    pairs += static_cast<double>(chunk.tokens) * shape.keys_per_query();
  }
  return pairs;
}

}  // namespace

double experts_touched(double experts, double per_token, double tokens) {
  if (experts <= 0) return 0;
  const double missed = 1.0 - std::min(1.0, per_token / experts);
  if (missed <= 0) return experts;
  return experts * (1.0 - portable_exp(tokens * portable_log(missed)));
}

GroupTokens group_tokens(const StepMix& mix, const EnginePlan& plan) {
  GroupTokens tokens;
  const int groups = plan.attention_data;
  for (const PrefillChunk& chunk : mix.prefills) tokens.prefill_rows += chunk.context + chunk.tokens;
  tokens.prefill = ceil_div(mix.prefill_tokens(), groups);
  tokens.prefill_rows = ceil_div(tokens.prefill_rows, groups);
  tokens.decode = ceil_div(mix.decodes * mix.tokens_per_decode, groups);
  tokens.stage = mix.tokens();
  return tokens;
}

std::vector<Kernel> linear_kernels(const InferenceSetup& setup, const EnginePlan& plan, std::int64_t layer,
                                   const GroupTokens& tokens) {
  return LayerBuilder{setup, plan, layer, tokens}.build();
}

std::vector<Kernel> attention_kernels(const InferenceSetup& setup, const EnginePlan& plan, std::int64_t window,
                                      const StepMix& mix) {
  const TransformerModel& model = setup.model;
  const bool is_latent = model.attention == AttentionKind::kLatent;
  const double cached = bytes_per_element(setup.kv_cache.precision);
  const double activation = bytes_per_element(setup.precision.activations);
  const std::int64_t heads = ceil_div(model.heads, plan.tensor);
  // Cached elements of a token here.
  const std::int64_t width =
      is_latent ? model.latent.kv_rank + model.latent.rope_dim : 2 * ceil_div(model.kv_heads, plan.tensor) * model.head_dim;
  std::vector<Kernel> out;
  const GroupTokens tokens = group_tokens(mix, plan);
  const auto limited = [&](std::int64_t keys) { return window > 0 ? std::min(window, keys) : keys; };
  if (tokens.prefill > 0) {
    const double keys = prefill_pairs(mix, window) / static_cast<double>(mix.prefill_tokens());
    Kernel kernel{.kind = KernelKind::kAttentionForward,
                  .precision = setup.precision.activations,
                  .m = tokens.prefill,
                  .n = std::max<std::int64_t>(1, std::llround(keys)),
                  .k = model.score_dim(),
                  .batch = heads,
                  .causal = false,
                  .value_dim = model.value_dim()};
    const auto queries = static_cast<double>(tokens.prefill * heads * (model.score_dim() + model.value_dim()));
    kernel.bytes = activation * queries + cached * static_cast<double>(tokens.prefill_rows * width);
    out.push_back(kernel);
  }
  if (mix.decodes > 0) {
    const std::int64_t sequences = ceil_div(mix.decodes, plan.attention_data);
    const std::int64_t context = limited(ceil_div(mix.decode_context, mix.decodes) + mix.tokens_per_decode);
    // Absorbed MLA meets the latents themselves.
    const std::int64_t score = is_latent ? width : model.score_dim();
    const std::int64_t value = is_latent ? model.latent.kv_rank : model.value_dim();
    Kernel kernel{.kind = KernelKind::kAttentionForward,
                  .precision = setup.precision.activations,
                  .m = mix.tokens_per_decode,
                  .n = context,
                  .k = score,
                  .batch = sequences * heads,
                  .causal = false,
                  .value_dim = value};
    const auto queries = static_cast<double>(tokens.decode * heads * (score + value));
    kernel.bytes = activation * queries + cached * static_cast<double>(sequences * context * width);
    out.push_back(kernel);
  }
  return out;
}

}  // namespace weft::work
