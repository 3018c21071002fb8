// Durations of a GPU's kernels, a JSON object a line, as weft trace kernels writes them from traces:
//
//   {"weft_kernels": 1, "gpu": "h200_sxm", "machine": "NVIDIA H200"}
//   {"kind": "gemm", "m": 2048, "n": 4096, "k": 4096, "us": 84.6, "count": 32, "beside_us": 167.4, "beside_ctas": 24}
//   {"kind": "strided", "strided": "copy", "elements": 25165824, "us": 65.9, "count": 32}
//   {"kind": "gap", "us": 1.7}
//   {"kind": "clock", "compute_share": 0.65, "overlap_share": 0, "slowdown": 1.08}
//
// `us` at full clock and beside no collective, `beside_us` beside one of `beside_ctas` SMs, `sustained_us` in a row of nothing
// else. Unknown keys and kinds are errors.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/measured/readers/point_log.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::measured {

struct KernelRow {
  work::Kernel kernel;
  std::optional<double> us = {};
  std::optional<double> beside_us = {};
  std::optional<double> sustained_us = {};
  int beside_ctas = 0;
  int line = 0;
};

// A note of what the clocks of a traced step did: no parameter is fitted to it.
struct ClockRow {
  double compute_share = 0;  // of the step: GEMMs and attention
  double overlap_share = 0;  // of the step: those of them beside collectives
  double slowdown = 1;       // of GEMMs and attention
};

struct KernelLog {
  std::string file;
  std::string gpu;      // as GpuSpec names it
  std::string machine;  // as its maker does
  std::string digest;   // of all lines
  std::vector<KernelRow> kernels = {};
  std::vector<double> gaps_us = {};
  std::vector<ClockRow> clocks = {};
  std::vector<MeasuredPoint> copies = {};    // of a file of `weft measure`
  std::vector<MeasuredPoint> launches = {};  // the same
};

// By its name, "x.jsonl", where it does not begin as the measurements of `weft measure` do.
[[nodiscard]] bool is_kernel_log(const std::string& path);
[[nodiscard]] KernelLog read_kernel_log(const std::string& path);
[[nodiscard]] KernelLog read_kernel_log(std::istream& input, const std::string& file);

}  // namespace weft::measured
