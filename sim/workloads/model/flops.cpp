#include "sim/workloads/model/flops.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/workloads/model/parameters.h"

namespace weft::work {
namespace {

// Pairs of a query and a key it sees, over a whole sequence: s^2/2 where all earlier tokens are seen, and s w - w^2/2 where the
// last w are, or the w that an index chooses; s c/2 in chunks of c. Kernels that compute all of a square do twice that.
double scored_pairs(double sequence, const Mixer& mixer, FlopConvention convention) {
  if (convention == FlopConvention::kSixN) return 0;
  double width = sequence;
  if (mixer.window > 0) width = std::min(width, static_cast<double>(mixer.window));
  if (mixer.index.heads > 0) width = std::min(width, static_cast<double>(mixer.index.top_k));
  double causal = sequence * width - width * width / 2;
  if (mixer.chunk > 0) causal = std::min(causal, sequence * std::min(sequence, static_cast<double>(mixer.chunk)) / 2);
  return convention == FlopConvention::kCausalAttention ? causal : 2 * causal;
}

double attention_flops(const Mixer& mixer, double tokens, double sequence, FlopConvention convention) {
  if (mixer.kind == AttentionKind::kNone || convention == FlopConvention::kSixN) return 0;
  if (is_recurrent(mixer.kind)) return 2 * tokens * static_cast<double>(state_products(mixer));
  double flops = 2 * tokens / sequence * scored_pairs(sequence, mixer, convention) *
                 static_cast<double>(mixer.heads * (mixer.score_width() + mixer.value_width()));
  if (mixer.index.heads > 0 && !mixer.index.is_borrowed) {
    // The index scores all pairs.
    const double pairs = convention == FlopConvention::kCausalAttention ? sequence / 2 : sequence;
    flops += 2 * tokens * pairs * static_cast<double>(mixer.index.heads * mixer.index.dim);
  }
  return flops;
}

LayerFlops shape_forward_flops(const TransformerModel& model, const LayerShape& shape, double tokens, double sequence,
                               FlopConvention convention) {
  const LayerParameters p = shape_parameters(model, shape);
  LayerFlops flops;
  const MixtureOfExperts& moe = shape.feed.moe;
  const std::int64_t router =
      moe.experts > 0 ? (moe.experts + moe.empty_experts + (moe.shared_gate ? 1 : 0)) * model.hidden : 0;
  flops.linear = 2 * tokens * static_cast<double>(p.qkv + p.latent + p.proj + p.mlp + router);
  if (moe.experts > 0) {
    const std::int64_t one = p.experts / moe.experts;
    flops.experts = 2 * tokens * static_cast<double>(one * moe.experts_per_token);
  }
  flops.attention = attention_flops(shape.mixer, tokens, sequence, convention);
  return flops;
}

double forward_of_layers(const TransformerModel& model, double tokens, double sequence, FlopConvention convention) {
  double flops = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    flops += layer_forward_flops(model, layer, tokens, sequence, convention).total();
  }
  return flops;
}

double experts_of_layers(const TransformerModel& model, double tokens, double sequence, FlopConvention convention) {
  double flops = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    flops += layer_forward_flops(model, layer, tokens, sequence, convention).experts;
  }
  return flops;
}

double attention_of_layers(const TransformerModel& model, double tokens, double sequence, FlopConvention convention) {
  double flops = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    flops += layer_forward_flops(model, layer, tokens, sequence, convention).attention;
  }
  return flops;
}

// Every second product of a layer's matrices q, k, v, o, up (gate, up) and down is kept; k, o and the second of a gated pair
// are computed again.
std::int64_t recomputed_weights(const TransformerModel& model) {
  return model.hidden * (model.kv_heads * model.head_dim + model.heads * model.head_dim + (model.gated_mlp ? model.ffn : 0));
}

}  // namespace

std::string_view to_string(FlopConvention convention) {
  switch (convention) {
    case FlopConvention::kFullAttention:
      return "full attention";
    case FlopConvention::kCausalAttention:
      return "causal attention";
    case FlopConvention::kSixN:
      return "6N";
  }
  WEFT_CHECK(false);
}

std::int64_t state_products(const Mixer& mixer) {
  const Recurrence& r = mixer.recurrence;
  // A token is added to the state and the state is read; the delta rule first reads what it is to correct (Yang 2024).
  const std::int64_t passes = mixer.kind == AttentionKind::kGatedDelta ? 3 : 2;
  return passes * r.value_heads * r.key_dim * r.value_dim + r.conv_kernel * r.channels();
}

LayerFlops layer_forward_flops(const TransformerModel& model, std::int64_t layer, double tokens, double sequence,
                               FlopConvention convention) {
  return shape_forward_flops(model, layer_shape(model, layer), tokens, sequence, convention);
}

double head_forward_flops(const TransformerModel& model, double tokens) {
  return 2 * tokens * static_cast<double>(model.hidden * model.vocab);
}

double mtp_forward_flops(const TransformerModel& model, double tokens, double sequence, FlopConvention convention) {
  double flops = 2 * tokens * static_cast<double>(2 * model.hidden * model.hidden) + head_forward_flops(model, tokens);
  if (model.mtp_layers.empty())
    return layer_forward_flops(model, model.layers - 1, tokens, sequence, convention).total() + flops;
  for (const LayerShape& shape : model.mtp_layers) {
    flops += shape_forward_flops(model, shape, tokens, sequence, convention).total();
  }
  return flops;
}

double model_flops(const TransformerModel& model, double tokens, double sequence, FlopConvention convention,
                   double experts_computed) {
  const double dropped =
      experts_computed < 1 ? (1 - experts_computed) * experts_of_layers(model, tokens, sequence, convention) : 0;
  if (convention == FlopConvention::kSixN) return 6 * tokens * static_cast<double>(active_parameters(model)) - 3 * dropped;
  return 3 * (forward_of_layers(model, tokens, sequence, convention) + head_forward_flops(model, tokens) - dropped);
}

double hardware_flops(const TransformerModel& model, double tokens, double sequence, FlopConvention convention,
                      Recompute recompute, double experts_computed) {
  const double once = model_flops(model, tokens, sequence, convention, experts_computed);
  switch (recompute) {
    case Recompute::kNone:
      return once;
    case Recompute::kSelective:
      // Doubled, though recomputing the scores once adds a third: so Korthikanti 2022 counts, 72 B s L h^2 (1 + s/(3h) + ...),
      // and published HFU is that (models/workloads §1.2).
      return once + 3 * attention_of_layers(model, tokens, sequence, convention);
    case Recompute::kFull:
      return once + forward_of_layers(model, tokens, sequence, convention) -
             (1 - experts_computed) * experts_of_layers(model, tokens, sequence, convention);
    case Recompute::kOperators:
      return once + 2 * tokens * static_cast<double>(model.layers * recomputed_weights(model));
  }
  WEFT_CHECK(false);
}

}  // namespace weft::work
