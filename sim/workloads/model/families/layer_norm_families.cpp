// Decoders of LayerNorms with a shift and MLPs of two matrices: GPT-NeoX, OPT, BLOOM, StarCoder 2, Nemotron-4.
#include <array>

#include "sim/workloads/model/families/tables.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

void read_with_shifts(FamilyConfig& config, ModelDraft& draft, std::int64_t ffn, bool attention_bias, bool mlp_bias) {
  draft.model.norm = NormKind::kLayerNorm;
  FeedForward feed;
  feed.ffn = ffn;
  feed.is_gated = false;
  feed.bias = mlp_bias;
  fill(draft, read_grouped(config, draft.model, {.bias = attention_bias, .output_bias = attention_bias}), feed);
}

// Attention and MLP side by side, each behind a norm of its own.
void read_gpt_neox(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  const bool bias = config.flag("attention_bias", true);
  read_with_shifts(config, draft, read_ffn(config), bias, true);
  draft.model.parallel_block = config.flag("use_parallel_residual", true);
  draft.each([](LayerShape& layer, std::int64_t) { layer.norms = 2; });
}

void read_opt(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  read_size(config, model, {.tied = true});
  const std::int64_t words = config.optional("word_embed_proj_dim", model.hidden, kMaxHidden);
  if (words != model.hidden) config.params().error("word_embed_proj_dim", "cannot model embeddings of another width");
  constexpr std::int64_t kOffset = 2;  // OPTLearnedPositionalEmbedding
  model.learned_positions = kOffset + config.optional("max_position_embeddings", 2048, kMaxPositions);
  const bool bias = config.flag("enable_bias", true);
  read_with_shifts(config, draft, config.required("ffn_dim", kMaxFfn), bias, bias);
}

// A norm behind the embedding, too.
void read_bloom(FamilyConfig& config, ModelDraft& draft) {
  TransformerModel& model = draft.model;
  model.layers = config.required({"n_layer", "num_hidden_layers"}, kMaxLayers);
  model.hidden = config.required({"hidden_size", "n_embed"}, kMaxHidden);
  model.heads = config.required({"n_head", "num_attention_heads"}, kMaxHeads);
  model.vocab = config.required("vocab_size", kMaxVocab);
  model.tied_embedding = config.flag("tie_word_embeddings", true);
  read_with_shifts(config, draft, 4 * model.hidden, true, true);
  if (!draft.layers.empty()) draft.layers.front().other += 2 * model.hidden;
}

void read_starcoder2(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model, {.tied = true});
  const bool bias = config.flag("use_bias", true);
  read_with_shifts(config, draft, read_ffn(config), bias, bias);
  read_windows(config, draft, config.optional("sliding_window", 0, kMaxSequence));
}

void read_nemotron(FamilyConfig& config, ModelDraft& draft) {
  read_size(config, draft.model);
  read_with_shifts(config, draft, read_ffn(config), false, config.flag("mlp_bias", false));
}

constexpr std::array kLayerNormTable{
    Family{"BloomForCausalLM BloomModel bloom", read_bloom},     Family{"GPTNeoXForCausalLM gpt_neox", read_gpt_neox},
    Family{"NemotronForCausalLM nemotron", read_nemotron},       Family{"OPTForCausalLM opt", read_opt},
    Family{"Starcoder2ForCausalLM starcoder2", read_starcoder2},
};

}  // namespace

std::span<const Family> layer_norm_families() { return kLayerNormTable; }

}  // namespace weft::work
