// Inference from setup to figures: what fits, how requests are served, what users and GPUs saw (metrics: models/workloads §6).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/link_use.h"
#include "sim/scenario/run_observer.h"
#include "sim/scenario/run_stats.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/inference/serving.h"
#include "sim/workloads/replay/group_runs.h"

namespace weft::scenario {

// Nearest-rank percentiles, of what there was; all 0 where there was nothing.
struct Quantiles {
  double p50_ns = 0;
  double p90_ns = 0;
  double p99_ns = 0;
  double mean_ns = 0;
};
[[nodiscard]] Quantiles quantiles_of(const std::vector<double>& values_ns);

struct InferenceResult : RunStats {
  std::int64_t requests = 0;
  std::int64_t finished = 0;
  std::int64_t prompt_tokens = 0;  // of finished requests
  std::int64_t output_tokens = 0;
  bool caches_prefixes = false;
  std::int64_t found_tokens = 0;         // of these prompts, in the prefix cache
  Quantiles ttft;                        // arrival to first token
  Quantiles tpot;                        // (last - first token) / (tokens - 1), of answers of two tokens or more
  Quantiles itl;                         // each gap between tokens
  Quantiles e2e;                         // arrival to last token
  Quantiles queue;                       // arrival to first step
  Quantiles transfer;                    // prompt cached to cache arrived, disaggregated
  double tokens_per_second = 0;          // output, from the first arrival to the last token
  double tokens_per_second_per_gpu = 0;  // of all engines' GPUs
  double requests_per_second = 0;
  double goodput = 0;         // requests per second that meet the targets
  double within_targets = 0;  // share of finished requests
  double cache_bytes_moved = 0;

  // Share of prompts' tokens that the prefix cache held.
  [[nodiscard]] double prefix_hit_rate() const {
    return prompt_tokens > 0 ? static_cast<double>(found_tokens) / static_cast<double>(prompt_tokens) : 0;
  }

  work::ServingMemory memory;
  std::vector<work::EngineReport> engines;
  work::StepParts parts{};  // of all engines
  std::int64_t gpus = 0;
  std::size_t simulated_groups = 0;  // collectives that were run for the engines' costs
  Duration makespan;
  std::vector<LinkUse> hottest;
  bool interrupted = false;
  std::vector<std::string> notes;
};

struct InferenceRunOptions {
  // So many requests of a closed loop come before the load is steady. Latencies are those of the later ones, and rates those
  // between the first and the last of their arrivals, with the tokens of an answer spread evenly from its first to its last.
  std::int64_t warm_up = 0;
  // Collectives that were run for other engines of the same library on this cluster; null: none.
  std::shared_ptr<work::GroupRuns> group_runs = nullptr;
  const work::InferenceSetup* setup = nullptr;        // in place of the scenario's
  work::ServingObserver* serving_observer = nullptr;  // hears of all steps and requests
};

// ConfigError where an engine does not fit its GPUs, with what it holds and what would fit.
[[nodiscard]] InferenceResult run_inference(const Scenario& scenario, RunObserver* observer = nullptr,
                                            const InferenceRunOptions& options = {});

// For InferenceRunOptions of this scenario's cluster, settings and library.
[[nodiscard]] std::shared_ptr<work::GroupRuns> shared_inference_runs(const Scenario& scenario);

}  // namespace weft::scenario
