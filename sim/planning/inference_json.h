// What inference's result is in JSON: the keys of design.md §4 and more.
#pragma once

#include "sim/planning/inference_run.h"
#include "sim/planning/json_writer.h"

namespace weft::plan {

// Members of an object that is open.
void write_inference(JsonWriter& json, const InferenceResult& result);

}  // namespace weft::plan
