// One step of a serving engine by itself, kernel by kernel: what a profiler shows of it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/executor.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/inference/inference.h"
#include "sim/workloads/inference/step_times.h"

namespace weft::scenario {

// Sequences that are alike: `tokens` new ones of each, which meet `context` tokens, themselves among them.
struct ServingStepSpec {
  bool is_decode = true;
  std::int64_t batch = 1;
  std::int64_t context = 1;
  std::int64_t tokens = 0;   // 0: one of an answer, all of a prompt
  std::int64_t layers = 0;   // the model's first ones; 0: all
  std::int64_t answers = 0;  // beside prompts: sequences that get a token each
  std::int64_t answers_context = 1;
};

struct ServingStepResult {
  std::vector<work::StepKernel> kernels;  // their times add up to `time`, but for what rounding takes
  work::StepTime step;
  std::int64_t new_tokens = 0;
  double weights = 0;   // bytes of the GPU that has most
  double cache = 0;     // and of the sequences' cache there
  double capacity = 0;  // of its memory
  int gpus = 0;         // of the engine
  std::uint64_t digest = 0;

  [[nodiscard]] Duration time() const { return step.latency(); }
};

// Runs one step of the scenario's `inference`, whose requests and scheduler do not matter, but for `cuda_graph`. Of engines
// that only decode or only prefill, it is those of the phase. ConfigError for a step that no engine takes.
[[nodiscard]] ServingStepResult run_serving_step(const Scenario& scenario, const ServingStepSpec& spec);

// How collectives of a step are run.
struct StepRun {
  std::uint64_t seed = 1;
  coll::Grain grain = coll::Grain::kAuto;
  coll::nccl::Settings nccl = {};
};

// Times of a step that runs `count` times in a row after a pause, as benchmarks have it: each at the clock that those before
// it leave.
[[nodiscard]] std::vector<Duration> repeat_serving_step(const net::Cluster& cluster, const work::InferenceSetup& setup,
                                                        const ServingStepSpec& spec, int count, const StepRun& run);

}  // namespace weft::scenario
