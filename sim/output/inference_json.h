// Writes the result of inference as JSON.
#pragma once

#include "sim/core/json_writer.h"
#include "sim/scenario/inference_run.h"

namespace weft::output {

// Members of an object that is open.
void write_inference(JsonWriter& json, const scenario::InferenceResult& result);

}  // namespace weft::output
