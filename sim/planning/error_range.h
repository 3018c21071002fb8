// How far off a predicted time may be: by what Weft's predictions were off by where others measured.
//
//   step        compute share x E + exposed communication share x max(E, C)
//   collective  the median error of the profile's sets of that operation over that network on as many GPUs; where there is
//               none, the largest of that operation over that network; else of that network; of the operation; of all
//
// E is the mean error of published training steps (validate/published/results.md, mean over blocks), whole steps of others'
// machines; C is the largest median error among the sets of collectives over the cluster's network that its profile states, or,
// where there is none, among all (docs/accuracy.md).
//
// Model: errors of the parts add up, as if all went one way. Two plans of one cluster err alike in much, so that the difference
// between them is better known than either time.
#pragma once

#include <optional>

#include "sim/network/cluster.h"
#include "sim/scenario/stated_error.h"

namespace weft::plan {

// The mean over blocks of validate/published/results.md, rounded up to whole per cent; a test reads the page.
inline constexpr double kPublishedStepError = 0.1;
// The largest error of a row there, rounded up likewise: taken where the profile states no set that was measured.
inline constexpr double kWorstStepError = 0.49;

// Share of the time, either way. Nothing where the profile states no set that was measured.
[[nodiscard]] std::optional<double> step_error(const net::Cluster& cluster, double exposed_share);
[[nodiscard]] std::optional<double> collective_error(const net::Cluster& cluster,
                                                     const scenario::PredictedCollective& predicted);

// Two times that are so much apart differ by less than what either may be off.
[[nodiscard]] bool is_within_error(double a, double b, double error);

}  // namespace weft::plan
