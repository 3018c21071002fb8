// Data sheets: models/workloads §4.5. Clocks are those at which SMs x FLOP per clock gives the quoted peak.
#include <fmt/format.h>

#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::work {
namespace {

constexpr double kTera = 1e12;
constexpr std::int64_t kGb = 1'000'000'000;
constexpr std::int64_t kMiB = 1 << 20;

struct Sheet {
  std::string_view name;
  double bf16, fp8, fp4, tf32, fp32;  // TFLOP/s, dense
  double hbm;                         // TB/s
  std::int64_t hbm_gb;
  int sms;
  double clock_ghz;
  std::int64_t l2_mib;
  double watts;
};

GpuSpec spec(const Sheet& s) {
  return {.name = s.name,
          .bf16 = s.bf16 * kTera,
          .fp8 = s.fp8 * kTera,
          .fp4 = s.fp4 * kTera,
          .tf32 = s.tf32 * kTera,
          .fp32 = s.fp32 * kTera,
          .hbm_bytes_per_second = s.hbm * kTera,
          .hbm_bytes = s.hbm_gb * kGb,
          .sms = s.sms,
          .clock_ghz = s.clock_ghz,
          .l2_bytes = s.l2_mib * kMiB,
          .tdp_watts = s.watts};
}

// The table, and what node templates add to it: A100 PCIe. P100 and V100 have no bf16: their fp16 rate stands for it. MI300X:
// the last-level cache of 256 MB. h100_hbm2e: H100 of 96 GB at 500 W (models/workloads §9.11).
const std::vector<Sheet>& sheets() {
  static const std::vector<Sheet> all{
      {"p100", 21.2, 0, 0, 0, 10.6, 0.732, 16, 56, 1.48, 4, 300},
      {"v100_sxm", 125, 0, 0, 0, 15.7, 0.9, 32, 80, 1.53, 6, 300},
      {"a100_sxm", 312, 0, 0, 156, 19.5, 2.039, 80, 108, 1.41, 40, 400},
      {"a100_sxm_40gb", 312, 0, 0, 156, 19.5, 1.555, 40, 108, 1.41, 40, 400},
      {"a100_pcie", 312, 0, 0, 156, 19.5, 1.935, 80, 108, 1.41, 40, 300},
      {"h100_sxm", 989, 1979, 0, 494.5, 67, 3.35, 80, 132, 1.83, 50, 700},
      {"h100_hbm2e", 989, 1979, 0, 494.5, 67, 2.4, 96, 132, 1.83, 50, 500},
      {"h800_sxm", 989, 1979, 0, 494.5, 67, 3.35, 80, 132, 1.83, 50, 700},
      {"h200_sxm", 989, 1979, 0, 494.5, 67, 4.8, 141, 132, 1.83, 50, 700},
      {"h20", 148, 296, 0, 74, 44, 4.0, 96, 78, 1.83, 60, 400},
      {"b200", 2250, 4500, 9000, 1125, 75, 8.0, 180, 148, 1.85, 126, 1000},
      {"gb200", 2500, 5000, 10000, 1250, 80, 8.0, 186, 152, 2.0, 126, 1200},
      {"gb300", 2500, 5000, 15000, 1250, 80, 8.0, 279, 160, 1.9, 126, 1400},
      {"mi300x", 1307, 2615, 0, 654, 163, 5.3, 192, 304, 2.1, 256, 750},
  };
  return all;
}

}  // namespace

double GpuSpec::peak(Precision precision) const {
  switch (precision) {
    case Precision::kFp32:
      return fp32;
    case Precision::kTf32:
      return tf32;
    case Precision::kFp16:
    case Precision::kBf16:
      return bf16;
    case Precision::kFp8:
    case Precision::kMxfp8:
      return fp8;
    case Precision::kFp4:
      return fp4;
  }
  return 0;
}

Precision GpuSpec::runs_as(Precision precision) const {
  if (precision == Precision::kFp4 && fp4 <= 0) precision = Precision::kFp8;
  if ((precision == Precision::kFp8 || precision == Precision::kMxfp8) && fp8 <= 0) return Precision::kBf16;
  if (precision == Precision::kTf32 && tf32 <= 0) return Precision::kFp32;
  return precision;
}

const std::vector<GpuSpec>& gpu_table() {
  static const std::vector<GpuSpec> table = [] {
    std::vector<GpuSpec> specs;
    for (const Sheet& sheet : sheets()) specs.push_back(spec(sheet));
    return specs;
  }();
  return table;
}

const GpuSpec* find_gpu(std::string_view name) {
  for (const GpuSpec& gpu : gpu_table()) {
    if (gpu.name == name) return &gpu;
  }
  for (const GpuSpec& gpu : gpu_table()) {
    if (gpu.name.size() == name.size() + 4 && gpu.name.starts_with(name) && gpu.name.ends_with("_sxm")) return &gpu;
  }
  return nullptr;
}

std::string gpu_names_note(std::string_view name) {
  std::vector<std::string> names;
  for (const GpuSpec& gpu : gpu_table()) names.emplace_back(gpu.name);
  return did_you_mean(name, names, "GPUs known");
}

const GpuSpec& gpu_spec(std::string_view name) {
  const GpuSpec* gpu = find_gpu(name);
  if (gpu != nullptr) return *gpu;
  throw ConfigError({{.where = {},
                      .message = fmt::format("nothing is known of how fast a GPU of model '{}' computes", name),
                      .source_line = {},
                      .length = 1,
                      .note = gpu_names_note(name)}});
}

}  // namespace weft::work
