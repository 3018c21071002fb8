// A layer's experts on one GPU, in one call of a serving engine: choice of experts from the router's scores, permutation,
// quantisation of activations, two grouped products with the activation between them, and the weighted sum. The router's own
// product, shared experts and communication are not in it (models/workloads §4.7).
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "sim/workloads/kernels/gpu_rates.h"
#include "sim/workloads/kernels/kernel.h"
#include "sim/workloads/kernels/kernel_costs.h"

namespace weft::work {

// The load that tokens bring to the GPU whose experts have most to do.
struct ExpertVisits {
  double rows = 0;     // visits of its experts
  double experts = 0;  // that any token visits
  double kept = 1;     // share of all visits that experts' capacity leaves

  // One expert's visits.
  void add(double visits) { rows += visits, experts += visits < 1.0 ? visits : 1.0; }
};
// All experts have as many visits.
[[nodiscard]] ExpertVisits even_expert_load(double tokens, double top_k, std::int64_t experts, std::int64_t ranks);
// The steepest law: its exponent is the density's. From 0 (uniform) up the tail takes a growing part of all visits. Above about
// 1.5 nearly all experts draw the least, and from 2 on, where the mean is finite, the tail has no weight: loads even out again.
inline constexpr double kSteepestPowerLaw = 1.5;
inline constexpr std::string_view kTooSteepPowerLaw =
    "expected 0 to 1.5: above, nearly all experts draw the least load of the law, and loads even out again";
// Visits of experts are distributed as a power law with this exponent between 1 and 0.8 of the tokens; no expert has more than
// every token. Mean over four draws, of the rank with most visits. `capacity`: over the mean of an expert's visits, the most
// that it takes; the others are dropped.
[[nodiscard]] ExpertVisits heaviest_expert_load(double tokens, double top_k, std::int64_t experts, std::int64_t ranks,
                                                double exponent, double capacity = std::numeric_limits<double>::infinity());

// The same, balanced: `redundant` copies of experts share what those with most visits draw, and every GPU holds as many.
[[nodiscard]] ExpertVisits balanced_expert_load(double tokens, double top_k, std::int64_t experts, std::int64_t redundant,
                                                std::int64_t ranks, double exponent);

// `rate`: FLOP/s of the tensor cores' peak.
[[nodiscard]] double experts_seconds(const Kernel& kernel, const GpuSpec& gpu, const ExpertCosts& costs, double rate, int sms);

}  // namespace weft::work
