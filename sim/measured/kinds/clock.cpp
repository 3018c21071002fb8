// Slow-downs of steps, and of GEMMs in a row of nothing else, which are a step of GEMMs alone.
#include <utility>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/workloads/kernels/clock.h"

namespace weft::measured {
namespace {

std::vector<FitPart> clock_fits(const FitData& data) {
  FitPart part{
      .id = "clock", .keys = {"gpu.clock.free_share", "gpu.clock.load_slope", "gpu.clock.overlap_slope"}, .samples = {}};
  for (const KernelLog& log : data.logs) {
    const auto add = [&](std::string label, double slowdown, work::StepLoad load) {
      part.samples.push_back(detail::kernel_sample(log, "clock", std::move(label), slowdown, [load](const Profile& profile) {
        return work::clock_slowdown(profile.get(work::clock_rule), load).compute;
      }));
    };
    for (const ClockRow& row : log.clocks) add("step", row.slowdown, row.load);
    for (const KernelRow& row : log.kernels) {
      if (!row.sustained_us) continue;
      const double alone = detail::alone_us(log, data.profile, row.kernel);
      add(detail::text_of(row.kernel), *row.sustained_us / alone, {.compute_share = 1});
    }
  }
  return {std::move(part)};
}

}  // namespace

const PointKind clock_kind{.name = "clock", .fits = clock_fits};

}  // namespace weft::measured
