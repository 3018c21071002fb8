// How far off a predicted time may be: by what Weft's predictions were off by where others measured.
//
//   step        compute share x E + exposed communication share x max(E, C)
//   collective  the median error of the profile's sets of that operation, or else its largest
//
// E is the mean error of published training steps (validate/published/results.md, mean over blocks), whole steps of others'
// machines; C is the largest median error among the sets of collectives that the cluster's profile states (docs/accuracy.md).
//
// Model: errors of the parts add up, as if all went one way. Two plans of one cluster err alike in much, so that the difference
// between them is better known than either time.
#pragma once

#include <optional>
#include <string_view>

#include "sim/core/profile.h"

namespace weft::plan {

// The mean over blocks of validate/published/results.md, rounded up to whole per cent; a test reads the page.
inline constexpr double kPublishedStepError = 0.12;

// Share of the time, either way. Nothing where the profile states no set that was measured.
[[nodiscard]] std::optional<double> step_error(const Profile& profile, double exposed_share);
[[nodiscard]] std::optional<double> collective_error(const Profile& profile, std::string_view operation);  // "all_reduce"

// Two times that are so much apart differ by less than what either may be off.
[[nodiscard]] bool is_within_error(double a, double b, double error);

}  // namespace weft::plan
