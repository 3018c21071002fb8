// Decoders whose layers differ in width: Llama 4, Step, MiMo, and what a search has pruned (Nemotron-NAS).
#include <algorithm>
#include <array>
#include <cmath>

#include "sim/workloads/model/families/tables.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

// Three layers of four attend within chunks; every so many layers have experts.
void read_llama4(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  const Mixer mixer = read_grouped(config, model, {.kv_heads = 8});
  FeedForward dense;
  const std::int64_t step = std::max<std::int64_t>(config.optional("interleave_moe_layer_step", 1, kMaxLayers), 1);
  if (step > 1 || config.has("moe_layers")) dense.ffn = config.required("intermediate_size_mlp", kMaxFfn);
  MixtureOfExperts moe = read_experts(config, {"intermediate_size"});
  moe.shared_experts = 1;
  fill(draft, mixer, dense);
  const std::vector<std::int64_t> listed = config.numbers("moe_layers");
  const std::vector<std::int64_t> rotary = config.numbers("no_rope_layers");
  const std::int64_t chunk = config.optional("attention_chunk_size", 8192, kMaxSequence);
  const std::vector<std::string> types = config.words("layer_types");
  draft.each([&](LayerShape& layer, std::int64_t i) {
    const bool has_experts = listed.empty() ? (i + 1) % step == 0 : std::ranges::find(listed, i) != listed.end();
    if (has_experts) layer.feed = {.moe = moe};
    const auto at = static_cast<std::size_t>(i);
    const bool is_full = at < types.size()    ? types[at] == "full_attention"
                         : at < rotary.size() ? rotary[at] == 0
                                              : (i + 1) % 4 == 0;
    layer.mixer.chunk = is_full ? 0 : chunk;
  });
}

// Layers with a window have more heads; a gate for each head (Step-3.5-Flash). Its prediction modules are layers of the
// former kind with an MLP.
void read_step(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  const AttentionTraits traits{.norm = config.flag("use_qk_norm", true) ? QkNorm::kHead : QkNorm::kNone};
  Mixer full = read_grouped(config, model, traits);
  Mixer sliding = full;
  sliding.window = config.optional("sliding_window", 512, kMaxSequence);
  if (auto other = config.params().optional_map("attention_other_setting")) {
    sliding.heads = other->optional<std::int64_t>("num_attention_heads", full.heads, between(std::int64_t{1}, kMaxHeads));
    sliding.kv_heads =
        other->optional<std::int64_t>("num_attention_groups", full.kv_heads, between(std::int64_t{1}, kMaxHeads));
    for (const std::string& key : other->node().keys()) {
      if (!other->declared().contains(key)) static_cast<void>(other->optional_raw(key));
    }
    other->finish();
  }
  if (config.flag("use_head_wise_attn_gate", true)) {
    full.gate_width = full.heads;
    sliding.gate_width = sliding.heads;
  }
  fill(draft, full, {});
  const std::vector<std::string> types = config.words("layer_types");
  draft.each([&](LayerShape& layer, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    if (at < types.size() ? types[at] == "sliding_attention" : i % 4 != 0) layer.mixer = sliding;
  });
  MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size"});
  moe.router_bias = config.flag("use_moe_router_bias", true);
  read_shared_experts(config, moe);
  place_experts(config, draft, moe);
  read_prediction(config, model);
  if (model.mtp_modules > 0) model.mtp_layers = {{sliding, {.ffn = read_ffn(config)}}};
}

