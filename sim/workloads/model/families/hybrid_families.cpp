// Decoders most of whose layers carry a state instead of a cache: gated delta rule, Mamba-2, lightning attention.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/workloads/model/families/tables.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

Mixer recurrent(AttentionKind kind, const Recurrence& recurrence) {
  Mixer mixer;
  mixer.kind = kind;
  mixer.heads = recurrence.value_heads;
  mixer.kv_heads = recurrence.key_heads;
  mixer.recurrence = recurrence;
  return mixer;
}

// Qwen3-Next, Qwen3.5: three layers of four with the gated delta rule; the queries' projection makes a gate, too.
void read_qwen_hybrid(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  Mixer full = read_grouped(config, model, {.kv_heads = 2, .norm = QkNorm::kHead});
  if (config.flag("attn_output_gate", true)) full.gate_width = full.heads * full.head_dim;
  Recurrence r;
  r.key_heads = config.required("linear_num_key_heads", kMaxHeads);
  r.value_heads = config.required("linear_num_value_heads", kMaxHeads);
  r.key_dim = config.required("linear_key_head_dim", kMaxHeadDim);
  r.value_dim = config.required("linear_value_head_dim", kMaxHeadDim);
  r.conv_kernel = config.optional("linear_conv_kernel_dim", 4, kMaxHeadDim);
  FeedForward feed;
  const bool has_experts = config.has("num_experts") || config.has("num_local_experts");
  if (!has_experts) feed.ffn = read_ffn(config);
  fill(draft, full, feed);
  const std::vector<std::string> types = config.words("layer_types");
  const std::int64_t interval = std::max<std::int64_t>(config.optional("full_attention_interval", 4, kMaxLayers), 1);
  const Mixer linear = recurrent(AttentionKind::kGatedDelta, r);
  draft.each([&](LayerShape& layer, std::int64_t i) {
    const bool listed = static_cast<std::size_t>(i) < types.size();
    const bool is_full = listed ? types[static_cast<std::size_t>(i)] == "full_attention" : (i + 1) % interval == 0;
    if (!is_full) layer.mixer = linear;
  });
  if (has_experts) {
    MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size"});
    read_shared_experts(config, moe);
    moe.shared_gate = moe.shared_experts > 0;
    place_experts(config, draft, moe);
  }
  read_prediction(config, model);
  if (model.mtp_modules > 0 && !draft.layers.empty()) {
    model.mtp_layers = {draft.layers.back()};
    model.mtp_layers.front().mixer = full;
  }
}

// Lightning attention with a gate in most layers (MiniMax-01 §2.2).
void read_minimax_text(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  const Mixer full = read_grouped(config, model, {});
  Recurrence r;
  r.key_heads = r.value_heads = full.heads;
  r.key_dim = r.value_dim = full.head_dim;
  const Mixer linear = recurrent(AttentionKind::kLinear, r);
  fill(draft, full, {});
  place_experts(config, draft, read_experts(config, {"intermediate_size"}));
  const std::vector<std::int64_t> kinds = config.numbers("attn_type_list");
  const std::vector<std::string> types = config.words("layer_types");
  draft.each([&](LayerShape& layer, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_full = at < kinds.size() ? kinds[at] == 1 : at < types.size() ? types[at] == "full_attention" : i % 8 == 7;
    if (!is_full) layer.mixer = linear;
  });
}

