#include "sim/workloads/inference/layer_kernels.h"

#include <algorithm>
#include <cmath>

#include "sim/core/portable_math.h"
#include "sim/core/whole_numbers.h"

namespace weft::work {
namespace {

class LayerBuilder {
 public:
  LayerBuilder(const InferenceSetup& setup, const EnginePlan& plan, const LayerShape& shape, const GroupTokens& tokens)
      : setup_{setup},
        model_{setup.model},
        plan_{plan},
        mixer_{shape.mixer},
        feed_{shape.feed},
        tokens_{tokens},
        activation_{bytes_per_element(setup.precision.activations)} {}

  std::vector<NamedKernel> build() {
    if (mixer_.kind != AttentionKind::kNone) mix();
    if (feed_.is_none()) return std::move(out_);
    norm();
    if (feed_.ffn > 0) mlp(ceil_div(feed_.ffn, plan_.tensor), "");
    if (feed_.moe.experts > 0) experts();
    add_residual();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::int64_t local_heads() const { return ceil_div(mixer_.heads, plan_.tensor); }
  [[nodiscard]] std::int64_t local_kv_heads() const { return ceil_div(mixer_.kv_heads, plan_.tensor); }

  void mix() {
    norm();
    if (is_recurrent(mixer_.kind)) {
      recurrence();
    } else {
      if (mixer_.kind == AttentionKind::kLatent) {
        latent_projections();
      } else {
        grouped_projections();
      }
      key_index();
      cache_write();
      gate(ceil_div(mixer_.gate_width, plan_.tensor));
      gemm("attention_out", tokens_.total(), model_.hidden, local_heads() * mixer_.value_width());
    }
    add_residual();
  }

  void grouped_projections() {
    const std::int64_t keys = mixer_.shares_cache ? 0 : local_kv_heads() * mixer_.head_dim;
    const std::int64_t values = mixer_.shares_cache || mixer_.keys_are_values ? 0 : local_kv_heads() * mixer_.value_dim;
    const std::int64_t queries = local_heads() * mixer_.head_dim;
    gemm("qkv", tokens_.total(), queries + ceil_div(mixer_.gate_width, plan_.tensor) + keys + values, model_.hidden);
    rotary(queries + keys);
  }

  // The gate and attention's output are read, their product is written.
  void gate(std::int64_t width) { memory("gate", static_cast<double>(tokens_.total() * width), 3 * activation_); }

  // Every GPU chooses keys for itself: its queries, the key and the heads' weights (DSA).
  void key_index() {
    const KeyIndex& index = mixer_.index;
    if (index.heads == 0 || index.is_borrowed) return;
    const std::int64_t queries = index.heads * index.dim;
    gemm("index_queries", tokens_.total(), queries, index.reads_hidden ? model_.hidden : mixer_.latent.query_rank);
    gemm("index_keys", tokens_.total(), index.dim + index.heads, model_.hidden);
    rotary(queries + index.dim);
  }

  // Projections with the gate's, a convolution over few tokens, the norm of the gated output. What meets the state is attention
  // (attention_kernels).
  void recurrence() {
    const Recurrence& r = mixer_.recurrence;
    const std::int64_t values = ceil_div(r.values(), plan_.tensor);
    const std::int64_t scalars = mixer_.kind == AttentionKind::kGatedDelta ? 2 : mixer_.kind == AttentionKind::kMamba2 ? 1 : 0;
    const std::int64_t columns = ceil_div(r.columns(scalars), plan_.tensor);
    gemm("state_in", tokens_.total(), columns, model_.hidden);
    if (r.decay_rank > 0) gemm("decay", tokens_.total(), ceil_div(r.keys(), plan_.tensor), r.decay_rank);
    if (r.gate_rank > 0) gemm("gate", tokens_.total(), values, r.gate_rank);
    if (r.conv_kernel > 0) {
      memory("convolution", static_cast<double>(tokens_.total() * ceil_div(r.channels(), plan_.tensor)), 2 * activation_);
    }
    gate(values);
    gemm("state_out", tokens_.total(), model_.hidden, values);
  }

  // `rows` x `columns`, with weights of `inner` x `columns` each of `batch`.
  void gemm(std::string_view name, std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t batch = 1,
            double weights = 0) {
    product(setup_.precision.weights, name, rows, columns, inner, batch, weights);
  }

  // The same of weights that are kept as they were where a layer's others became integers: routers, and what MLA absorbs.
  void plain_gemm(std::string_view name, std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t batch = 1) {
    const ServingPrecision& precision = setup_.precision;
    product(has_integer_weights(precision.weights) ? precision.activations : precision.weights, name, rows, columns, inner,
            batch, 0);
  }

  void product(Precision precision, std::string_view name, std::int64_t rows, std::int64_t columns, std::int64_t inner,
               std::int64_t batch, double weights) {
    if (rows == 0) return;
    Kernel kernel{.kind = KernelKind::kGemm, .precision = precision, .m = rows, .n = columns, .k = inner};
    kernel.batch = batch;
    const double held = weights > 0 ? weights : static_cast<double>(batch);
    const double outer = static_cast<double>(columns) * held;
    kernel.bytes = bytes_per_element(precision) * static_cast<double>(inner) * outer +
                   activation_ * static_cast<double>(rows * batch) * static_cast<double>(inner + columns);
    out_.push_back({kernel, name});
  }

  void memory(std::string_view name, double elements, double bytes_per_one, KernelKind kind = KernelKind::kElementwise) {
    if (elements == 0) return;
    out_.push_back({{.kind = kind, .elements = elements, .bytes = bytes_per_one * elements}, name});
  }
  void strided(std::string_view name, StridedKind kind, double elements) {
    if (elements == 0) return;
    out_.push_back(
        {{.kind = KernelKind::kStrided, .strided = kind, .elements = elements, .bytes = 2 * activation_ * elements}, name});
  }

  // Engines read the branch and the residual, and write their sum and its norm.
  void norm() {
    const double bytes = (setup_.library.fuses ? 4 : 2) * activation_;
    memory("norm", static_cast<double>(tokens_.total() * model_.hidden), bytes, KernelKind::kNormForward);
  }
  void add_residual() {
    if (setup_.library.fuses) return;
    memory("add_residual", static_cast<double>(tokens_.total() * model_.hidden), 3 * activation_);
  }
  void rotary(std::int64_t width) {
    if (model_.learned_positions > 0) return;
    memory("rotary", static_cast<double>(tokens_.total() * width), 2 * activation_);
  }

  void cache_write() {
    if (!setup_.kv_cache.is_written && tokens_.decode == 0) return;
    const std::int64_t width = local_cache_elements(mixer_, plan_.tensor);
    const auto elements = static_cast<double>(tokens_.total() * width);
    if (setup_.library.fuses) {
      memory("cache_write", elements, activation_ + bytes_per_element(setup_.kv_cache.precision));
      return;
    }
    for (const std::string_view name : {"copy_keys", "copy_values"}) strided(name, StridedKind::kCopy, elements / 2);
  }

  // MLA: down to the latents on every GPU, queries up by head. Prompts expand keys and values of all they have cached; answers
  // take the expanding matrices into queries and outputs instead (DeepSeek-V2 §2.1).
  void latent_projections() {
    const LatentAttention& latent = mixer_.latent;
    gemm("down_to_latents", tokens_.total(), latent.query_rank + latent.kv_rank + latent.rope_dim, model_.hidden);
    const std::int64_t from = latent.query_rank > 0 ? latent.query_rank : model_.hidden;
    memory("norm_of_latents", static_cast<double>(tokens_.total() * (latent.query_rank + latent.kv_rank)), 2 * activation_,
           KernelKind::kNormForward);
    gemm("queries", tokens_.total(), local_heads() * mixer_.score_width(), from);
    if (mixer_.gate_width > 0) gemm("gate", tokens_.total(), ceil_div(mixer_.gate_width, plan_.tensor), model_.hidden);
    rotary(local_heads() * latent.rope_dim + latent.rope_dim);
    gemm("keys_and_values", tokens_.prefill_rows, local_heads() * (latent.nope_dim + latent.value_dim), latent.kv_rank);
    plain_gemm("absorb_keys", tokens_.decode, latent.kv_rank, latent.nope_dim, local_heads());
    plain_gemm("absorb_values", tokens_.decode, latent.value_dim, latent.kv_rank, local_heads());
  }

  // Engines compute SiLU and its product at once.
  void activation(std::string_view name, double rows, std::int64_t first, std::int64_t inner) {
    if (setup_.library.fuses || first == inner) {
      memory(name, rows * static_cast<double>(first + inner), activation_);
      return;
    }
    strided("silu", StridedKind::kForward, rows * static_cast<double>(inner));
    strided("multiply", StridedKind::kForward, rows * static_cast<double>(inner));
  }

  void mlp(std::int64_t inner, std::string_view of) {
    const std::int64_t first = (feed_.matrices() - 1) * inner;
    const bool shared = !of.empty();
    gemm(shared ? "shared_up" : "up", tokens_.total(), first, model_.hidden);
    activation(shared ? "shared_activation" : "activation", static_cast<double>(tokens_.total()), first, inner);
    gemm(shared ? "shared_down" : "down", tokens_.total(), model_.hidden, inner);
  }

  // Model: routed experts are one call as vLLM and SGLang have it, which public tables time. Those of TensorRT-LLM, whose
  // kernels are others, are a kernel for each part, as PyTorch's are.
  void experts() {
    const MixtureOfExperts& moe = feed_.moe;
    // Some experts work at a narrower width than that of the hidden states.
    const std::int64_t width = moe.latent > 0 ? moe.latent : model_.hidden;
    const std::int64_t inner = ceil_div(moe.expert_ffn, plan_.expert_tensor());
    const ExpertVisits load = expert_load(setup_, plan_, moe, tokens_.stage);
    plain_gemm("router", tokens_.total(), moe.experts - setup_.redundant_experts, model_.hidden);
    if (moe.latent > 0) gemm("to_latent", tokens_.total(), moe.latent, model_.hidden);
    if (setup_.library.calls_experts) {
      experts_in_one_call(moe, load, width, inner);
    } else {
      experts_by_part(moe, load, width, inner);
    }
    if (moe.latent > 0) gemm("from_latent", tokens_.total(), model_.hidden, moe.latent);
    if (moe.shared_experts > 0) mlp(ceil_div(moe.shared_experts * moe.expert_ffn, plan_.tensor), "shared");
  }

  // Tokens reach their experts' GPU once for each expert there where groups send them, and are all there where one group has
  // all experts.
  void experts_in_one_call(const MixtureOfExperts& moe, const ExpertVisits& load, std::int64_t width, std::int64_t inner) {
    if (tokens_.stage == 0) return;
    const bool is_sent = plan_.attention_data > 1;
    const auto visits = static_cast<double>(tokens_.stage * moe.experts_per_token);
    Kernel kernel{.kind = KernelKind::kExperts,
                  .precision = setup_.precision.weights,
                  .m = is_sent ? ceil_div(tokens_.stage, plan_.attention_data) : tokens_.stage,
                  .n = inner,
                  .k = width,
                  .batch = moe.experts / plan_.expert,
                  .visits = is_sent ? load.rows : visits,
                  .expert_rows = load.rows,
                  .experts_used = load.experts,
                  .uneven = setup_.expert_power_law > 0,
                  .gated = feed_.matrices() == 3};
    if (model_.stored.is_block_scaled) kernel.scaling = Scaling::kBlock;
    out_.push_back({kernel, "experts"});
  }

  // Grouped products over the experts here that any token visits.
  void experts_by_part(const MixtureOfExperts& moe, const ExpertVisits& load, std::int64_t width, std::int64_t inner) {
    memory("choose_experts", static_cast<double>(tokens_.total() * (moe.experts - setup_.redundant_experts)),
           4);  // softmax and top k
    const auto rows = static_cast<std::int64_t>(std::ceil(load.rows));
    const std::int64_t groups = std::llround(load.experts);
    const std::int64_t each = ceil_div(rows, groups);
    const std::int64_t first = (feed_.matrices() - 1) * inner;
    memory("permute", static_cast<double>(rows * width), 2 * activation_);
    gemm("experts_up", each, first, width, groups, load.experts);
    activation("experts_activation", static_cast<double>(rows), first, inner);
    gemm("experts_down", each, width, inner, groups, load.experts);
    memory("unpermute", static_cast<double>(rows * width), 2 * activation_);  // weighted
  }

  const InferenceSetup& setup_;
  const TransformerModel& model_;
  const EnginePlan& plan_;
  const Mixer& mixer_;
  const FeedForward& feed_;
  const GroupTokens& tokens_;
  double activation_;
  std::vector<NamedKernel> out_;
};

// Keys before and at position p of chunks of `chunk`, summed over the first `positions`.
double chunked_pairs(double positions, double chunk) {
  const double whole = std::floor(positions / chunk);
  const double rest = positions - whole * chunk;
  return (whole * chunk * chunk + rest * rest) / 2;
}

// Keys that a query meets at most, by window or by index; 0: all.
std::int64_t key_limit(const Mixer& mixer) {
  if (mixer.index.heads == 0) return mixer.window;
  return mixer.window > 0 ? std::min(mixer.window, mixer.index.top_k) : mixer.index.top_k;
}

// Pairs of queries and keys.
double prefill_pairs(const StepMix& mix, const Mixer& mixer, std::int64_t limit) {
  double pairs = 0;
  for (const PrefillChunk& chunk : mix.prefills) {
    if (mixer.chunk > 0) {
      const auto width = static_cast<double>(mixer.chunk);
      pairs += chunked_pairs(static_cast<double>(chunk.context + chunk.tokens), width) -
               chunked_pairs(static_cast<double>(chunk.context), width);
      continue;
    }
    const Kernel shape{.kind = KernelKind::kAttentionForward,
                       .m = chunk.tokens,
                       .n = chunk.context + chunk.tokens,
                       .k = 1,
                       .causal = true,
                       .window = limit};
    pairs += static_cast<double>(chunk.tokens) * shape.keys_per_query();
  }
  return pairs;
}

// Kernels that meet the state of a recurrent layer. Prompts come in chunks, as products of the tokens with it; answers read and
// write it once a step, in fp32.
void add_state_kernels(const InferenceSetup& setup, const EnginePlan& plan, const Mixer& mixer, const StepMix& mix,
                       std::vector<NamedKernel>& out) {
  const Recurrence& r = mixer.recurrence;
  const GroupTokens tokens = group_tokens(mix, plan);
  const double activation = bytes_per_element(setup.precision.activations);
  const std::int64_t heads = ceil_div(r.value_heads, plan.tensor);
  const std::int64_t passes = mixer.kind == AttentionKind::kGatedDelta ? 3 : 2;
  if (tokens.prefill > 0) {
    Kernel kernel{.kind = KernelKind::kGemm,
                  .precision = setup.precision.activations,
                  .m = tokens.prefill,
                  .n = r.value_dim,
                  .k = passes * r.key_dim};
    kernel.batch = heads;
    const std::int64_t width = ceil_div(2 * r.keys() + 2 * r.values(), plan.tensor);
    kernel.bytes = activation * static_cast<double>(tokens.prefill * width);
    out.push_back({kernel, "states_of_prompts"});
  }
  if (mix.decodes > 0) {
    const std::int64_t sequences = ceil_div(mix.decodes, plan.attention_data);
    const auto elements = static_cast<double>(sequences * ceil_div(mixer.state_elements(), plan.tensor));
    out.push_back({{.kind = KernelKind::kElementwise, .elements = elements, .bytes = 2 * 4 * elements}, "states"});
  }
}

}  // namespace

double experts_touched(double experts, double per_token, double tokens) {
  if (experts <= 0) return 0;
  const double missed = 1.0 - std::min(1.0, per_token / experts);
  if (missed <= 0) return experts;
  return experts * (1.0 - portable_exp(tokens * portable_log(missed)));
}

// The GPU with the most of them sets the pace, and has one expert at least.
ExpertVisits expert_load(const InferenceSetup& setup, const EnginePlan& plan, const MixtureOfExperts& moe,
                         std::int64_t tokens) {
  const auto number = static_cast<double>(tokens);
  const auto top_k = static_cast<double>(moe.experts_per_token);
  const std::int64_t experts = moe.experts - setup.redundant_experts;
  if (setup.redundant_experts > 0)
    return balanced_expert_load(number, top_k, experts, setup.redundant_experts, plan.expert, setup.expert_power_law);
  if (setup.expert_power_law > 0) return heaviest_expert_load(number, top_k, experts, plan.expert, setup.expert_power_law);
  const double touched = experts_touched(static_cast<double>(experts), top_k, number);
  return {.rows = number * top_k / plan.expert * setup.expert_imbalance, .experts = std::max(1.0, touched / plan.expert)};
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

std::int64_t local_cache_elements(const Mixer& mixer, int tensor) {
  if (mixer.kind != AttentionKind::kGrouped || mixer.shares_cache) return mixer.cache_elements();
  const std::int64_t heads = ceil_div(mixer.kv_heads, tensor);
  return mixer.cache_elements() - (mixer.kv_heads - heads) * (mixer.head_dim + mixer.value_dim);
}

std::vector<NamedKernel> linear_kernels(const InferenceSetup& setup, const EnginePlan& plan, std::int64_t layer,
                                        const GroupTokens& tokens) {
  const LayerShape shape = layer_shape(setup.model, layer);
  return LayerBuilder{setup, plan, shape, tokens}.build();
}

std::vector<NamedKernel> attention_kernels(const InferenceSetup& setup, const EnginePlan& plan, const Mixer& mixer,
                                           const StepMix& mix) {
  std::vector<NamedKernel> out;
  if (mixer.kind == AttentionKind::kNone) return out;
  if (is_recurrent(mixer.kind)) {
    add_state_kernels(setup, plan, mixer, mix, out);
    return out;
  }
  const bool is_latent = mixer.kind == AttentionKind::kLatent;
  const double cached = bytes_per_element(setup.kv_cache.precision);
  const double activation = bytes_per_element(setup.precision.activations);
  const std::int64_t heads = ceil_div(mixer.heads, plan.tensor);
  const std::int64_t group =
      std::max<std::int64_t>(1, heads / std::max<std::int64_t>(1, ceil_div(mixer.kv_heads, plan.tensor)));
  const std::int64_t score_width = mixer.score_width();
  const std::int64_t value_width = mixer.value_width();
  // Cached elements of a token here that attention itself reads.
  const std::int64_t width = is_latent ? mixer.latent.kv_rank + mixer.latent.rope_dim
                                       : ceil_div(mixer.kv_heads, plan.tensor) * (mixer.head_dim + mixer.value_dim);
  const std::int64_t limit = key_limit(mixer);
  const KeyIndex& index = mixer.index;
  const bool chooses = index.heads > 0 && !index.is_borrowed;
  const GroupTokens tokens = group_tokens(mix, plan);
  const auto limited = [&](std::int64_t keys) {
    if (mixer.chunk > 0) keys = (std::max<std::int64_t>(keys, 1) - 1) % mixer.chunk + 1;
    return limit > 0 ? std::min(limit, keys) : keys;
  };
  // The index's own attention, of one key for all its heads: scores alone, over all keys.
  const auto choose = [&](std::int64_t queries, std::int64_t keys, std::int64_t sequences, double read) {
    Kernel kernel{.kind = KernelKind::kGemm, .precision = setup.precision.activations, .m = queries, .n = keys, .k = index.dim};
    kernel.batch = sequences * index.heads;
    kernel.bytes = activation * static_cast<double>(queries * sequences * index.heads * index.dim) +
                   cached * read * static_cast<double>(index.dim);
    out.push_back({kernel, "choose_keys"});
  };
  if (tokens.prefill > 0) {
    const double keys = prefill_pairs(mix, mixer, limit) / static_cast<double>(mix.prefill_tokens());
    if (chooses) {
      const double all = prefill_pairs(mix, {}, 0) / static_cast<double>(mix.prefill_tokens());
      choose(tokens.prefill, std::max<std::int64_t>(1, std::llround(all)), 1, static_cast<double>(tokens.prefill_rows));
    }
    if (!setup.library.fuses && !is_latent) {
      // Prompts of one length are a batch, and neither their cache nor its heads are in pieces.
      const auto prompts = static_cast<std::int64_t>(mix.prefills.size());
      out.push_back({{.kind = KernelKind::kAttentionForward,
                      .precision = setup.precision.activations,
                      .m = ceil_div(tokens.prefill, prompts),
                      .n = ceil_div(tokens.prefill_rows, prompts),
                      .k = score_width,
                      .batch = heads * prompts,
                      .causal = true,
                      .window = limit,
                      .value_dim = value_width},
                     "attention_of_prompts"});
    } else {
      Kernel kernel{.kind = KernelKind::kAttentionForward,
                    .precision = setup.precision.activations,
                    .m = tokens.prefill,
                    .n = std::max<std::int64_t>(1, std::llround(keys)),
                    .k = score_width,
                    .batch = heads,
                    .causal = false,
                    .value_dim = value_width,
                    .use = AttentionUse::kPrefill,
                    .kv_group = is_latent ? 1 : group,
                    .latent = is_latent,
                    .cached_width = cached,
                    .flash = setup.library.flash};
      const auto queries = static_cast<double>(tokens.prefill * heads * (score_width + value_width));
      kernel.bytes = activation * queries + cached * static_cast<double>(tokens.prefill_rows * width);
      out.push_back({kernel, "attention_of_prompts"});
    }
  }
  if (mix.decodes > 0) {
    const std::int64_t sequences = ceil_div(mix.decodes, plan.attention_data);
    const std::int64_t all = ceil_div(mix.decode_context, mix.decodes) + mix.tokens_per_decode;
    const std::int64_t context = limited(all);
    if (chooses) choose(mix.tokens_per_decode, all, sequences, static_cast<double>(sequences * all));
    // Absorbed MLA meets the latents themselves.
    const std::int64_t score = is_latent ? width : score_width;
    const std::int64_t value = is_latent ? mixer.latent.kv_rank : value_width;
    const bool slides = limit > 0 && limit == mixer.window && mixer.chunk == 0;
    Kernel kernel{.kind = KernelKind::kAttentionForward,
                  .precision = setup.precision.activations,
                  .m = mix.tokens_per_decode,
                  .n = slides ? all : context,
                  .k = score,
                  .batch = sequences * heads,
                  .causal = false,
                  .window = slides ? limit : 0,
                  .value_dim = value,
                  .use = AttentionUse::kDecode,
                  .kv_group = is_latent ? heads : group,
                  .latent = is_latent,
                  .cached_width = cached,
                  .flash = setup.library.flash};
    const auto queries = static_cast<double>(tokens.decode * heads * (score + value));
    kernel.bytes = activation * queries + cached * static_cast<double>(sequences * context * width);
    out.push_back({kernel, "attention"});
  }
  return out;
}

}  // namespace weft::work