// Values are narrower than keys; layers with a window have their own heads, and sinks.
void read_mimo_v2(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  Mixer full = read_grouped(config, model, {});
  full.value_dim = config.optional("v_head_dim", full.head_dim, kMaxHeadDim);
  Mixer sliding = full;
  sliding.heads = config.optional("swa_num_attention_heads", full.heads, kMaxHeads);
  sliding.kv_heads = config.optional("swa_num_key_value_heads", full.kv_heads, kMaxHeads);
  sliding.head_dim = config.optional("swa_head_dim", full.head_dim, kMaxHeadDim);
  sliding.value_dim = config.optional("swa_v_head_dim", full.value_dim, kMaxHeadDim);
  sliding.window = config.optional({"sliding_window", "sliding_window_size"}, 128, kMaxSequence);
  full.sinks = config.flag("add_full_attention_sink_bias", false);
  sliding.sinks = config.flag("add_swa_attention_sink_bias", false);
  if (full.sinks || sliding.sinks) draft.untimed("attention sinks");
  fill(draft, full, {});
  const std::vector<std::int64_t> kinds = config.numbers("hybrid_layer_pattern");
  const std::vector<std::string> types = config.words("layer_types");
  draft.each([&](LayerShape& layer, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    if (at < kinds.size() ? kinds[at] == 1 : at < types.size() && types[at] == "sliding_attention") layer.mixer = sliding;
  });
  MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size"});
  moe.router_bias = config.text("topk_method", "noaux_tc") == "noaux_tc";
  read_groups(config, moe);
  place_experts(config, draft, moe);
}

// Rounded as its class rounds: 2/3 of the multiple of h, up to 256.
std::int64_t nas_ffn(double multiple, std::int64_t hidden) {
  const auto width = static_cast<std::int64_t>(2 * multiple * static_cast<double>(hidden) / 3);
  return (width + 255) / 256 * 256;
}

// Each layer has its own number of key/value heads and its own MLP, or lacks one of them.
void read_nemotron_nas(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  const Mixer mixer = read_grouped(config, model, {});
  const auto pass = [](ParamReader& reader) {
    for (const std::string& key : reader.node().keys()) {
      if (!reader.declared().contains(key)) static_cast<void>(reader.optional_raw(key));
    }
    reader.finish();
  };
  for (ParamReader& block : config.params().required_maps("block_configs")) {
    LayerShape layer{mixer, {}, 2};
    ParamReader attention = block.map("attention");
    const auto share = attention.optional_raw("n_heads_in_group");
    if (attention.optional<bool>("no_op", false) || attention.optional<bool>("replace_with_linear", false)) {
      if (attention.optional<bool>("replace_with_linear", false)) attention.error_here("cannot model attention made linear");
      layer.mixer = {.kind = AttentionKind::kNone};
      --layer.norms;
    } else if (share && !share->is_null()) {
      const auto group = attention.required<std::int64_t>("n_heads_in_group", between(std::int64_t{1}, kMaxHeads));
      layer.mixer.kv_heads = std::max<std::int64_t>(model.heads / std::max<std::int64_t>(group, 1), 1);
    }
    pass(attention);
    ParamReader ffn = block.map("ffn");
    const auto multiple = ffn.optional_raw("ffn_mult");
    if (ffn.optional<bool>("no_op", false)) {
      --layer.norms;
    } else if (multiple && !multiple->is_null()) {
      layer.feed.ffn = nas_ffn(ffn.required<double>("ffn_mult", between(0.0, 64.0)), model.hidden);
    }
    pass(ffn);
    pass(block);
    draft.layers.push_back(layer);
  }
  draft.layers.resize(static_cast<std::size_t>(std::max<std::int64_t>(model.layers, 0)), LayerShape{mixer, {}});
}

constexpr std::array kVariedTable{
    Family{"DeciLMForCausalLM nemotron-nas", read_nemotron_nas},
    Family{"Llama4ForCausalLM llama4_text Llama4ForConditionalGeneration llama4", read_llama4},
    Family{"MiMoV2FlashForCausalLM mimo_v2_flash", read_mimo_v2},
    Family{"Step3p5ForCausalLM step3p5 Step3p7FlashForCausalLM step3p7", read_step},
};

}  // namespace

std::span<const Family> varied_families() { return kVariedTable; }

}  // namespace weft::work
