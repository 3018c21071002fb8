// Prints what a person wants of inference first.
#pragma once

#include "sim/apps/output.h"
#include "sim/scenario/inference_run.h"
#include "sim/workloads/inference/inference.h"

namespace weft::apps {

void print_inference(const Report& report, const work::InferenceSetup& setup, const scenario::InferenceResult& result);

}  // namespace weft::apps
