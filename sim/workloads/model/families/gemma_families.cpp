// Gemma 2, 3 and 4: norms before and behind attention and MLP, windows in most layers, a tied head.
#include <algorithm>
#include <array>

#include "sim/workloads/model/families/tables.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

// `period`: every so many layers one meets all tokens.
void read_gemma_layers(FamilyConfig& config, ModelDraft& draft, AttentionTraits traits, SizeDefaults defaults,
                       std::int64_t period) {
  defaults.tied = true;
  read_size(config, draft.model, defaults);
  Mixer mixer = read_grouped(config, draft.model, traits);
  if (!config.has("head_dim")) mixer.head_dim = mixer.value_dim = 256;
  if (traits.norm == QkNorm::kHead) mixer.norm_elements = 2 * mixer.head_dim;
  FeedForward feed;
  feed.ffn = read_ffn(config);
  fill(draft, mixer, feed);
  const std::int64_t window = config.optional("sliding_window", 4096, kMaxSequence);
  period =
      std::max<std::int64_t>(config.optional({"sliding_window_pattern", "_sliding_window_pattern"}, period, kMaxLayers), 1);
  if (!read_layer_types(config, draft, window)) {
    draft.each([=](LayerShape& layer, std::int64_t i) { layer.mixer.window = (i + 1) % period == 0 ? 0 : window; });
  }
  draft.each([](LayerShape& layer, std::int64_t) { layer.norms = 4; });
}

void read_gemma2(FamilyConfig& config, ModelDraft& draft) {
  read_gemma_layers(config, draft, {.kv_heads = 4}, {.heads = 8, .vocab = 256'000}, 2);
  draft.untimed("the cap on attention's scores");
}

// The class's defaults stand for what configurations of the smaller models leave out.
void read_gemma3(FamilyConfig& config, ModelDraft& draft) {
  read_gemma_layers(config, draft, {.kv_heads = 4, .norm = QkNorm::kHead}, {.heads = 8, .vocab = 262'208}, 6);
}

// Layers that meet all tokens have heads of another width; the last ones may use the cache of layers before them.
void read_gemma4_attention(FamilyConfig& config, ModelDraft& draft) {
  const std::int64_t wide = config.optional("global_head_dim", 0, kMaxHeadDim);
  const std::int64_t kv_heads = config.optional("num_global_key_value_heads", 0, kMaxHeads);
  const bool one_projection = config.flag("attention_k_eq_v", false);
  const std::int64_t sharing = config.optional("num_kv_shared_layers", 0, kMaxLayers, 0);
  const bool wide_mlp = config.flag("use_double_wide_mlp", false);
  draft.each([&](LayerShape& layer, std::int64_t i) {
    Mixer& mixer = layer.mixer;
    if (mixer.window == 0) {
      if (wide > 0) mixer.head_dim = mixer.value_dim = wide;
      if (kv_heads > 0 && one_projection) mixer.kv_heads = kv_heads;
      mixer.keys_are_values = one_projection;
    }
    mixer.shares_cache = sharing > 0 && i >= draft.model.layers - sharing;
    mixer.norm_elements = (mixer.shares_cache ? 1 : 2) * mixer.head_dim;
    if (wide_mlp && mixer.shares_cache) layer.feed.ffn *= 2;
    layer.other += 1;  // the layer's scale
  });
}

// An embedding for each layer, projected into its hidden states.
void read_layer_inputs(FamilyConfig& config, ModelDraft& draft) {
  const std::int64_t width = config.optional("hidden_size_per_layer_input", 0, kMaxHidden, 0);
  if (width == 0) return;
  const std::int64_t words = config.optional("vocab_size_per_layer_input", draft.model.vocab, kMaxVocab);
  draft.each([&](LayerShape& layer, std::int64_t i) {
    layer.other += words * width + 3 * draft.model.hidden * width + draft.model.hidden + (i == 0 ? width : 0);
  });
  draft.untimed("the embeddings of each layer");
}

void read_gemma4(FamilyConfig& config, ModelDraft& draft) {
  read_gemma_layers(config, draft, {.norm = QkNorm::kHead}, {}, 6);
  read_gemma4_attention(config, draft);
  read_layer_inputs(config, draft);
  if (!config.flag("enable_moe_block", false)) return;
  MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size", "expert_intermediate_size"});
  moe.router_extra = draft.model.hidden + moe.experts;  // scales of its input and of each expert
  draft.each([&](LayerShape& layer, std::int64_t) {
    layer.feed.moe = moe;
    layer.norms += 3;
  });
}

constexpr std::array kGemmaTable{
    Family{"Gemma2ForCausalLM gemma2", read_gemma2},
    Family{"Gemma3ForCausalLM gemma3_text Gemma3ForConditionalGeneration gemma3", read_gemma3},
    Family{"Gemma4ForCausalLM gemma4_text Gemma4ForConditionalGeneration gemma4", read_gemma4},
};

}  // namespace

std::span<const Family> gemma_families() { return kGemmaTable; }

}  // namespace weft::work
