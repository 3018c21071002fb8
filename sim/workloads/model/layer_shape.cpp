#include "sim/workloads/model/layer_shape.h"

#include <algorithm>
#include <string>

#include "sim/core/error.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

std::string_view to_string(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kGrouped:
      return "grouped attention";
    case AttentionKind::kLatent:
      return "latent attention";
    case AttentionKind::kLinear:
      return "linear attention";
    case AttentionKind::kMamba2:
      return "Mamba-2";
    case AttentionKind::kGatedDelta:
      return "gated delta attention";
    case AttentionKind::kNone:
      return "no attention";
  }
  WEFT_CHECK(false);
}

bool is_recurrent(AttentionKind kind) {
  return kind == AttentionKind::kLinear || kind == AttentionKind::kMamba2 || kind == AttentionKind::kGatedDelta;
}

std::int64_t Mixer::cache_elements() const {
  if (shares_cache) return 0;
  const std::int64_t indexed = index.is_borrowed || index.heads == 0 ? 0 : index.dim;
  if (kind == AttentionKind::kLatent) return latent.kv_rank + latent.rope_dim + indexed;
  // Values that are keys are still cached: the keys are rotated, the values are not.
  if (kind == AttentionKind::kGrouped) return kv_heads * (head_dim + value_dim) + indexed;
  return 0;
}

std::int64_t Mixer::state_elements() const {
  if (!is_recurrent(kind)) return 0;
  const Recurrence& r = recurrence;
  return r.value_heads * r.key_dim * r.value_dim + (r.conv_kernel > 0 ? (r.conv_kernel - 1) * r.channels() : 0);
}

LayerShape plain_layer_shape(const TransformerModel& model, std::int64_t layer) {
  LayerShape shape;
  Mixer& mixer = shape.mixer;
  mixer.kind = model.attention;
  mixer.heads = model.heads;
  mixer.kv_heads = model.kv_heads;
  if (model.attention == AttentionKind::kLatent) {
    mixer.latent = model.latent;
    mixer.norm_elements = model.latent.query_rank + model.latent.kv_rank;
  } else {
    mixer.head_dim = model.head_dim;
    mixer.value_dim = model.head_dim;
    if (model.qk_norm) mixer.norm_elements = 2 * model.head_dim;
    mixer.qkv_bias = model.linear_bias || model.qkv_bias;
  }
  mixer.output_bias = model.linear_bias;
  mixer.window = model.window(layer);
  shape.feed.is_gated = model.gated_mlp;
  if (model.is_moe_layer(layer)) {
    shape.feed.moe = model.moe;
    shape.feed.moe.dense_layers = 0;
  } else {
    shape.feed.ffn = model.ffn;
    shape.feed.bias = model.linear_bias;
  }
  shape.norms = model.parallel_block ? 1 : 2;
  return shape;
}

LayerShape layer_shape(const TransformerModel& model, std::int64_t layer) {
  if (model.shapes.empty()) return plain_layer_shape(model, layer);
  return model.shapes[model.shape_of_layer[static_cast<std::size_t>(layer)]];
}

std::vector<LayerShape> distinct_shapes(const TransformerModel& model) {
  if (!model.shapes.empty()) return model.shapes;
  std::vector<LayerShape> shapes;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    LayerShape shape = plain_layer_shape(model, layer);
    if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

namespace {

// A layer without what changes no matrix: biases, norms, sinks and other single elements.
LayerShape matrices_of(LayerShape shape) {
  shape.mixer.qkv_bias = shape.mixer.output_bias = shape.mixer.sinks = false;
  shape.mixer.norm_elements = 0;
  shape.feed.bias = shape.feed.moe.expert_bias = false;
  shape.feed.moe.router_bias = false;
  shape.norms = 0;
  shape.other = 0;
  return shape;
}

std::string difference(const LayerShape& a, const LayerShape& plain) {
  if (a.mixer.kind != plain.mixer.kind) return std::string{to_string(a.mixer.kind)};
  if (a.mixer.index != plain.mixer.index) return "sparse attention";
  if (a.mixer.chunk != plain.mixer.chunk) return "chunked attention";
  if (a.mixer.gate_width != plain.mixer.gate_width) return "gates on attention's output";
  if (a.mixer != plain.mixer) return "attention of another width in some layers";
  if (a.feed.moe.latent != plain.feed.moe.latent) return "experts on latents";
  return "an MLP of another kind or width in some layers";
}

}  // namespace

std::string irregularity(const TransformerModel& model) {
  for (std::int64_t layer = 0; layer < model.layers && !model.shapes.empty(); ++layer) {
    const LayerShape shape = matrices_of(layer_shape(model, layer));
    const LayerShape plain = matrices_of(plain_layer_shape(model, layer));
    if (shape != plain) return difference(shape, plain);
  }
  return {};
}

}  // namespace weft::work
