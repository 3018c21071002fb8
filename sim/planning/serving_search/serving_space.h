// Which deployments of a model a search looks at: engines of every size that fits, each with so many users at once and so many
// tokens a step.
//
//   engine          tensor within a node, up to 8 pipeline stages; experts whole on GPUs or split over them, attention split or
//                   in replicas; that heads, experts and GPUs divide so is inference_reader.h's check
//   disaggregated   engines that prefill and engines that decode, in the numbers that estimates balance best, at most
//                   kEnginesOfCell together
//   users           powers of two, while their requests fit the engine's cache
//   token budget    what was asked for
//
// One cell of engines is simulated; the cluster has as many of it as its GPUs hold, the rest stay idle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/workloads/inference/inference.h"
#include "sim/workloads/replay/group_runs.h"

namespace weft::plan {

inline constexpr int kEnginesOfCell = 8;

struct ServingCandidate {
  work::EnginePlan engine;                      // that prefills, where others decode
  std::optional<work::EnginePlan> decode = {};  // disaggregated
  std::int64_t users = 1;                       // of the cell at once
  std::int64_t max_batch = 1;                   // sequences of an engine
  std::int64_t token_budget = 8192;
  std::int64_t copies = 1;  // cells of the cluster
  // Estimates, for the order in which candidates are tried.
  double tokens_per_second = 0;  // of the cluster
  double tpot_seconds = 0;
  double ttft_seconds = 0;

  [[nodiscard]] int gpus() const { return engine.gpus() + (decode ? decode->gpus() : 0); }  // of a cell
};

struct ServingSpace {
  std::int64_t gpus = 1;  // of the cluster
  std::int64_t node_gpus = 1;
  std::vector<std::int64_t> token_budgets{2048, 8192};
  bool disaggregates = true;
};

struct ServingList {
  std::vector<ServingCandidate> candidates;
  std::int64_t engines = 0;          // plans of engines that were looked at
  std::int64_t engines_too_big = 0;  // whose weights leave no room for one request
};

// The scenario's `inference` has model, precision, library and lengths of requests; its plans and load do not count.
[[nodiscard]] ServingList list_servings(const scenario::Scenario& scenario, const ServingSpace& space,
                                        const std::shared_ptr<work::GroupRuns>& group_runs);

// The setup of a candidate's cell: a closed loop of its users, `requests` in all.
[[nodiscard]] work::InferenceSetup setup_of(const work::InferenceSetup& setup, const ServingCandidate& candidate,
                                            std::int64_t requests);

// "t8", "t4 p2 x2", "prefill t2 x3, decode t4 x2": axes of one left out.
[[nodiscard]] std::string engines_text(const ServingCandidate& candidate);

}  // namespace weft::plan
