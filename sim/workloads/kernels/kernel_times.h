// How long a kernel takes alone on a GPU: rooflines with calibrated efficiencies, one rule per class (training-step-notes §3,
// workload-models §4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::work {

// What a data sheet says of a GPU (workload-models §4.5). Dense peaks, FLOP/s; 0: not supported.
struct GpuSpec {
  std::string_view name;  // "h200": as node templates name it (NodeGpu)
  double bf16 = 0;
  double fp8 = 0;
  double fp4 = 0;
  double tf32 = 0;
  double fp32 = 0;
  double hbm_bytes_per_second = 0;
  std::int64_t hbm_bytes = 0;
  int sms = 0;
  std::int64_t l2_bytes = 0;
  double tdp_watts = 0;

  [[nodiscard]] double peak(Precision precision) const;
};
[[nodiscard]] const std::vector<GpuSpec>& gpu_table();
[[nodiscard]] const GpuSpec* find_gpu(std::string_view name);

// Parameters of each class are ParamGroups "gpu.gemm", "gpu.attention", "gpu.memory", "gpu.optimizer", declared in
// kernel_times.cpp and listed for profiles in sim/workloads/builtin.h.
class KernelTimes {
 public:
  KernelTimes(const GpuSpec& gpu, const Profile& profile);
  ~KernelTimes();
  KernelTimes(KernelTimes&&) noexcept;

  // At full clock, nothing beside it, without the gap before it. `sms`: those it can have; 0: all.
  [[nodiscard]] Duration alone(const Kernel& kernel, int sms = 0) const;
  // Between dependent kernels of a stream.
  [[nodiscard]] Duration gap() const;
  [[nodiscard]] const GpuSpec& gpu() const;

 private:
  struct Parameters;
  const GpuSpec* gpu_;
  std::unique_ptr<const Parameters> parameters_;
};

}  // namespace weft::work
