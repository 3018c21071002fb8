// Writes the result of inference as JSON.
#pragma once

#include "sim/planning/inference_run.h"
#include "sim/planning/json_writer.h"

namespace weft::plan {

// Members of an object that is open.
void write_inference(JsonWriter& json, const InferenceResult& result);

}  // namespace weft::plan
