// How far off a predicted time may be: by what Weft's predictions were off by where others measured.
//
//   step        compute share x E + exposed communication share x max(E, C)
//   collective  the median error of the profile's sets of that operation over that network on as many GPUs; where there is
//               none, the largest of that operation over that network; else of that network; of the operation; of all
//
// E is the mean error of published training steps, whole steps of others' machines: of dense models for dense ones, of mixtures
// of experts for mixtures (published_errors.h). C is the largest median error among the sets of collectives over the cluster's
// network that its profile states, or, where there is none, among all (docs/accuracy.md).
//
// Model: errors of the parts add up, as if all went one way. Two plans of one cluster err alike in much, so that the difference
// between them is better known than either time.
#pragma once

#include <optional>

#include "sim/network/cluster.h"
#include "sim/planning/published_errors.h"
#include "sim/scenario/stated_error.h"
#include "sim/workloads/model/transformer.h"

namespace weft::plan {

// Returns that of published steps of such models. Its `worst` is taken where the profile states no set that was measured.
[[nodiscard]] PublishedError published_error(const work::TransformerModel& model);

// Share of the time, either way, of a step of `model`. Nothing where the profile states no set that was measured.
[[nodiscard]] std::optional<double> step_error(const net::Cluster& cluster, const work::TransformerModel& model,
                                               double exposed_share);
[[nodiscard]] std::optional<double> collective_error(const net::Cluster& cluster,
                                                     const scenario::PredictedCollective& predicted);

// Two times that are so much apart differ by less than what either may be off.
[[nodiscard]] bool is_within_error(double a, double b, double error);

}  // namespace weft::plan
