// What a training step's result is in JSON: the keys of design.md §4 and more.
#pragma once

#include <vector>

#include "sim/planning/json_writer.h"
#include "sim/planning/training_jobs_run.h"
#include "sim/planning/training_run.h"

namespace weft::plan {

// Members of an object that is open.
void write_training(JsonWriter& json, const TrainingResult& result);
void write_training_jobs(JsonWriter& json, const std::vector<TrainingJobResult>& jobs);

}  // namespace weft::plan
