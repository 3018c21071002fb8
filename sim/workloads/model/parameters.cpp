#include "sim/workloads/model/parameters.h"

namespace weft::work {
namespace {

std::int64_t norm_size(const TransformerModel& model) {
  return model.norm == NormKind::kLayerNorm ? 2 * model.hidden : model.hidden;
}

// Parameters that choose keys: queries of latent ones or of h, one key for all heads with its LayerNorm, a weight for each
// head.
void add_key_index(const Mixer& mixer, std::int64_t hidden, LayerParameters& out) {
  const KeyIndex& index = mixer.index;
  if (index.heads == 0 || index.is_borrowed) return;
  const std::int64_t from = index.reads_hidden ? hidden : mixer.latent.query_rank;
  out.latent += from * index.heads * index.dim + hidden * index.dim;
  if (index.reads_hidden) {
    out.norms += 2 * index.dim;  // of its queries and its keys
  } else {
    out.latent += hidden * index.heads;
    out.norms += 2 * index.dim;  // scale and shift of its keys
  }
}

void add_latent_attention(const Mixer& m, std::int64_t hidden, LayerParameters& out) {
  const LatentAttention& mla = m.latent;
  const std::int64_t query_in = mla.query_rank > 0 ? mla.query_rank : hidden;
  out.latent = hidden * (mla.query_rank + mla.kv_rank + mla.rope_dim);
  out.qkv = query_in * m.heads * (mla.nope_dim + mla.rope_dim) + mla.kv_rank * m.heads * (mla.nope_dim + mla.value_dim);
  out.qkv += hidden * m.gate_width;
  out.proj = m.heads * mla.value_dim * hidden;
}

void add_grouped_attention(const Mixer& m, std::int64_t hidden, LayerParameters& out) {
  const std::int64_t keys = m.shares_cache ? 0 : m.kv_heads * m.head_dim;
  const std::int64_t values = m.shares_cache || m.keys_are_values ? 0 : m.kv_heads * m.value_dim;
  const std::int64_t width = m.heads * m.head_dim + keys + values;
  out.qkv = hidden * (width + m.gate_width);
  out.proj = m.heads * m.value_dim * hidden;
  if (m.qkv_bias) out.biases += width;
}

// Projections to keys, queries, values and a gate, and what a head's decay and step need; the convolution; the norm of the
// output, of all heads or of one.
void add_recurrence(const Mixer& m, std::int64_t hidden, LayerParameters& out) {
  const Recurrence& r = m.recurrence;
  const std::int64_t scalars = m.kind == AttentionKind::kGatedDelta ? 2 : m.kind == AttentionKind::kMamba2 ? 1 : 0;
  out.qkv = hidden * r.columns(scalars) + r.decay_rank * r.keys() + r.gate_rank * r.values();
  out.proj = r.values() * hidden;
  const std::int64_t conv = r.channels() * (r.conv_kernel + (r.conv_bias ? 1 : 0));
  // A, the step's bias and, of Mamba-2, D.
  const std::int64_t per_head = m.kind == AttentionKind::kMamba2 ? 3 : m.kind == AttentionKind::kGatedDelta ? 2 : 0;
  out.biases += conv + per_head * r.value_heads + (r.decay_rank > 0 ? r.keys() - r.value_heads : 0);
  out.norms += m.kind == AttentionKind::kGatedDelta ? r.value_dim : r.values();
}

void add_experts(const FeedForward& feed, std::int64_t hidden, LayerParameters& out) {
  const MixtureOfExperts& moe = feed.moe;
  const std::int64_t width = moe.latent > 0 ? moe.latent : hidden;
  std::int64_t expert = feed.matrices() * width * moe.expert_ffn;
  if (moe.expert_bias) expert += (feed.matrices() - 1) * moe.expert_ffn + width;
  out.experts = moe.experts * expert;
  out.mlp += feed.matrices() * hidden * moe.shared_experts * moe.expert_ffn;
  if (moe.latent > 0) out.mlp += 2 * hidden * moe.latent;
  out.router = (moe.experts + moe.empty_experts) * (hidden + (moe.router_bias ? 1 : 0)) + (moe.shared_gate ? hidden : 0) +
               moe.router_extra;
}

}  // namespace

std::int64_t LayerParameters::active(const MixtureOfExperts& moe) const {
  return moe.experts > 0 ? total() - experts / moe.experts * (moe.experts - moe.experts_per_token) : total();
}

LayerParameters shape_parameters(const TransformerModel& model, const LayerShape& shape) {
  const std::int64_t hidden = model.hidden;
  const Mixer& mixer = shape.mixer;
  LayerParameters out;
  out.norms = shape.norms * norm_size(model) + mixer.norm_elements;
  switch (mixer.kind) {
    case AttentionKind::kLatent:
      add_latent_attention(mixer, hidden, out);
      break;
    case AttentionKind::kGrouped:
      add_grouped_attention(mixer, hidden, out);
      break;
    case AttentionKind::kNone:
      break;
    default:
      add_recurrence(mixer, hidden, out);
  }
  add_key_index(mixer, hidden, out);
  if (mixer.output_bias) out.biases += hidden;
  if (mixer.sinks) out.biases += mixer.heads;
  if (shape.feed.ffn > 0) {
    out.mlp = shape.feed.matrices() * hidden * shape.feed.ffn;
    if (shape.feed.bias) out.biases += (shape.feed.matrices() - 1) * shape.feed.ffn + hidden;
  }
  if (shape.feed.moe.experts > 0) add_experts(shape.feed, hidden, out);
  out.biases += shape.other;
  return out;
}

LayerParameters layer_parameters(const TransformerModel& model, std::int64_t layer) {
  return shape_parameters(model, layer_shape(model, layer));
}

std::int64_t embedding_parameters(const TransformerModel& model) {
  return (model.vocab + model.learned_positions) * model.hidden;
}

std::int64_t head_parameters(const TransformerModel& model) {
  return (model.tied_embedding ? 0 : model.vocab * model.hidden) + (model.head_bias ? model.vocab : 0);
}

std::int64_t final_norm_parameters(const TransformerModel& model) { return norm_size(model); }

std::int64_t total_parameters(const TransformerModel& model) {
  std::int64_t total = embedding_parameters(model) + head_parameters(model) + final_norm_parameters(model);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) total += layer_parameters(model, layer).total();
  return total;
}

std::int64_t active_parameters(const TransformerModel& model) {
  std::int64_t active = embedding_parameters(model) + head_parameters(model) + final_norm_parameters(model);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerShape shape = layer_shape(model, layer);
    active += shape_parameters(model, shape).active(shape.feed.moe);
  }
  return active;
}

std::int64_t mtp_parameters(const TransformerModel& model) {
  std::int64_t module = 2 * model.hidden * model.hidden + 3 * norm_size(model);
  if (model.mtp_layers.empty()) module += layer_parameters(model, model.layers - 1).total();
  for (const LayerShape& shape : model.mtp_layers) module += shape_parameters(model, shape).total();
  return model.mtp_modules * module;
}

std::int64_t padded_vocab(std::int64_t vocab, int tensor) {
  const std::int64_t multiple = std::int64_t{128} * tensor;
  return (vocab + multiple - 1) / multiple * multiple;
}

}  // namespace weft::work
