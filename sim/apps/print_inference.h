// Prints what a person wants of inference first.
#pragma once

#include "sim/apps/output.h"
#include "sim/measured/servers/server_run.h"
#include "sim/scenario/inference_run.h"
#include "sim/workloads/inference/inference.h"

namespace weft::apps {

void print_inference(const Report& report, const work::InferenceSetup& setup, const scenario::InferenceResult& result);
void print_server_comparison(const Report& report, const measured::ServerComparison& comparison);

}  // namespace weft::apps
