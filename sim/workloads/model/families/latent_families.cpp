// Decoders with latent attention (MLA), also with keys chosen by an index (DSA): DeepSeek and what follows it.
#include <array>

#include "sim/workloads/model/families/tables.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

void read_deepseek(FamilyConfig& config, ModelDraft& draft, bool has_router_bias) {
  read_size(config, draft.model);
  Mixer mixer = read_latent(config, draft.model);
  mixer.index = read_key_index(config);
  fill(draft, mixer, {});
  read_grouped_experts(config, draft, has_router_bias);
}

void read_deepseek_v2(FamilyConfig& config, ModelDraft& draft) { read_deepseek(config, draft, false); }

// Layers whose indexer_types are "shared" meet the keys of the last layer that chose some.
void read_deepseek_v3(FamilyConfig& config, ModelDraft& draft) {
  read_deepseek(config, draft, config.text("topk_method", "noaux_tc") == "noaux_tc");
  read_prediction(config, draft.model);
  const std::vector<std::string> types = config.words("indexer_types");
  if (draft.model.mtp_modules > 0 && !types.empty() && !draft.layers.empty()) draft.model.mtp_layers = {draft.layers.back()};
  draft.each([&types](LayerShape& layer, std::int64_t i) {
    if (static_cast<std::size_t>(i) < types.size())
      layer.mixer.index.is_borrowed = types[static_cast<std::size_t>(i)] == "shared";
  });
}

// Each layer is attention and an MLP twice, and experts beside the second of them (LongCat-Flash report §2.1).
void read_longcat(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model);
  const Mixer mixer = read_latent(config, model);
  FeedForward dense;
  dense.ffn = read_ffn(config);
  MixtureOfExperts moe = read_experts(config, {"expert_ffn_hidden_size"});
  moe.router_bias = true;
  moe.empty_experts = config.optional("zero_expert_num", 0, kMaxExperts, 0);
  const std::int64_t blocks = model.layers;
  Mixer none;
  none.kind = AttentionKind::kNone;
  for (std::int64_t i = 0; i < blocks; ++i) {
    draft.layers.push_back({mixer, dense});
    draft.layers.push_back({mixer, dense});
    draft.layers.push_back({none, {.moe = moe}, 0});
  }
  model.layers = 3 * blocks;
  read_prediction(config, model);
  model.mtp_layers = {{mixer, dense}};
  draft.untimed("experts at work while the next attention is");
}

constexpr std::array kLatentTable{
    Family{"DeepseekV2ForCausalLM deepseek_v2", read_deepseek_v2},
    Family{"DeepseekV3ForCausalLM deepseek_v3 kimi_k2 DeepseekV32ForCausalLM deepseek_v32 Glm4MoeLiteForCausalLM "
           "glm4_moe_lite GlmMoeDsaForCausalLM glm_moe_dsa KimiK25ForConditionalGeneration kimi_k25",
           read_deepseek_v3},
    Family{"LongcatFlashForCausalLM longcat_flash", read_longcat},
};

}  // namespace

std::span<const Family> latent_families() { return kLatentTable; }

}  // namespace weft::work
