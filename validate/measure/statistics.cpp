#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::measure {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {.median = quantile(samples, 0.5),
          .mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size()),
          .min = samples.front(),
          .max = samples.back(),
          .p25 = quantile(samples, 0.25),
          .p75 = quantile(samples, 0.75)};
}

Repetition choose_repetition(double operation_us, const RepetitionLimits& limits) {
  const double operations = limits.target_us / std::max(operation_us, 1e-3);
  const auto within = [](double wanted, int low, int high) {
    return static_cast<int>(std::clamp(std::floor(wanted), static_cast<double>(low), static_cast<double>(high)));
  };
  Repetition repetition;
  repetition.inner = within(operations / limits.min_samples, limits.min_inner, limits.max_inner);
  repetition.samples = within(operations / repetition.inner, limits.min_samples, limits.max_samples);
  return repetition;
}

}  // namespace weft::measure
