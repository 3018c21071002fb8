// Durations of kernels from PyTorch profiles of the ranks of one step, as the kernel log that `weft calibrate` fits
// (kernel_log.h).
//
// A row for each shape. Of its occurrences beside no collective: `us` at full clock, which is the 10th percentile of a rank,
// and of the ranks the median; `median_us` and `count` of all. Of those that a collective was resident for from before their
// start to after their end: `beside_us` the median, `beside_ctas` the SMs that the collective held. `static`: a GEMM for which
// no counter of tiles is set before it, so that its blocks share out tiles in advance. Then what the clocks did: `slowdown` of
// GEMMs and attention at the step's end on the slowest rank, beside the shares of a step that does not wait. No step time is
// read.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>

#include "sim/workloads/trace/trace_format.h"

namespace weft::measured {

struct TracedKernels {
  std::size_t rows = 0;
  std::size_t kernels = 0;   // that a row has counted
  std::size_t left_out = 0;  // of no known shape
  std::size_t launched_by_none = 0;
};

// `gpu`: as `weft explain kernels` knows it. ConfigError: no Kineto trace, none with shapes.
[[nodiscard]] TracedKernels write_traced_kernels(std::ostream& out, std::span<const std::filesystem::path> files,
                                                 const std::string& gpu, const work::TraceReadOptions& options);

}  // namespace weft::measured
