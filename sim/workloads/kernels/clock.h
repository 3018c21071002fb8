// How much slower kernels become when a GPU reaches its power limit and lowers the clock of its SMs (models/training_steps §7).
// A rule by itself, replaceable, and no part of the kernels' times, which are those at full clock.
//
// Power is that at rest, and what tensor cores and HBM add by the shares of their peak rates that they reach: of a kernel that
// uses both, the root of the sum of their squares. Its mean over a window must not be above the limit. What tensor cores take
// at full clock falls with the square of the time that a product then takes; HBM has a clock of its own.
//
// GPUs of one model differ by a few per cent in the power that they need (silicon, cooling), and a step goes at the pace of the
// one that needs most: of n normal powers with standard deviation sigma, sigma sqrt(2 ln n) above the mean (models/workloads
// §7.2). The exact expected maximum is a third less for four, and leaves steps of four H200 and of two 2 % short.
//
// A profile's shares are those of the GPU that it was measured on. On another of its kind (H100 of 350, 500 or 700 W) rest
// takes as many watts, and an operation as much energy. HBM at its full bandwidth and rest take the share that they take there:
// a GPU's power is made for its memory.
//
// Model: power is relative to the data sheet's. Temperature, the controller's steps, and what links and the SMs themselves take
// are left out; all GPUs of a job need as much power for the same work as the one of them that needs most.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/workloads/kernels/gpu_rates.h"

namespace weft::work {

using namespace literals;

// Shares of the data sheet's power.
struct PowerCosts {
  double idle = 0.17;       // at rest, at full clock
  double tensor = 1.49;     // of tensor cores at their peak rate
  double memory = 0.85;     // of HBM at its full bandwidth
  Duration window = 75_ms;  // over which the mean counts
  // These are of the GPU whose shares the others are; 0: the GPU at hand.
  double of_limit = 0;  // W
  double of_peak = 0;   // TFLOP/s in bf16, dense
};
extern const ParamGroup<PowerCosts> power_costs;

struct PowerLimit {
  double watts = 0;  // 0: the data sheet's
};
extern const ParamGroup<PowerLimit> power_limit;

struct GpuPower {
  PowerCosts costs;  // shares of this GPU's power
  double limit = 1;  // over the data sheet's; 0: neither is known, and nothing is slowed
};
[[nodiscard]] GpuPower gpu_power(const GpuSpec& gpu, const Profile& profile);
// Why the profile's limit cannot be that of this GPU: it is below what the GPU takes at rest, or above its data sheet's power.
// Empty: it can.
[[nodiscard]] std::string limit_problem(const GpuSpec& gpu, const Profile& profile);

// Shares of the peak rates, at full clock.
struct PowerLoad {
  double tensor = 0;
  double memory = 0;
};

// Power of that beside rest, over the data sheet's power; HBM's is what it adds to that of tensor cores. A mean over a
// window, where it is that of several kernels.
struct PowerDraw {
  double tensor = 0;
  double memory = 0;
};
[[nodiscard]] PowerDraw draw_of(const PowerCosts& costs, const PowerLoad& kernel);

// Time of what tensor cores compute over that at full clock.
[[nodiscard]] double slowdown_under(const GpuPower& power, const PowerDraw& draw);
// Least mean of it over a time in which `tensor` is the mean share of the peak rate, however that is spread: the lower convex
// hull.
[[nodiscard]] double least_slowdown(const GpuPower& power, double tensor);
// A kernel's time over that at full clock, where tensor cores are so much slower: HBM's share of it is not, and hides in the
// rest as a GEMM's reads do.
[[nodiscard]] double stretch_of(double slowdown, double memory_share);

// Power over one iteration of a loop, in bins. The loop repeats: windows reach back into the iteration before.
class PowerTimeline {
 public:
  // Times in picoseconds.
  PowerTimeline(double iteration, double window);
  void add(double begin, double end, const PowerDraw& draw);
  // Slow-downs by bin, from the windows that end where it begins.
  [[nodiscard]] std::vector<double> slowdowns(const GpuPower& power) const;
  [[nodiscard]] std::size_t bin_of(double at) const;

 private:
  std::vector<PowerDraw> bins_;  // times picoseconds
  double bin_ = 1;
  std::size_t window_bins_ = 1;
};

// GPUs of one model do not need the same power for the same work.
struct PowerSpread {
  double deviation = 0.044;  // of what tensor cores take, over its mean

  // Spread of the time of products at the limit, which goes with the root of their power.
  [[nodiscard]] double of_time() const { return deviation / 2; }
};
extern const ParamGroup<PowerSpread> power_spread;

// Power of the GPU that needs most of `gpus` over the mean.
[[nodiscard]] double most_of(const PowerSpread& spread, std::size_t gpus);

}  // namespace weft::work
