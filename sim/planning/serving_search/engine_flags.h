// The words by which engines are told what a plan of serving found: docs/serving.md has the table of them.
#pragma once

#include <string>
#include <vector>

#include "sim/planning/serving_search/serving_space.h"

namespace weft::plan {

struct EngineCommand {
  std::string engine;              // "vLLM", "SGLang", "TensorRT-LLM"
  std::vector<std::string> lines;  // a command each; disaggregated: one that prefills, one that decodes
};

// Commands for one engine of each kind; MODEL stands for the model's name, which checkpoints of its precision have.
// Model: vLLM shards experts over all GPUs of a stage or none of them, as these plans do.
[[nodiscard]] std::vector<EngineCommand> engine_commands(const work::InferenceSetup& setup, const ServingCandidate& candidate);

}  // namespace weft::plan
