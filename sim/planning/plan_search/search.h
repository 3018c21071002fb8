// Finds the best parallel plans of a model on a cluster: lists the valid ones (space.h), drops those that do not fit, bounds
// the rest (bound.h) and simulates best bound first, until no plan that is left can get among the best ones found.
//
// A step is simulated as `weft run` does it, folded. What ends a search early is said: its budget, a signal. A plan whose step
// would take more operations or more seconds than its limit is left out and counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/planning/cost/costed_cluster.h"
#include "sim/planning/plan_search/space.h"
#include "sim/planning/scenario.h"
#include "sim/planning/training_run.h"

namespace weft::plan {

enum class PlanObjective : std::uint8_t { kTime, kTokensPerDollar, kTokensPerJoule, kLargestModel };
[[nodiscard]] std::string_view to_string(PlanObjective objective);  // "time", "tokens_per_dollar", ...

struct PlanSearchSettings {
  PlanObjective objective = PlanObjective::kTime;
  std::size_t top = 10;
  double budget_seconds = 45;      // of wall time; 0: none
  std::uint64_t budget_plans = 0;  // simulated; 0: any number
  double plan_seconds = 10;        // wall time of one simulation
  std::uint64_t plan_operations = 20'000'000;
  bool prunes = true;  // false: simulates every plan that fits
};

// One that was simulated.
struct RankedPlan {
  PlanCandidate candidate;
  double bound_seconds = 0;
  double closed_form_memory = 0;
  Duration iteration;
  double tokens_per_second = 0;
  double mfu = 0;
  MemoryParts memory;
  std::string bottleneck;  // what takes most of the step beside GEMMs: "tensor comm"
  double bottleneck_share = 0;
  RunCost cost;
  double score = 0;  // of the objective; less is better
  std::uint64_t digest = 0;
};

struct PlanSearchResult {
  std::uint64_t enumerated = 0;
  std::map<std::string, std::uint64_t> refusals;
  std::uint64_t refused = 0;
  std::uint64_t too_big = 0;            // for memory: closed form, or found by the simulation
  std::uint64_t too_big_simulated = 0;  // of them
  std::uint64_t too_long = 0;           // over a plan's limits
  double too_long_least = 0;            // least bound of them, as a score; 0: none
  std::uint64_t pruned = 0;             // cannot get among the best
  std::uint64_t simulated = 0;
  std::uint64_t left = 0;  // neither simulated nor pruned
  double left_least = 0;   // least bound of them, as a score
  bool interrupted = false;
  bool out_of_budget = false;
  double smallest_bytes = 0;      // memory of the plan that needs least, where none fits
  std::vector<RankedPlan> plans;  // all simulated ones, best first
  std::int64_t layers = 0;        // of the model that was searched (largest_model)
  std::uint64_t digest = 0;
  double wall_seconds = 0;

  // No plan that was not simulated can be better.
  [[nodiscard]] bool best_is_proven() const;
};

class PlanSearchObserver {
 public:
  virtual void on_state(const PlanSearchResult& so_far, std::uint64_t waiting) = 0;
  [[nodiscard]] virtual bool stop() const = 0;  // by the user

 protected:
  ~PlanSearchObserver() = default;
};

// `scenario`: cluster and simulation; its workload is replaced. ConfigError where no plan is valid, or none fits.
[[nodiscard]] PlanSearchResult search_plans(Scenario& scenario, PlanSpace space, const PlanSearchSettings& settings,
                                            const CostedCluster& costed, PlanSearchObserver& observer);

}  // namespace weft::plan
