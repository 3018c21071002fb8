// Rates that a GPU's data sheet (network/gpu_spec.h) promises of the precisions that workloads compute in.
#pragma once

#include "sim/network/gpu_spec.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

using net::find_gpu;
using net::gpu_spec;
using net::GpuSpec;

// Whether the data sheet says that it has none.
[[nodiscard]] bool has_no_units(const GpuSpec& gpu, Precision precision);
// The same, or the next wider one where the GPU has no units for it. Model: bf16 runs at the rate of fp16 where a GPU has none,
// as on V100. Weight-only products compute in bf16.
[[nodiscard]] Precision runs_as(const GpuSpec& gpu, Precision precision);
// FLOP/s of what it runs as. ConfigError where the data sheet says nothing of that.
[[nodiscard]] double peak(const GpuSpec& gpu, Precision precision);
// The same; 0 in place of the error.
[[nodiscard]] double stated_peak(const GpuSpec& gpu, Precision precision);

// ConfigError where the data sheet does not say what KernelTimes needs. `what` names who needs it.
void check_computes(const GpuSpec& gpu, std::string_view what);

}  // namespace weft::work
