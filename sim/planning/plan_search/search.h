// Finds the best parallel plans of a model on a cluster: lists the valid ones (space.h) in families, bounds and orders these in
// closed form (families.h), and goes best first. Plans of a family are bounded with collectives at the rate of the links, then
// closer (bound.h), then simulated. The likeliest come first, until one was simulated; from then on in turn with those of least
// bound, which keep the proof open; until the bound of every plan and family that is left is above the best time found.
//
// A step is simulated as `weft run` does it, folded. Plans are simulated in rounds of as many, whatever the number of threads,
// and looked at in order, so that the result does not depend on it. What ends a search early is said: its budget, a signal. A
// plan whose step would take more operations or more seconds than its limit is left out and counted. The first may take the
// whole budget.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/planning/cost/costed_cluster.h"
#include "sim/planning/plan_search/space.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/training_run.h"

namespace weft::plan {

enum class PlanObjective : std::uint8_t { kTime, kTokensPerDollar, kTokensPerJoule, kLargestModel };
[[nodiscard]] std::string_view to_string(PlanObjective objective);  // "time", "tokens_per_dollar", ...

struct PlanSearchSettings {
  PlanObjective objective = PlanObjective::kTime;
  std::size_t top = 10;     // rows; as many are simulated at least
  std::size_t certain = 1;  // of them: none that was not simulated is better
  int threads = 1;
  double budget_seconds = 45;      // of wall time; 0: none
  std::uint64_t budget_plans = 0;  // simulated; 0: any number
  double plan_seconds = 30;        // wall time of one simulation
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
  scenario::MemoryParts memory;
  double exposed_share = 0;     // of the step: communication with no compute beside it, mean over GPUs
  std::optional<double> error;  // share of the time that it may be off (error_range.h); none: not known
  std::string bottleneck;       // what takes most of the step beside GEMMs: "tensor comm"
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
  double too_long_least = 0;            // least bound of them, as a score
  std::uint64_t pruned = 0;             // by their bounds
  double pruned_least = 0;              // least bound of them, as a score
  std::uint64_t simulated = 0;
  std::uint64_t left = 0;  // neither simulated nor pruned
  double left_least = 0;   // least bound of them, as a score
  bool interrupted = false;
  bool bounds_all = true;  // false: interrupted before every plan had its bound
  bool out_of_budget = false;
  double smallest_bytes = 0;      // memory of the plan that needs least, where none fits
  std::vector<RankedPlan> plans;  // all simulated ones, best first
  std::int64_t layers = 0;        // of the model that was searched (largest_model)
  std::uint64_t digest = 0;
  double wall_seconds = 0;

  // As many rows of the table as no plan that was not simulated can be among.
  [[nodiscard]] std::size_t proven() const;
  // No plan that was not simulated can score less than this; none where all were.
  [[nodiscard]] std::optional<double> least() const;
};

// How far a search is.
struct PlanProgress {
  std::uint64_t simulated = 0;
  std::uint64_t waiting = 0;  // plans
  std::string best = {};      // the incumbent; empty: none yet
  Duration iteration = {};    // its time
  double score = 0;
  double least = 0;  // no plan that is not simulated can score less
  double seconds = 0;
  // By how much the best plan could be better; none: no incumbent.
  [[nodiscard]] std::optional<double> gap() const {
    return best.empty() ? std::nullopt : std::optional<double>{std::max(0.0, 1 - least / score)};
  }
};

class PlanSearchObserver {
 public:
  // A few times a second, on a thread of the search's own.
  virtual void on_state(const PlanProgress& progress) = 0;
  [[nodiscard]] virtual bool stop() const = 0;  // by the user

 protected:
  ~PlanSearchObserver() = default;
};

// `scenario`: cluster and simulation; its workload does not count. ConfigError where no plan is valid, or none fits.
[[nodiscard]] PlanSearchResult search_plans(const scenario::Scenario& scenario, PlanSpace space,
                                            const PlanSearchSettings& settings, const CostedCluster& costed,
                                            PlanSearchObserver& observer);

}  // namespace weft::plan
