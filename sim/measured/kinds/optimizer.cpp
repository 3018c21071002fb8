// Fused Adam, whose times only traces hold.
#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"

namespace weft::measured {
namespace {

std::vector<FitPart> optimizer_fits(const FitData& data) {
  const auto adam = [](bool mostly_zero) {
    return [mostly_zero](const work::Kernel& kernel) {
      return kernel.kind == work::KernelKind::kOptimizer && kernel.mostly_zero == mostly_zero;
    };
  };
  return {detail::fit_alone(data, "optimizer", {"gpu.optimizer.adam_ps"}, adam(false)),
          detail::fit_alone(data, "optimizer", {"gpu.optimizer.mostly_zero_ps"}, adam(true))};
}

}  // namespace

const PointKind optimizer_kind{.name = "optimizer", .fits = optimizer_fits};

}  // namespace weft::measured
