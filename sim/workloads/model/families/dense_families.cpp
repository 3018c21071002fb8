// Decoders whose layers are all attention and an MLP: Llama and what follows it.
#include <array>

#include "sim/workloads/model/families/tables.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

void read_plain(FamilyConfig& config, ModelDraft& draft, AttentionTraits traits, SizeDefaults defaults = {}) {
  read_size(config, draft.model, defaults);
  Mixer mixer = read_grouped(config, draft.model, traits);
  FeedForward feed;
  feed.ffn = read_ffn(config);
  feed.bias = config.flag("mlp_bias", false);
  fill(draft, mixer, feed);
}

void read_llama(FamilyConfig& config, ModelDraft& draft) { read_plain(config, draft, {}); }
void read_tied(FamilyConfig& config, ModelDraft& draft) { read_plain(config, draft, {}, {.tied = true}); }

void read_ernie_dense(FamilyConfig& config, ModelDraft& draft) {
  const bool bias = config.flag("use_bias", false);
  read_plain(config, draft, {.bias = bias, .output_bias = bias}, {.tied = true});
}

// InternLM 2 calls both biases `bias`.
void read_internlm(FamilyConfig& config, ModelDraft& draft) {
  const bool output = config.flag("bias", false);
  read_plain(config, draft, {.bias = config.flag("qkv_bias", output), .output_bias = output});
}

void read_hunyuan(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.norm = config.flag("use_qk_norm", true) ? QkNorm::kHead : QkNorm::kNone});
}

// Layers without a window meet all tokens; norms stand behind attention and MLP.
void read_exaone4(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.norm = QkNorm::kHead});
  read_windows(config, draft, config.optional("sliding_window", 0, kMaxSequence));
}

// An MLP of two matrices, with two numbers of its activation (xIELU).
void read_apertus(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.norm = QkNorm::kHead});
  draft.each([](LayerShape& layer, std::int64_t) {
    layer.feed.is_gated = false;
    layer.other += 2;
  });
}

void read_mistral(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.kv_heads = 8});
  const bool stated = config.params().has("sliding_window");  // null: full attention
  read_windows(config, draft, config.optional("sliding_window", stated ? 0 : 4096, kMaxSequence));
}

// Ministral 3 has no window where none is written.
void read_ministral3(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.kv_heads = 8});
  read_windows(config, draft, config.optional("sliding_window", 0, kMaxSequence));
}

void read_phi3(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {});
  read_windows(config, draft, config.optional("sliding_window", 0, kMaxSequence));
}

void read_qwen_windows(FamilyConfig& config, ModelDraft& draft) {
  if (!config.flag("use_sliding_window", false)) return;
  const std::int64_t full_layers = config.optional("max_window_layers", 28, kMaxLayers, 0);
  read_windows(config, draft, config.optional("sliding_window", 0, kMaxSequence), full_layers);
}

void read_qwen2(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.bias = true});
  draft.each([](LayerShape& layer, std::int64_t) {
    layer.mixer.qkv_bias = true;
    layer.mixer.output_bias = false;
  });
  read_qwen_windows(config, draft);
}

void read_mimo(FamilyConfig& config, ModelDraft& draft) {
  read_qwen2(config, draft);
  read_prediction(config, draft.model);
}

void read_qwen3(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.norm = QkNorm::kHead});
  read_qwen_windows(config, draft);
}

void read_seed_oss(FamilyConfig& config, ModelDraft& draft) { read_plain(config, draft, {.bias = true}); }

// Norms stand behind attention and MLP instead of before them.
void read_olmo(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.norm = QkNorm::kWidth});
  read_windows(config, draft, config.optional("sliding_window", 0, kMaxSequence));
}

void read_glm(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {});
  draft.each([](LayerShape& layer, std::int64_t) { layer.mixer.output_bias = false; });
}

// Norms before and behind attention and MLP.
void read_glm4(FamilyConfig& config, ModelDraft& draft) {
  read_glm(config, draft);
  draft.each([](LayerShape& layer, std::int64_t) { layer.norms = 4; });
}

