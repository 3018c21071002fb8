// Statistics of one point's samples: median, mean, extremes and quartiles.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::measure {

struct Summary {
  double median = 0;
  double mean = 0;
  double min = 0;
  double max = 0;
  double p25 = 0;
  double p75 = 0;
};

// Quantile by linear interpolation between the closest ranks; `fraction` in [0, 1], `sorted` ascending and not empty.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double fraction);

// Zeros for no samples.
[[nodiscard]] Summary summarize(std::vector<double> samples);

// How a point's time is divided: `inner` operations make a sample, `samples` of them are taken.
struct Repetition {
  int inner = 1;
  int samples = 1;
};
struct RepetitionLimits {
  double target_us = 50'000;  // all samples together
  int min_inner = 1;
  int max_inner = 40;
  int min_samples = 5;
  int max_samples = 15;
};

// As many operations in a sample as fit into an equal share of the target, then as many samples as the target leaves.
// `operation_us` is a first estimate of one operation; the limits win over the target.
[[nodiscard]] Repetition choose_repetition(double operation_us, const RepetitionLimits& limits);

}  // namespace weft::measure
