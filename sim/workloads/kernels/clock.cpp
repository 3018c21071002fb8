#include "sim/workloads/kernels/clock.h"

#include <algorithm>
#include <cmath>

#include "sim/core/portable_math.h"

namespace weft::work {
namespace {

constexpr const char* kClockSeen = "models/training_steps §7";

Param<ClockRule> of(const char* name, double ClockRule::*member, double min, double max, const char* description) {
  return param<ClockRule>(name, member,
                          {.unit = "ratio",
                           .min = min,
                           .max = max,
                           .source = ParamSource::kFitted,
                           .reference = kClockSeen,
                           .description = description,
                           .gpu = "H200"});
}

}  // namespace

const ParamGroup<ClockRule> clock_rule{
    "gpu.clock",
    "clocks that fall under sustained load",
    {of("free_share", &ClockRule::free_share, 0, 1, "share of a step in GEMMs and attention up to which the clock holds"),
     of("load_slope", &ClockRule::load_slope, 0, 2, "slow-down of GEMMs and attention per share beyond"),
     of("overlap_slope", &ClockRule::overlap_slope, 0, 2,
        "slow-down per share of the step in which they run beside collectives"),
     of("memory_part", &ClockRule::memory_part, 0, 1, "of that slow-down, what memory-bound kernels see"),
     param("limit", &ClockRule::limit, {.unit = "ratio", .min = 1.0, .max = 4.0, .description = "largest slow-down"})}};

const ParamGroup<SpeedSpread> speed_spread{
    "gpu.binning",
    "GPUs of one model that are not equally fast",
    {param(
         "deviation", &SpeedSpread::deviation,
         {.unit = "ratio",
          .min = 0.0,
          .max = 0.2,
          .description = "standard deviation of their speeds; 0 where the slowest of a measured group is in the other values"}),
     param("side_by_side", &SpeedSpread::side_by_side,
           {.unit = "ratio",
            .min = 0.0,
            .max = 0.2,
            .source = ParamSource::kMeasured,
            .reference =
                "12 GEMMs of 8192 in a row on every GPU at once, `gemm_alone` of the quick points of six runs on nodes of "
                "4 and 2 H200 (validate/measured): 2.2 % over the runs, 0.2 to 4 % in one",
            .description = "the same of GPUs beside each other that do not wait for the slowest in every step",
            .gpu = "H200"})}};

double slowest_of(const SpeedSpread& spread, std::size_t gpus) {
  const auto n = static_cast<double>(std::max<std::size_t>(gpus, 1));
  return 1.0 + spread.deviation * std::sqrt(2.0 * portable_log(n));
}

ClockSlowdown clock_slowdown(const ClockRule& rule, const StepLoad& load) {
  const double beyond = std::max(load.compute_share - rule.free_share, 0.0);
  const double slower = rule.load_slope * beyond + rule.overlap_slope * std::max(load.overlap_share, 0.0);
  const double compute = std::min(1.0 + slower, rule.limit);
  return {.compute = compute, .memory = 1.0 + (compute - 1.0) * rule.memory_part, .cycles = compute};
}

}  // namespace weft::work
