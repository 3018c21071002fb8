// Compute and communication on one GPU slow each other by these rules. They are pure; the Replayer applies them while both are
// resident (models/training_steps §6).
//
// A communication kernel holds one SM per channel as long as it runs. What runs beside it loses those SMs and some of the
// memory bandwidth. GEMMs are persistent, with a block on every SM: a collective that becomes ready starts when the GEMM that
// is running drains, its first blocks having found no further tile, and only a GEMM that starts while the collective is
// resident is slowed. So a call that is short beside the drain leaves its successor resident through the next GEMM, if ranks
// are not in step: small calls in a row cost GEMMs more than their own time. Most take their tiles from a counter, which a
// memset of 4 bytes sets before them. GEMMs of at most two waves (KernelTimes::splits_statically) have none: their blocks share
// out the tiles in advance, and those that find no SM run when the others are done, or the collective is. The traces show this
// of all GEMMs of up to two waves and of no other, whether of outputs, inputs' or weights' gradients.
//
// Beside a kernel that fills the memory, the thread blocks of a collective get no more of it than their SMs' part (2 x H200 and
// 2 x H100, validate/measured/h200x2_beside_kernels.json, h100x2_beside_kernels.json): rings in Simple with 8 to 24 of them
// move, in and out of the memory, 0.84 to 0.96 of what as many SMs of the copying kernel do on H200, 0.76 to 0.85 on H100,
// whatever they would move alone, and the copies lose what these SMs had. Small calls, which wait for loads, take about twice
// as long.
//
// Model: a kernel that starts beside a collective is slowed by its class's factor while the collective is resident, in
// proportion to the SMs that it holds; which kernel and which collective does not matter.
#pragma once

#include <algorithm>

#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::work {

using namespace literals;

// How much longer kernels take beside a collective of 24 CTAs, and it beside them.
struct ContentionCosts {
  double gemm = 1.35;
  double attention = 1.12;
  double memory = 1.25;  // the optimizer's kernels too
  double collective = 1.13;
  double collective_memory = 1.8;   // at the least beside a kernel that moves data at the memory's full rate
  double block_memory_share = 0.9;  // what a thread block then gets of the memory, over what an SM of that kernel does
  // Copy engines reach this much of an NVLink over thread blocks that store, whose rate is the link type's efficiency.
  double collective_links = 1.09;
  // For how long a GEMM that nears its end leaves SMs to a collective, and the largest share of its time that is.
  Duration gemm_drain = 32_us;
  double gemm_drain_share = 0.11;
};
extern const ParamGroup<ContentionCosts> contention_costs;

// The factors are stated for this many CTAs: those of NCCL's all-reduce on H200.
inline constexpr int kContentionCtas = 24;

// Time of a kernel over its time alone, while collectives that hold `ctas` SMs are resident: 1 + (factor - 1) ctas / 24.
[[nodiscard]] double slowdown_beside(const ContentionCosts& costs, KernelClass kernel_class, int ctas);

// Returns a collective's time over its time alone, once any compute kernel runs beside it, or one that fills the memory.
// `memory_share` is the time its memory traffic would take if each of its thread blocks got what an SM of that kernel does, as
// a share of its time alone.
[[nodiscard]] inline double collective_slowdown(const ContentionCosts& costs, bool beside_compute, bool memory_full = false,
                                                double memory_share = 0) {
  const double slowed = beside_compute ? costs.collective : 1.0;
  return memory_full ? std::max({slowed, costs.collective_memory, memory_share / costs.block_memory_share}) : slowed;
}

// Kernels that hold every SM until they end.
[[nodiscard]] inline bool fills_gpu(KernelClass kernel_class) { return kernel_class == KernelClass::kGemm; }

// Kernels that keep the memory busy at its full rate, as far as that was measured: copies of 1 GiB, read and written.
[[nodiscard]] inline bool fills_memory(KernelClass kernel_class, double bytes) {
  constexpr double kLeast = 2.0 * (1 << 30);
  return (kernel_class == KernelClass::kMemory || kernel_class == KernelClass::kOptimizer) && bytes >= kLeast;
}

// How long before its end a GEMM of `alone` drains.
[[nodiscard]] inline Duration gemm_drain(const ContentionCosts& costs, Duration alone) {
  return std::min(costs.gemm_drain, Duration::whole_ps(static_cast<double>(alone.ps()) * costs.gemm_drain_share));
}

}  // namespace weft::work
