// What a person wants of a training step first.
#pragma once

#include "sim/apps/output.h"
#include "sim/planning/training_run.h"
#include "sim/workloads/training/training.h"

namespace weft::apps {

void print_training(const Report& report, const work::TrainingSetup& setup, const plan::TrainingResult& result);

}  // namespace weft::apps
