// How long a kernel takes alone on a GPU: rooflines with calibrated efficiencies, one rule per class (models/training_steps §3,
// models/workloads §4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/gpu_rates.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::work {

struct ExpertCosts;
struct GemmCosts;
struct ScaledGemmCosts;

// How a GEMM's output is cut and shared out over SMs (models/workloads §4.2).
struct TileShape {
  int m = 0;
  int n = 0;
};
struct GemmWaves {
  std::int64_t tiles = 0;
  std::int64_t waves = 0;
};
[[nodiscard]] GemmWaves gemm_waves(std::int64_t m, std::int64_t n, std::int64_t batch, TileShape tile, int sms);

// Parameters of each class are ParamGroups "gpu.gemm", "gpu.attention", "gpu.memory", "gpu.optimizer", "gpu.stream", declared
// in kernel_costs.h.
//
// Model: a GEMM runs with the tile shape, and the split of its inner dimension, that this model finds fastest; libraries choose
// by heuristics of their own. Tensor layouts do not matter.
// Model: a precision that the GPU has no tensor cores for runs at the rate of the next wider one (gpu_rates.h).
class KernelTimes {
 public:
  // ConfigError where the data sheet lacks a figure.
  KernelTimes(const GpuSpec& gpu, const Profile& profile);
  ~KernelTimes();
  KernelTimes(KernelTimes&&) noexcept;
  KernelTimes& operator=(KernelTimes&&) noexcept;

  // At full clock, nothing beside it, without the gap before it. `sms`: those it can have; 0: all.
  // `bytes` of a kernel, where they are 0, follow from `elements` of bf16 tensors.
  [[nodiscard]] Duration alone(const Kernel& kernel, int sms = 0) const;
  // Returns how much of a product's time is from the profile's own measurements nearby (product_residuals.h), the rest being
  // the formula's. 0 of other kernels.
  [[nodiscard]] double measured_share(const Kernel& kernel) const;
  // True of GEMMs of at most two waves of large tiles: blocks share out the tiles in advance (contention.h). The others have a
  // counter of tiles, set by a memset of 4 bytes in the stream before them.
  [[nodiscard]] bool splits_statically(const Kernel& kernel) const;
  // Shares of the peak rates that a kernel reaches, where it and the gap before it take `taken`.
  [[nodiscard]] PowerLoad load(const Kernel& kernel, Duration taken) const;
  // Between dependent kernels of a stream.
  [[nodiscard]] Duration gap() const;
  [[nodiscard]] Duration graph_gap() const;  // between those of a CUDA graph
  // Returns the host's time for an operator of an eager framework that is no kernel of the step.
  [[nodiscard]] Duration host_operator() const;
  [[nodiscard]] const GpuSpec& gpu() const;

 private:
  struct Parameters;
  [[nodiscard]] GemmCosts gemm_costs_of(const Kernel& kernel) const;
  [[nodiscard]] double matmul_rate(const GemmCosts& costs, Precision precision) const;
  [[nodiscard]] const ScaledGemmCosts* scaled_costs_of(const Kernel& kernel) const;
  [[nodiscard]] bool splits_inner(const Kernel& kernel) const;
  [[nodiscard]] const ExpertCosts& expert_costs_of(const Kernel& kernel) const;
  [[nodiscard]] double held_in_l2(double bytes) const;
  [[nodiscard]] double tiled_seconds(const Kernel& kernel, int sms, double combine_bandwidth) const;
  [[nodiscard]] double gemm_seconds(const Kernel& kernel, int sms) const;
  [[nodiscard]] double corrected_gemm_seconds(const Kernel& kernel, int sms) const;
  [[nodiscard]] double attention_seconds(const Kernel& kernel, int sms) const;
  [[nodiscard]] double memory_seconds(const Kernel& kernel, int sms) const;
  // Slower of the two limits: bytes through HBM, work on the elements.
  [[nodiscard]] double bounded_seconds(double bytes, double efficiency, double elements, double picoseconds, int sms) const;

  std::unique_ptr<const Parameters> parameters_;
};

}  // namespace weft::work