// One LayerNorm without a shift before attention and MLP side by side.
void read_cohere(FamilyConfig& config, ModelDraft& draft) {
  read_plain(config, draft, {.norm = config.flag("use_qk_norm", false) ? QkNorm::kWidth : QkNorm::kNone}, {.tied = true});
  draft.model.parallel_block = true;
  draft.each([](LayerShape& layer, std::int64_t) { layer.norms = 1; });
}

void read_cohere2(FamilyConfig& config, ModelDraft& draft) {
  read_cohere(config, draft);
  const std::int64_t window = config.optional("sliding_window", 4096, kMaxSequence);
  const std::int64_t period = config.optional("sliding_window_pattern", 4, kMaxLayers);
  if (read_layer_types(config, draft, window)) return;
  draft.each([=](LayerShape& layer, std::int64_t i) { layer.mixer.window = (i + 1) % period == 0 ? 0 : window; });
}

void read_gpt2(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  model.layers = config.required("n_layer", kMaxLayers);
  model.hidden = config.required("n_embd", kMaxHidden);
  model.heads = config.required("n_head", kMaxHeads);
  model.vocab = config.required("vocab_size", kMaxVocab);
  model.learned_positions = config.optional("n_positions", 1024, kMaxPositions);
  model.norm = NormKind::kLayerNorm;
  model.tied_embedding = config.flag("tie_word_embeddings", true);
  model.dropout = config.real("resid_pdrop", 0.1, 0.99);
  Mixer mixer;
  mixer.heads = model.heads;
  mixer.kv_heads = model.heads;
  mixer.head_dim = mixer.value_dim = default_head_dim(config.params(), model.hidden, model.heads, "n_head");
  mixer.qkv_bias = mixer.output_bias = true;
  FeedForward feed;
  feed.ffn = config.optional("n_inner", 4 * model.hidden, kMaxFfn);
  feed.is_gated = false;
  feed.bias = true;
  fill(draft, mixer, feed);
}

constexpr std::array kTable{
    Family{"ApertusForCausalLM apertus", read_apertus},
    Family{"Cohere2ForCausalLM cohere2", read_cohere2},
    Family{"CohereForCausalLM cohere", read_cohere},
    Family{"Ernie4_5ForCausalLM ernie4_5", read_ernie_dense},
    Family{"Exaone4ForCausalLM exaone4", read_exaone4},
    Family{"GPT2LMHeadModel gpt2", read_gpt2},
    Family{"Glm4ForCausalLM glm4 Glm4vForConditionalGeneration glm4v glm4v_text", read_glm4},
    Family{"GlmForCausalLM glm", read_glm},
    Family{"HunYuanDenseV1ForCausalLM hunyuan_v1_dense", read_hunyuan},
    Family{"InternLM2ForCausalLM internlm2 InternLM3ForCausalLM internlm3", read_internlm},
    Family{"LlamaForCausalLM llama GraniteForCausalLM granite", read_llama},
    Family{"MiMoForCausalLM mimo", read_mimo},
    Family{"Ministral3ForCausalLM ministral3", read_ministral3},
    Family{"MistralForCausalLM mistral Mistral3ForConditionalGeneration mistral3", read_mistral},
    Family{"Olmo2ForCausalLM olmo2 Olmo3ForCausalLM olmo3", read_olmo},
    Family{"Phi3ForCausalLM phi3", read_phi3},
    Family{"Qwen2ForCausalLM qwen2 Qwen2_5_VLForConditionalGeneration qwen2_5_vl qwen2_5_vl_text qwen2_vl qwen2_vl_text "
           "qwen2_5_omni_text",
           read_qwen2},
    Family{"Qwen3ForCausalLM qwen3 Qwen3VLForConditionalGeneration qwen3_vl qwen3_vl_text", read_qwen3},
    Family{"SeedOssForCausalLM seed_oss", read_seed_oss},
    Family{"SmolLM3ForCausalLM smollm3 GemmaForCausalLM gemma", read_tied},
};

}  // namespace

std::span<const Family> dense_families() { return kTable; }

}  // namespace weft::work
