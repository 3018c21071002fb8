// Decoders with grouped attention and a mixture of experts.
#include <algorithm>
#include <array>

#include "sim/workloads/model/families/tables.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

void read_mixtral(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  fill(draft, read_grouped(config, draft.model, {.kv_heads = 8}), {});
  place_experts(config, draft, read_experts(config, {"intermediate_size"}));
  read_windows(config, draft, config.optional("sliding_window", 0, kMaxSequence));
}

// LayerNorms, and a bias on the head.
void read_phimoe(FamilyConfig& config, ModelDraft& draft) {
  read_mixtral(config, draft);
  draft.model.norm = NormKind::kLayerNorm;
  draft.model.head_bias = config.flag("lm_head_bias", false);
}

void read_qwen_layers(FamilyConfig& config, ModelDraft& draft, AttentionTraits traits, bool has_shared) {
  read_size(config, draft.model);
  fill(draft, read_grouped(config, draft.model, traits), {});
  MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size"});
  if (has_shared) {
    static_cast<void>(config.required("shared_expert_intermediate_size", kMaxFfn));
    read_shared_experts(config, moe);
    moe.shared_gate = true;
  }
  place_experts(config, draft, moe);
  if (!config.flag("use_sliding_window", false)) return;
  const std::int64_t full_layers = config.optional("max_window_layers", 28, kMaxLayers, 0);
  read_windows(config, draft, config.optional("sliding_window", 0, kMaxSequence), full_layers);
}

void read_qwen2_moe(FamilyConfig& config, ModelDraft& draft) { read_qwen_layers(config, draft, {.bias = true}, true); }

void read_qwen3_moe(FamilyConfig& config, ModelDraft& draft) {
  read_qwen_layers(config, draft, {.norm = QkNorm::kHead}, false);
}

// Biases on Q, K and V alone.
void read_glm4_moe(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  Mixer mixer = read_grouped(config, draft.model, {.norm = config.flag("use_qk_norm", false) ? QkNorm::kHead : QkNorm::kNone});
  mixer.output_bias = false;
  fill(draft, mixer, {});
  read_grouped_experts(config, draft, true);
  read_prediction(config, draft.model);
}

void read_gpt_oss(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  Mixer mixer = read_grouped(config, draft.model, {.kv_heads = 8, .bias = true, .output_bias = true});
  mixer.sinks = true;
  fill(draft, mixer, {});
  MixtureOfExperts moe = read_experts(config, {"intermediate_size"});
  moe.router_bias = true;
  moe.expert_bias = true;
  place_experts(config, draft, moe);
  draft.untimed("attention sinks");
  const std::int64_t window = config.optional("sliding_window", 0, kMaxSequence);
  if (window == 0 || read_layer_types(config, draft, window)) return;
  draft.each([window](LayerShape& layer, std::int64_t i) { layer.mixer.window = i % 2 == 0 ? window : 0; });
}

void read_minimax_m2(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  const bool has_norm = config.flag("use_qk_norm", true);
  const bool by_head = config.text("qk_norm_type", "per_layer") == "per_head";
  const QkNorm norm = !has_norm ? QkNorm::kNone : by_head ? QkNorm::kHead : QkNorm::kWidth;
  fill(draft, read_grouped(config, draft.model, {.norm = norm}), {});
  MixtureOfExperts moe = read_experts(config, {"intermediate_size"});
  moe.router_bias = config.flag("use_routing_bias", true);
  place_experts(config, draft, moe);
}

// Sparse attention over blocks of keys that an index chooses.
void read_minimax_m3(FamilyConfig& config, ModelDraft& draft) {
  read_minimax_m2(config, draft);
  std::vector<std::int64_t> sparse;
  KeyIndex index;
  if (auto settings = config.params().optional_map("sparse_attention_config")) {
    index.heads = settings->optional<std::int64_t>("sparse_num_index_heads", 0, between(std::int64_t{0}, kMaxHeads));
    index.dim = settings->optional<std::int64_t>("sparse_index_dim", 0, between(std::int64_t{0}, kMaxHeadDim));
    index.reads_hidden = true;
    const auto blocks = settings->optional<std::int64_t>("sparse_topk_blocks", 0, between(std::int64_t{0}, kMaxSequence));
    const auto local = settings->optional<std::int64_t>("sparse_local_block", 0, between(std::int64_t{0}, kMaxSequence));
    const auto size = settings->optional<std::int64_t>("sparse_block_size", 0, between(std::int64_t{0}, kMaxSequence));
    index.top_k = (blocks + local) * size;
    if (settings->has("sparse_attention_freq")) sparse = settings->required_list<std::int64_t>("sparse_attention_freq");
    for (const std::string& key : settings->node().keys()) {
      if (!settings->declared().contains(key)) static_cast<void>(settings->optional_raw(key));
    }
    settings->finish();
  }
  const std::int64_t shared = config.optional("n_shared_experts", 0, kMaxSharedExperts, 0);
  draft.each([&](LayerShape& layer, std::int64_t i) {
    if (static_cast<std::size_t>(i) < sparse.size() && sparse[static_cast<std::size_t>(i)] != 0) layer.mixer.index = index;
    if (layer.feed.moe.experts > 0) layer.feed.moe.shared_experts = shared;
  });
}