// Kimi Linear and Kimi K3: three layers of four with Kimi's delta attention, latent attention without positions in the others.
void read_kimi_linear(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  Mixer full = read_latent(config, model);
  if (config.flag("mla_use_output_gate", false)) full.gate_width = full.heads * full.latent.value_dim;
  Recurrence r;
  std::vector<std::int64_t> full_layers;
  ParamReader settings = config.params().map("linear_attn_config");
  r.key_heads = r.value_heads = settings.required<std::int64_t>("num_heads", between(std::int64_t{1}, kMaxHeads));
  r.key_dim = r.value_dim = settings.required<std::int64_t>("head_dim", between(std::int64_t{1}, kMaxHeadDim));
  r.conv_kernel = settings.optional<std::int64_t>("short_conv_kernel_size", 4, between(std::int64_t{1}, kMaxHeadDim));
  r.decay_rank = r.key_dim;
  r.gate_rank = settings.optional<bool>("use_full_rank_gate", false) ? 0 : r.value_dim;
  full_layers = settings.required_list<std::int64_t>("full_attn_layers");  // counted from 1
  for (const std::string& key : settings.node().keys()) {
    if (!settings.declared().contains(key)) static_cast<void>(settings.optional_raw(key));
  }
  settings.finish();
  fill(draft, full, {});
  const Mixer delta = recurrent(AttentionKind::kGatedDelta, r);
  draft.each([&](LayerShape& layer, std::int64_t i) {
    if (std::ranges::find(full_layers, i + 1) == full_layers.end()) layer.mixer = delta;
  });
  MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size"});
  moe.router_bias = true;
  moe.latent = config.optional("routed_expert_hidden_size", 0, kMaxHidden);
  if (moe.latent > 0 && config.flag("latent_moe_use_norm", false)) moe.router_extra = moe.latent;
  read_shared_experts(config, moe);
  place_experts(config, draft, moe);
  read_prediction(config, model);
  if (config.has("attn_res_block_size")) draft.untimed("attention residuals, which are not counted");
}

// Mamba-2 under the spellings of Nemotron-H and of Granite, where "auto" shares the expanded width among the heads.
Recurrence read_mamba(FamilyConfig& config, std::int64_t hidden) {
  Recurrence r;
  r.value_heads = config.required({"mamba_num_heads", "mamba_n_heads"}, kMaxHeads);
  const auto width = config.params().node().find("mamba_d_head");
  if (width && width->is_scalar() && width->scalar() == "auto") {
    static_cast<void>(config.text("mamba_d_head", ""));
    const std::int64_t all = config.optional("mamba_expand", 2, 64) * hidden;
    r.value_dim = std::max<std::int64_t>(all / std::max<std::int64_t>(r.value_heads, 1), 1);
  } else {
    r.value_dim = config.required({"mamba_head_dim", "mamba_d_head"}, kMaxHeadDim);
  }
  r.key_heads = config.optional({"n_groups", "mamba_n_groups"}, 1, kMaxHeads);
  r.key_dim = config.required({"ssm_state_size", "mamba_d_state"}, kMaxHeadDim);
  r.conv_kernel = config.optional({"conv_kernel", "mamba_d_conv"}, 4, kMaxHeadDim);
  r.conv_bias = config.flag(
      config.spelling({"use_conv_bias", "mamba_conv_bias"}) == "use_conv_bias" ? "use_conv_bias" : "mamba_conv_bias", true);
  return r;
}

// Each layer of Nemotron-H either mixes or feeds forward: M Mamba-2, * attention, - MLP, E experts.
std::string read_pattern(FamilyConfig& config, const char* letters, const char* list) {
  std::string pattern = config.text(letters, "");
  if (!pattern.empty()) return pattern;
  for (const std::string& type : config.words(list)) {
    const bool is_mamba = type == "mamba" || type == "linear_attention";
    const bool is_attention = type == "attention" || type == "full_attention";
    pattern += is_mamba ? 'M' : is_attention ? '*' : type == "moe" ? 'E' : type == "mlp" ? '-' : '?';
  }
  return pattern;
}

struct NemotronParts {
  Mixer attention;
  Mixer mamba;
  FeedForward mlp;
  FeedForward experts;
};

std::vector<LayerShape> nemotron_layers(FamilyConfig& config, const std::string& pattern, const char* key,
                                        const NemotronParts& parts) {
  std::vector<LayerShape> layers;
  Mixer none;
  none.kind = AttentionKind::kNone;
  for (const char letter : pattern) {
    LayerShape layer{none, {}, 1};
    if (letter == 'M') {
      layer.mixer = parts.mamba;
    } else if (letter == '*') {
      layer.mixer = parts.attention;
    } else if (letter == '-') {
      layer.feed = parts.mlp;
    } else if (letter == 'E' && parts.experts.moe.experts > 0) {
      layer.feed = parts.experts;
    } else {
      config.params().error(key, fmt::format("cannot model layers of '{}'", letter), "M, *, - and E can be");
      return {};
    }
    layers.push_back(layer);
  }
  return layers;
}

