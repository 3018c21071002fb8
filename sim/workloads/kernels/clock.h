// How much slower kernels become under sustained load: GPUs that are kept busy with matrix products reach their power limit and
// lower the clock of their SMs (models/training_steps §7). A rule by itself, replaceable, and no part of the kernels' times.
//
// Beside load, GPUs of one model differ by a few per cent (power and thermal binning), and a step goes at the pace of the
// slowest: of n normal speeds with standard deviation sigma, sigma sqrt(2 ln n) below the mean (models/workloads §7.2).
//
// Model: one factor for all of a step, from two shares of its time, instead of power, temperature and a controller; all GPUs of
// a job go at the pace of its slowest, whatever their stage.
#pragma once

#include <cstddef>

#include "sim/core/profile.h"

namespace weft::work {

struct ClockRule {
  double free_share = 0.6;       // share of a step in GEMMs and attention up to which the clock holds
  double load_slope = 0.2;       // slow-down per share beyond
  double overlap_slope = 0.3;    // slow-down per share of the step in which they run beside communication
  double memory_part = 1.0 / 3;  // of that slow-down, what kernels bound by memory see
  double limit = 1.3;
};
extern const ParamGroup<ClockRule> clock_rule;

// The parts of a step, as shares of its time.
struct StepLoad {
  double compute_share = 0;  // GEMMs and attention
  double overlap_share = 0;  // of the step: those of them beside communication
};

// Time over time at full clock.
struct ClockSlowdown {
  double compute = 1;  // GEMMs, attention
  double memory = 1;
  double cycles = 1;  // of the SMs' cycles: full clock over the clock, as collectives see it
};
[[nodiscard]] ClockSlowdown clock_slowdown(const ClockRule& rule, const StepLoad& load);

struct SpeedSpread {
  double deviation = 0;         // of GPUs' speeds, over their mean
  double side_by_side = 0.022;  // the same where no step waits for the slowest, as in what measures overlap
};
extern const ParamGroup<SpeedSpread> speed_spread;

// Time of the slowest of `gpus` over that of the mean, of GEMMs and attention.
[[nodiscard]] double slowest_of(const SpeedSpread& spread, std::size_t gpus);

}  // namespace weft::work