void read_bailing(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  Mixer mixer = read_grouped(config, draft.model,
                             {.norm = config.flag("use_qk_norm", false) ? QkNorm::kHead : QkNorm::kNone,
                              .bias = config.flag("use_qkv_bias", false),
                              .output_bias = config.flag("use_bias", false)});
  fill(draft, mixer, {});
  read_grouped_experts(config, draft, config.flag("moe_router_enable_expert_bias", false));
  read_prediction(config, draft.model);
}

void read_ernie(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model, {.tied = true});
  fill(draft,
       read_grouped(config, draft.model,
                    {.bias = config.flag("use_bias", false), .output_bias = config.flag("use_bias", false)}),
       {});
  MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size"});
  moe.router_bias = true;
  read_shared_experts(config, moe);
  const std::int64_t ffn = read_ffn(config);
  const std::int64_t first = config.optional("moe_layer_start_index", 0, kMaxLayers, 0);
  const std::int64_t last = config.optional("moe_layer_end_index", draft.model.layers - 1, kMaxLayers, 0);
  const std::int64_t every = std::max<std::int64_t>(config.optional("moe_layer_interval", 1, kMaxLayers), 1);
  draft.each([&](LayerShape& layer, std::int64_t i) {
    const bool has_experts = i >= first && i <= last && (i + 1) % every == 0;
    if (has_experts) layer.feed.moe = moe;
    layer.feed.ffn = has_experts ? 0 : ffn;
  });
}

void read_hunyuan_moe(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  const QkNorm norm = config.flag("use_qk_norm", true) ? QkNorm::kHead : QkNorm::kNone;
  fill(draft, read_grouped(config, draft.model, {.norm = norm}), {});
  MixtureOfExperts moe =
      read_experts(config, {config.has("moe_intermediate_size") ? "moe_intermediate_size" : "intermediate_size"});
  if (config.flag("use_mixed_mlp_moe", true))
    moe.shared_experts = config.optional("num_shared_expert", 1, kMaxSharedExperts, 0);
  place_experts(config, draft, moe);
}

void read_olmoe(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  fill(draft, read_grouped(config, draft.model, {.norm = QkNorm::kWidth}), {});
  place_experts(config, draft, read_experts(config, {"intermediate_size"}));
}

constexpr std::array kExpertTable{
    Family{"BailingMoeForCausalLM BailingMoeV2ForCausalLM bailing_moe bailing_moe_v2", read_bailing},
    Family{"Ernie4_5_MoeForCausalLM ernie4_5_moe", read_ernie},
    Family{"Glm4MoeForCausalLM glm4_moe Glm4vMoeForConditionalGeneration glm4v_moe glm4v_moe_text Dots1ForCausalLM dots1",
           read_glm4_moe},
    Family{"GptOssForCausalLM gpt_oss", read_gpt_oss},
    Family{"HunYuanMoEV1ForCausalLM hunyuan_v1_moe", read_hunyuan_moe},
    Family{"MiniMaxM2ForCausalLM minimax_m2", read_minimax_m2},
    Family{"MiniMaxM3ForCausalLM minimax_m3 minimax_m3_vl", read_minimax_m3},
    Family{"MixtralForCausalLM mixtral GraniteMoeForCausalLM granitemoe", read_mixtral},
    Family{"OlmoeForCausalLM olmoe", read_olmoe},
    Family{"PhiMoEForCausalLM PhimoeForCausalLM phimoe", read_phimoe},
    Family{"Qwen2MoeForCausalLM qwen2_moe", read_qwen2_moe},
    Family{
        "Qwen3MoeForCausalLM qwen3_moe Qwen3VLMoeForConditionalGeneration qwen3_vl_moe qwen3_vl_moe_text qwen3_omni_moe_text",
        read_qwen3_moe},
};

}  // namespace

std::span<const Family> expert_families() { return kExpertTable; }

}  // namespace weft::work
