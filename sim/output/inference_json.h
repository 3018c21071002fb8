// Writes the result of inference as JSON.
#pragma once

#include <span>

#include "sim/core/json_writer.h"
#include "sim/measured/servers/server_run.h"
#include "sim/scenario/inference_run.h"

namespace weft::output {

// Members of an object that is open.
void write_inference(JsonWriter& json, const scenario::InferenceResult& result);
// "measured": [{file, line, format, model, requests, points[], notes[]}]; nothing where there is none.
void write_server_comparisons(JsonWriter& json, std::span<const measured::ServerComparison> comparisons);

}  // namespace weft::output
