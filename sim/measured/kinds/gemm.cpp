// Matrix products, alone: bursts at full clock, or in a row of nothing else (sustained).
#include <fmt/format.h>

#include <utility>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"

namespace weft::measured {
namespace {

std::optional<std::vector<work::Kernel>> gemm_kernels(const MeasuredPoint& measured, work::Precision precision) {
  if (measured.m <= 0 || measured.n <= 0 || measured.k <= 0 || measured.batch <= 0) return std::nullopt;
  return std::vector{detail::gemm_of(precision, measured.batch, measured.m, measured.n, measured.k)};
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
  return {detail::fit_alone(data, "gemm",
                            {"gpu.gemm.efficiency", "gpu.gemm.small_tile_penalty", "gpu.gemm.tile_overhead", "gpu.gemm.fixed"},
                            [](const work::Kernel& kernel) { return kernel.kind == work::KernelKind::kGemm; })};
}

}  // namespace

const PointKind gemm_kind{.name = "gemm",
                          .predict = detail::predict_kernels,
                          .kernels = gemm_kernels,
                          .label = gemm_label,
                          .bytes = gemm_bytes,
                          .fits = gemm_fits};

}  // namespace weft::measured
