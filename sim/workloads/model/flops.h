// Floating-point operations of a transformer, multiply and add counted apart (models/workloads §1.2). Three conventions
// circulate; every figure names its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/workloads/model/transformer.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::work {

enum class FlopConvention : std::uint8_t {
  kFullAttention,    // scores of all pairs: Narayanan 2021, Korthikanti 2022, MegaScale
  kCausalAttention,  // half of them: Megatron-core today
  kSixN,             // 6 N per token, no attention
};
[[nodiscard]] std::string_view to_string(FlopConvention convention);

// Forward pass of `tokens` tokens in sequences of `sequence`, one layer.
struct LayerFlops {
  double linear = 0;     // projections, MLP, shared experts, router
  double experts = 0;    // routed
  double attention = 0;  // score and value products; of a recurrence those with its state
  [[nodiscard]] double total() const { return linear + experts + attention; }
};
[[nodiscard]] LayerFlops layer_forward_flops(const TransformerModel& model, std::int64_t layer, double tokens, double sequence,
                                             FlopConvention convention);
// Products of a token with a recurrent mixer's state, and its convolution's.
[[nodiscard]] std::int64_t state_products(const Mixer& mixer);
[[nodiscard]] double head_forward_flops(const TransformerModel& model, double tokens);

// One module of multi-token prediction with its pass through the head.
[[nodiscard]] double mtp_forward_flops(const TransformerModel& model, double tokens, double sequence,
                                       FlopConvention convention);

// Forward and backward of `tokens` tokens: model FLOPs, recomputation left out. What MFU divides.
// `experts_computed`: of the tokens' choices of experts, those that are computed and not dropped.
[[nodiscard]] double model_flops(const TransformerModel& model, double tokens, double sequence, FlopConvention convention,
                                 double experts_computed = 1);
// With what recomputation adds. What HFU divides.
[[nodiscard]] double hardware_flops(const TransformerModel& model, double tokens, double sequence, FlopConvention convention,
                                    Recompute recompute, double experts_computed = 1);

}  // namespace weft::work
