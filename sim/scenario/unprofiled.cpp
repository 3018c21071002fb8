#include "sim/scenario/unprofiled.h"

#include <fmt/format.h>

#include <cstdlib>

#include "sim/core/error.h"

namespace weft::scenario {

// Model: a profiler slows all of the host alike. The step grows with the factor, so that halving the interval finds it.
double unprofiled_host_factor(const net::Cluster& cluster, const work::Trace& trace, ReplayRunOptions options, Duration step) {
  options.simulation.iterations = 1;
  const auto step_with = [&](double factor) {
    options.scale_host = factor;
    work::Trace copy = trace;
    return run_replay(cluster, copy, options).iteration;
  };
  const auto is_near = [step](Duration found) { return std::abs(found.ps() - step.ps()) <= step.ps() / 1000; };
  const Duration profiled = step_with(1);
  if (is_near(profiled)) return 1;
  if (profiled < step) {
    throw ConfigError(fmt::format("--unprofiled: the step takes {:.3f} ms here with the profiler: without it, it is no longer",
                                  profiled.us() / 1'000));
  }
  const Duration least = step_with(0);
  if (least > step && !is_near(least)) {
    throw ConfigError(fmt::format("--unprofiled: {:.3f} ms of the step are kernels and communication, whatever the host does",
                                  least.us() / 1'000));
  }
  double below = 0;
  double above = 1;
  constexpr int kHalvings = 20;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (below + above) / 2;
    const Duration found = step_with(middle);
    if (is_near(found)) return middle;
    (found < step ? below : above) = middle;
  }
  return (below + above) / 2;
}

}  // namespace weft::scenario
