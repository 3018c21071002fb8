#include "sim/workloads/model/parameters.h"

namespace weft::work {
namespace {

std::int64_t norm_size(const TransformerModel& model) {
  return model.norm == NormKind::kLayerNorm ? 2 * model.hidden : model.hidden;
}

void add_latent_attention(const TransformerModel& m, LayerParameters& out) {
  const LatentAttention& mla = m.latent;
  const std::int64_t query_in = mla.query_rank > 0 ? mla.query_rank : m.hidden;
  out.latent = m.hidden * (mla.query_rank + mla.kv_rank + mla.rope_dim);
  out.qkv = query_in * m.heads * m.score_dim() + mla.kv_rank * m.heads * (mla.nope_dim + mla.value_dim);
  out.proj = m.heads * mla.value_dim * m.hidden;
  out.norms += mla.query_rank + mla.kv_rank;
}

void add_grouped_attention(const TransformerModel& m, LayerParameters& out) {
  const std::int64_t qkv_width = (m.heads + 2 * m.kv_heads) * m.head_dim;
  out.qkv = m.hidden * qkv_width;
  out.proj = m.heads * m.head_dim * m.hidden;
  if (m.qk_norm) out.norms += 2 * m.head_dim;
  if (m.linear_bias || m.qkv_bias) out.biases += qkv_width;
}

void add_mlp(const TransformerModel& m, std::int64_t layer, LayerParameters& out) {
  const std::int64_t inner = m.gated_mlp ? 2 : 1;  // biases of f elements
  if (!m.is_moe_layer(layer)) {
    out.mlp = m.mlp_matrices() * m.hidden * m.ffn;
    if (m.linear_bias) out.biases += inner * m.ffn + m.hidden;
    return;
  }
  const std::int64_t expert = m.mlp_matrices() * m.hidden * m.moe.expert_ffn;
  out.experts = m.moe.experts * expert;
  out.mlp = m.moe.shared_experts * expert;
  out.router = m.moe.experts * (m.hidden + (m.moe.router_bias ? 1 : 0)) + (m.moe.shared_gate ? m.hidden : 0);
}

}  // namespace

std::int64_t LayerParameters::active(const MixtureOfExperts& moe) const {
  return moe.experts > 0 ? total() - experts / moe.experts * (moe.experts - moe.experts_per_token) : total();
}

LayerParameters layer_parameters(const TransformerModel& model, std::int64_t layer) {
  LayerParameters out;
  out.norms = (model.parallel_block ? 1 : 2) * norm_size(model);
  if (model.attention == AttentionKind::kLatent) {
    add_latent_attention(model, out);
  } else {
    add_grouped_attention(model, out);
  }
  if (model.linear_bias) out.biases += model.hidden;  // of the attention's output
  add_mlp(model, layer, out);
  return out;
}

std::int64_t embedding_parameters(const TransformerModel& model) {
  return (model.vocab + model.learned_positions) * model.hidden;
}

std::int64_t head_parameters(const TransformerModel& model) { return model.tied_embedding ? 0 : model.vocab * model.hidden; }

std::int64_t final_norm_parameters(const TransformerModel& model) { return norm_size(model); }

std::int64_t total_parameters(const TransformerModel& model) {
  std::int64_t total = embedding_parameters(model) + head_parameters(model) + final_norm_parameters(model);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) total += layer_parameters(model, layer).total();
  return total;
}

std::int64_t active_parameters(const TransformerModel& model) {
  std::int64_t active = embedding_parameters(model) + head_parameters(model) + final_norm_parameters(model);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) active += layer_parameters(model, layer).active(model.moe);
  return active;
}

std::int64_t mtp_parameters(const TransformerModel& model) {
  const std::int64_t module =
      layer_parameters(model, model.layers - 1).total() + 2 * model.hidden * model.hidden + 3 * norm_size(model);
  return model.mtp_modules * module;
}

std::int64_t gpt_closed_form(std::int64_t layers, std::int64_t hidden, std::int64_t vocab, std::int64_t positions) {
  // 12 L h^2 (1 + 13 / (12 h) + (V + s) / (12 L h)), multiplied out.
  return layers * hidden * (12 * hidden + 13) + (vocab + positions) * hidden;
}

std::int64_t padded_vocab(std::int64_t vocab, int tensor) {
  const std::int64_t multiple = std::int64_t{128} * tensor;
  return (vocab + multiple - 1) / multiple * multiple;
}

}  // namespace weft::work
