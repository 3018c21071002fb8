// The Program of a scenario's training step: what run_training runs (training_run.h), and what others are given in files.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/workloads/program.h"
#include "sim/workloads/training/training.h"

namespace weft::scenario {

// A setup's step on the scenario's cluster, folded where places allow it; `notes` say where they do not.
[[nodiscard]] work::Program step_program(const Scenario& scenario, const work::TrainingSetup& setup,
                                         std::vector<std::string>& notes);

}  // namespace weft::scenario
