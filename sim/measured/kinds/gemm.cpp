// Matrix products, alone: bursts at full clock, or in a row of nothing else (sustained).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"

namespace weft::measured {
namespace {

constexpr std::array<work::Scaling, 3> kScalings{work::Scaling::kTensor, work::Scaling::kRow, work::Scaling::kBlock};
// Fewer do not tell prologues, loads and latencies apart from each other.
constexpr std::size_t kRowsForShapes = 200;

void read_gemm(const detail::JsonRecord& record, MeasuredPoint& measured) {
  measured.quantized = record.flag("quantized", false);
  measured.scales = record.text("scales", "tensor");
  measured.weight_copies = record.whole_within("weight_copies", 0, 0, detail::kMostElements);
  const bool known =
      std::ranges::any_of(kScalings, [&](work::Scaling scaling) { return work::to_string(scaling) == measured.scales; });
  if (!known) record.fail(fmt::format("scales: expected 'tensor', 'row' or 'block', got '{}'", measured.scales));
}

std::optional<std::vector<work::Kernel>> gemm_kernels(const MeasuredPoint& measured, work::Precision precision) {
  if (measured.m <= 0 || measured.n <= 0 || measured.k <= 0 || measured.batch <= 0) return std::nullopt;
  work::Kernel kernel = detail::gemm_of(precision, measured.batch, measured.m, measured.n, measured.k);
  kernel.quantizes = measured.quantized;
  kernel.weight_copies = measured.weight_copies;
  for (const work::Scaling scaling : kScalings) {
    if (work::to_string(scaling) == measured.scales) kernel.scaling = scaling;
  }
  return std::vector{kernel};
}

std::string gemm_label(const MeasuredPoint& measured) {
  return fmt::format("{}{} x {} x {} {}{}", measured.batch > 1 ? fmt::format("{} x ", measured.batch) : "", measured.m,
                     measured.n, measured.k, measured.type, measured.sustained ? ", sustained" : "");
}

// Read, written and multiplied: what a roofline's other axis counts.
Bytes gemm_bytes(const MeasuredPoint& measured) {
  const std::int64_t elements = measured.m * measured.k + measured.k * measured.n + measured.m * measured.n;
  return Bytes{detail::width_of(measured) * measured.batch * elements};
}

std::vector<FitPart> gemm_fits(const FitData& data) {
  using work::Kernel;
  using work::Precision;
  const auto is_gemm = [](const Kernel& kernel) { return kernel.kind == work::KernelKind::kGemm; };
  const auto low = [](const Kernel& kernel) {
    return kernel.precision == Precision::kFp8 || kernel.precision == Precision::kMxfp8 ||
           kernel.precision == Precision::kFp4 || work::has_integer_weights(kernel.precision);
  };
  FitPart plain = detail::fit_alone(data, "gemm", {"gpu.gemm.efficiency", "gpu.gemm.tile_overhead", "gpu.gemm.wave_rounding"},
                                    [&](const Kernel& kernel) { return is_gemm(kernel) && !low(kernel); });
  // A few large products do not tell what reading adds: that of tables stays.
  if (plain.samples.size() >= kRowsForShapes) {
    for (const char* key : {"memory_exposed", "fixed", "split_overhead", "loop_latency", "sm_bytes_per_clock",
                            "memory_efficiency", "memory_latency", "l2_share"})
      plain.keys.push_back(fmt::format("gpu.gemm.{}", key));
  }
  std::vector<FitPart> parts{std::move(plain)};
  // GEMMs of low precision share with the others what loads and waves cost.
  const auto scaled = [&](const std::string& group, const std::string& rate, const detail::Wanted& wanted) {
    FitPart part = detail::fit_alone(data, "gemm_" + group, {rate, "gpu." + group + ".loop_latency"},
                                     [&](const Kernel& kernel) { return is_gemm(kernel) && wanted(kernel); });
    const bool quantizes = std::ranges::any_of(data.logs, [&](const KernelLog& log) {
      return std::ranges::any_of(
          log.kernels, [&](const KernelRow& row) { return is_gemm(row.kernel) && wanted(row.kernel) && row.kernel.quantizes; });
    });
    if (part.samples.size() < kRowsForShapes || !quantizes) return;
    part.keys.push_back("gpu." + group + ".quantize_fixed");
    part.keys.push_back("gpu." + group + ".quantize_efficiency");
    part.keys.push_back("gpu." + group + ".quantize_row");
    parts.push_back(std::move(part));
  };
  const auto fp8 = [](work::Scaling scaling) {
    return [scaling](const Kernel& kernel) { return kernel.precision == Precision::kFp8 && kernel.scaling == scaling; };
  };
  scaled("fp8_tensor", "gpu.gemm.fp8_efficiency", fp8(work::Scaling::kTensor));
  scaled("fp8_row", "gpu.fp8_row.rate", fp8(work::Scaling::kRow));
  scaled("fp8_block", "gpu.fp8_block.rate", fp8(work::Scaling::kBlock));
  scaled("fp4", "gpu.gemm.fp4_efficiency", [](const Kernel& kernel) { return kernel.precision == Precision::kFp4; });
  const auto integers = [&](const char* group, std::vector<std::string> keys, bool (*wanted)(Precision)) {
    for (std::string& key : keys) key = fmt::format("gpu.{}.{}", group, key);
    FitPart part = detail::fit_alone(data, fmt::format("gemm_{}", group), std::move(keys), [&](const Kernel& kernel) {
      return is_gemm(kernel) && !kernel.quantizes && wanted(kernel.precision);
    });
    if (part.samples.size() >= kRowsForShapes) parts.push_back(std::move(part));
  };
  integers("int8", {"rate", "fixed", "tile_overhead", "loop_latency", "memory_efficiency"},
           [](Precision precision) { return precision == Precision::kInt8; });
  integers("weight_only", {"rate", "fixed", "tile_overhead", "loop_latency", "memory_efficiency", "weights_per_clock"},
           work::is_weight_only);
  return parts;
}

}  // namespace

const PointKind gemm_kind{.name = "gemm",
                          .read = read_gemm,
                          .predict = detail::predict_kernels,
                          .kernels = gemm_kernels,
                          .label = gemm_label,
                          .bytes = gemm_bytes,
                          .fits = gemm_fits};

}  // namespace weft::measured
