// Attention over the paged cache of a serving engine (models/workloads §4.3).
#pragma once

#include "sim/workloads/kernels/gpu_rates.h"
#include "sim/workloads/kernels/kernel.h"
#include "sim/workloads/kernels/kernel_costs.h"

namespace weft::work {

// Part of data that is still in the L2 when it is used again, `bytes` of it and of others later: all up to `share` bytes, none
// from half as much again.
[[nodiscard]] double held_in_l2(double bytes, double share);

[[nodiscard]] double paged_attention_seconds(const Kernel& kernel, const GpuSpec& gpu, const PagedAttentionCosts& costs,
                                             int sms);

}  // namespace weft::work
