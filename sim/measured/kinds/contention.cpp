// Times of kernels beside a collective over their times alone, which only traces hold.
//
// Model: a kernel that was never seen alone is compared with the fitted rule.
#include <utility>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured {
namespace {

// GEMMs that split statically follow a rule without parameters, and kernels shorter than this are launched while the
// collective starts.
constexpr double kShortestBesideUs = 10;

std::vector<FitPart> contention_fits(const FitData& data) {
  FitPart part{
      .id = "contention", .keys = {"gpu.contention.gemm", "gpu.contention.attention", "gpu.contention.memory"}, .samples = {}};
  for (const KernelLog& log : data.logs) {
    const work::KernelTimes times{work::gpu_spec(log.gpu), data.profile};
    for (const KernelRow& row : log.kernels) {
      if (!row.beside_us || *row.beside_us < kShortestBesideUs || times.splits_statically(row.kernel)) continue;
      Sample sample = detail::kernel_sample(
          log, "contention", detail::text_of(row.kernel),
          *row.beside_us / row.us.value_or(times.alone(row.kernel).seconds() * 1e6),
          [kernel_class = work::class_of(row.kernel.kind), ctas = row.beside_ctas](const Profile& profile) {
            return work::slowdown_beside(profile.get(work::contention_costs), kernel_class, ctas);
          });
      part.samples.push_back(std::move(sample));
    }
  }
  return {std::move(part)};
}

}  // namespace

const PointKind contention_kind{.name = "contention", .fits = contention_fits};

}  // namespace weft::measured
