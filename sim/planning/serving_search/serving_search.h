// Finds how to serve a model on a cluster: which engines, with how many users at once and how many tokens a step, for targets
// of latency. Every deployment has two figures: tokens/s of the whole cluster over its GPUs, idle ones too, and tokens/s that
// one user gets, 1 / TPOT. Those that no other beats in both are the Pareto front.
//
// Candidates (serving_space.h) are ordered by estimates from their steps: those whose estimates no other's beat in both come
// first, then those of the rest, and so on. Each is simulated as `weft run` serves a closed loop of its users: kRounds requests
// each, of which the first kWarmUp are not counted. Estimates only order: none rules a candidate out. So the front is that of
// all candidates once all were simulated. A search that ends before says how many were left.
//
// Targets hold at one percentile of requests. One of the time to first token bounds the front: it has only plans that meet it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/planning/cost/costed_cluster.h"
#include "sim/planning/serving_search/serving_space.h"
#include "sim/scenario/inference_run.h"

namespace weft::plan {

inline constexpr std::int64_t kRounds = 6;
inline constexpr std::int64_t kWarmUp = 2;

enum class ServingPercentile : std::uint8_t { kP50, kP90, kP99 };

struct ServingTargets {
  Duration ttft;  // 0: none
  Duration tpot;
  ServingPercentile at = ServingPercentile::kP90;
};
// "ttft=500ms,tpot=30ms,at=p90", each once and in any order. ConfigError in the words of the option `name`.
[[nodiscard]] ServingTargets parse_targets(const std::string& text, const std::string& name);
[[nodiscard]] double quantile_of(const scenario::Quantiles& of, ServingPercentile at);  // ns

struct ServingSettings {
  ServingTargets targets;
  double budget_seconds = 45;      // of wall time; 0: none
  std::uint64_t budget_plans = 0;  // simulated at most, the same on every machine; 0: no limit
  int threads = 1;
};

// One that was simulated.
struct ServingPlan {
  ServingCandidate candidate;
  scenario::Quantiles ttft;
  scenario::Quantiles tpot;
  double tokens_per_second = 0;           // of the cluster
  double tokens_per_second_per_gpu = 0;   // of all its GPUs
  double tokens_per_second_per_user = 0;  // 1 / TPOT, its mean
  double requests_per_second = 0;         // of the cluster
  double cache_share = 0;                 // of blocks, peak of any engine
  std::int64_t preemptions = 0;
  bool meets_ttft = true;
  bool meets_tpot = true;
  bool is_on_front = false;
  RunCost cost;
  std::uint64_t digest = 0;
  [[nodiscard]] bool meets() const { return meets_ttft && meets_tpot; }
};

struct ServingSearchResult {
  std::int64_t engines = 0;
  std::int64_t engines_too_big = 0;
  std::uint64_t candidates = 0;
  std::uint64_t simulated = 0;
  std::uint64_t too_big = 0;  // for their longest request
  std::uint64_t left = 0;     // when the search ended
  bool interrupted = false;
  bool out_of_budget = false;
  std::vector<ServingPlan> plans;   // all simulated ones; most tokens/s a user first
  std::optional<std::size_t> best;  // of those that meet all targets, that of most tokens/s
  std::uint64_t digest = 0;
  double wall_seconds = 0;
};

struct ServingProgress {
  std::uint64_t simulated = 0;
  std::uint64_t waiting = 0;
  std::string best;  // empty: none meets the targets yet
  double tokens_per_second_per_gpu = 0;
  double seconds = 0;
};

class ServingSearchObserver {
 public:
  // A few times a second, on a thread of the search's own.
  virtual void on_state(const ServingProgress& progress) = 0;
  [[nodiscard]] virtual bool stop() const = 0;

 protected:
  ~ServingSearchObserver() = default;
};

// `scenario`: as list_servings() takes it. ConfigError where no engine holds one request.
[[nodiscard]] ServingSearchResult search_servings(const scenario::Scenario& scenario, const ServingSpace& space,
                                                  const ServingSettings& settings, const CostedCluster& costed,
                                                  ServingSearchObserver& observer);

// Indices in layers: those that none beats in both figures, then those of the rest, and so on; in a layer by the first figure.
[[nodiscard]] std::vector<std::size_t> by_fronts(const std::vector<std::pair<double, double>>& figures);

}  // namespace weft::plan
