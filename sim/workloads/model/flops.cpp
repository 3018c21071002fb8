#include "sim/workloads/model/flops.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/workloads/model/parameters.h"

namespace weft::work {
namespace {

// Pairs of a query and a key it sees, over a whole sequence: s^2/2 where all earlier tokens are seen, and s w - w^2/2 where the
// last w are. Kernels that compute all of a square do twice that.
double scored_pairs(double sequence, std::int64_t window, FlopConvention convention) {
  if (convention == FlopConvention::kSixN) return 0;
  const double width = window > 0 ? std::min(sequence, static_cast<double>(window)) : sequence;
  const double causal = sequence * width - width * width / 2;
  return convention == FlopConvention::kCausalAttention ? causal : 2 * causal;
}

double forward_of_layers(const TransformerModel& model, double tokens, double sequence, FlopConvention convention) {
  double flops = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    flops += layer_forward_flops(model, layer, tokens, sequence, convention).total();
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

// Of a layer's matrices q, k, v, o, up (gate, up) and down, every second product is kept: k, o and the second of a gated pair
// are not.
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

LayerFlops layer_forward_flops(const TransformerModel& model, std::int64_t layer, double tokens, double sequence,
                               FlopConvention convention) {
  const LayerParameters p = layer_parameters(model, layer);
  LayerFlops flops;
  const bool is_moe = model.is_moe_layer(layer);
  const std::int64_t router = is_moe ? model.moe.experts * model.hidden + (model.moe.shared_gate ? model.hidden : 0) : 0;
  flops.linear = 2 * tokens * static_cast<double>(p.qkv + p.latent + p.proj + p.mlp + router);
  if (is_moe) {
    const std::int64_t one = p.experts / model.moe.experts;
    flops.experts = 2 * tokens * static_cast<double>(one * model.moe.experts_per_token);
  }
  const double pairs = tokens / sequence * scored_pairs(sequence, model.window(layer), convention);
  flops.attention = 2 * pairs * static_cast<double>(model.heads * (model.score_dim() + model.value_dim()));
  return flops;
}

double head_forward_flops(const TransformerModel& model, double tokens) {
  return 2 * tokens * static_cast<double>(model.hidden * model.vocab);
}

double mtp_forward_flops(const TransformerModel& model, double tokens, double sequence, FlopConvention convention) {
  return layer_forward_flops(model, model.layers - 1, tokens, sequence, convention).total() +
         2 * tokens * static_cast<double>(2 * model.hidden * model.hidden) + head_forward_flops(model, tokens);
}

double model_flops(const TransformerModel& model, double tokens, double sequence, FlopConvention convention) {
  if (convention == FlopConvention::kSixN) return 6 * tokens * static_cast<double>(active_parameters(model));
  return 3 * (forward_of_layers(model, tokens, sequence, convention) + head_forward_flops(model, tokens));
}

double hardware_flops(const TransformerModel& model, double tokens, double sequence, FlopConvention convention,
                      Recompute recompute) {
  const double once = model_flops(model, tokens, sequence, convention);
  switch (recompute) {
    case Recompute::kNone:
      return once;
    case Recompute::kSelective:
      // Doubled, though recomputing the scores once adds a third: so Korthikanti 2022 counts, 72 B s L h^2 (1 + s/(3h) + ...),
      // and published HFU is that (workload-models §1.2).
      return once + 3 * attention_of_layers(model, tokens, sequence, convention);
    case Recompute::kFull:
      return once + forward_of_layers(model, tokens, sequence, convention);
    case Recompute::kOperators:
      return once + 2 * tokens * static_cast<double>(model.layers * recomputed_weights(model));
  }
  WEFT_CHECK(false);
}

double gpt_72_form(double batch, double sequence, double layers, double hidden, double vocab) {
  return 72 * batch * sequence * layers * hidden * hidden * (1 + sequence / (6 * hidden) + vocab / (12 * layers * hidden));
}

double gpt_96_form(double batch, double sequence, double layers, double hidden, double vocab) {
  return 96 * batch * sequence * layers * hidden * hidden * (1 + sequence / (6 * hidden) + vocab / (16 * layers * hidden));
}

}  // namespace weft::work
