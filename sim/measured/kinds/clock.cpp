// Slow-downs of GEMMs in a row of nothing else, which power sets.
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured {
namespace {

// One row alone tells this card's clock at one load, not what tensor cores take.
constexpr std::size_t kFewest = 2;

std::vector<FitPart> clock_fits(const FitData& data) {
  FitPart part{.id = "clock", .keys = {"gpu.power.tensor"}, .samples = {}};
  for (const KernelLog& log : data.logs) {
    for (const KernelRow& row : log.kernels) {
      if (!row.sustained_us) continue;
      const double alone = detail::alone_us(log, data.profile, row.kernel);
      part.samples.push_back(detail::kernel_sample(
          log, "clock", detail::text_of(row.kernel), *row.sustained_us / alone, [&log, kernel = row.kernel](const Profile& p) {
            const work::KernelTimes times{work::gpu_spec(log.gpu), p};
            return detail::sustained_slowdown(times, work::gpu_power(times.gpu(), p), kernel);
          }));
    }
  }
  if (part.samples.size() < kFewest) return {};
  return {std::move(part)};
}

}  // namespace

const PointKind clock_kind{.name = "clock", .fits = clock_fits};

}  // namespace weft::measured
