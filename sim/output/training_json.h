// Writes a training step's result as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/core/json_writer.h"
#include "sim/scenario/training_jobs_run.h"
#include "sim/scenario/training_run.h"

namespace weft::output {

// "data comm" as a key: data_comm.
[[nodiscard]] std::string category_key(std::size_t category);

// Members of an object that is open.
void write_training(JsonWriter& json, const scenario::TrainingResult& result);
void write_training_jobs(JsonWriter& json, const std::vector<scenario::TrainingJobResult>& jobs);

}  // namespace weft::output
