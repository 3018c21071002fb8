// Prints what a person wants of inference first.
#pragma once

#include <cstdint>
#include <string>

#include "sim/apps/output.h"
#include "sim/measured/servers/server_run.h"
#include "sim/scenario/inference_run.h"
#include "sim/workloads/inference/inference.h"

namespace weft::apps {

void print_inference(const Report& report, const work::InferenceSetup& setup, const scenario::InferenceResult& result);
// How uneven the experts' load is in a step of so many tokens, a line; "" where one GPU has all experts.
[[nodiscard]] std::string experts_text(const work::InferenceSetup& setup, const work::EnginePlan& plan, std::int64_t tokens);
void print_server_comparison(const Report& report, const measured::ServerComparison& comparison);

}  // namespace weft::apps
