// Shares of a simulated step's time, as a row of a plan's table has them.
#pragma once

#include <string>
#include <utility>

#include "sim/scenario/training_run.h"

namespace weft::plan {

// Returns what takes most of the mean GPU's step, compute, exposed communication or waiting, and its share of the step.
[[nodiscard]] std::pair<std::string, double> bottleneck_of(const scenario::TrainingResult& result);
// Returns the share of the step in which the mean GPU communicates and does not compute.
[[nodiscard]] double exposed_share(const scenario::TrainingResult& result);

}  // namespace weft::plan