void read_nemotron_h(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  const bool has_letters = config.has("hybrid_override_pattern");
  const char* key = has_letters ? "hybrid_override_pattern" : "layers_block_type";
  const std::string pattern = read_pattern(config, "hybrid_override_pattern", "layers_block_type");
  if (pattern.empty()) {
    model.layers = config.required(key, kMaxLayers);  // says that it is missing
    return;
  }
  model.layers = static_cast<std::int64_t>(pattern.size());
  model.hidden = config.required("hidden_size", kMaxHidden);
  model.heads = config.required("num_attention_heads", kMaxHeads);
  model.vocab = config.required("vocab_size", kMaxVocab);
  model.tied_embedding = config.flag("tie_word_embeddings", false);
  NemotronParts parts;
  parts.attention = read_grouped(config, model, {});
  parts.mamba = recurrent(AttentionKind::kMamba2, read_mamba(config, model.hidden));
  parts.mlp.is_gated = parts.experts.is_gated = false;
  parts.mlp.ffn = read_ffn(config);
  if (pattern.find('E') != std::string::npos) {
    MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size"});
    moe.router_bias = true;
    moe.latent = config.optional("moe_latent_size", 0, kMaxHidden);
    read_shared_experts(config, moe);
    read_groups(config, moe);
    parts.experts.moe = moe;
  }
  draft.layers = nemotron_layers(config, pattern, key, parts);
  read_prediction(config, model);
  if (model.mtp_modules == 0) return;
  std::string module = read_pattern(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type");
  if (module.empty()) module = "*E";
  model.mtp_layers = nemotron_layers(config, module, "mtp_hybrid_override_pattern", parts);
}

// Mamba-2 or attention, then experts and an MLP for all tokens side by side.
void read_granite_hybrid(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model, {.tied = true});
  const Mixer full = read_grouped(config, model, {});
  const Mixer mamba = recurrent(AttentionKind::kMamba2, read_mamba(config, model.hidden));
  FeedForward feed;
  feed.ffn = config.optional("shared_intermediate_size", 0, kMaxFfn, 0);
  if (config.optional("num_local_experts", 0, kMaxExperts, 0) > 0) feed.moe = read_experts(config, {"intermediate_size"});
  fill(draft, full, feed);
  const std::vector<std::string> types = config.words(config.has("layer_types") ? "layer_types" : "layers_block_type");
  draft.each([&](LayerShape& layer, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    if (types.empty() || (at < types.size() && (types[at] == "mamba" || types[at] == "linear_attention"))) layer.mixer = mamba;
  });
}

// Mamba-2 but in the layers that are listed, then an MLP.
void read_bamba(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  const Mixer full = read_grouped(config, model, {.kv_heads = 8});
  FeedForward feed;
  feed.ffn = read_ffn(config);
  fill(draft, recurrent(AttentionKind::kMamba2, read_mamba(config, model.hidden)), feed);
  const std::vector<std::int64_t> listed = config.numbers("attn_layer_indices");
  draft.each([&](LayerShape& layer, std::int64_t i) {
    if (std::ranges::find(listed, i) != listed.end()) layer.mixer = full;
  });
}

constexpr std::array kHybridTable{
    Family{"BambaForCausalLM bamba", read_bamba},
    Family{"KimiLinearForCausalLM kimi_linear KimiK3ForConditionalGeneration kimi_k3", read_kimi_linear},
    Family{"GraniteMoeHybridForCausalLM granitemoehybrid", read_granite_hybrid},
    Family{"MiniMaxForCausalLM MiniMaxM1ForCausalLM MiniMaxText01ForCausalLM minimax minimax_m1 minimax_text_01",
           read_minimax_text},
    Family{"NemotronHForCausalLM nemotron_h", read_nemotron_h},
    Family{"Qwen3NextForCausalLM qwen3_next", read_qwen_hybrid},
    Family{"Qwen3_5ForConditionalGeneration qwen3_5 qwen3_5_text Qwen3_5ForCausalLM", read_qwen_hybrid},
    Family{"Qwen3_5MoeForConditionalGeneration qwen3_5_moe qwen3_5_moe_text Qwen3_5MoeForCausalLM", read_qwen_hybrid},
};

}  // namespace

std::span<const Family> hybrid_families() { return kHybridTable; }

}  // namespace weft::work
