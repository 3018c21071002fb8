// From a question to a purchase: how many nodes of a cluster train a model on so many tokens, by when, at what price and power.
//
//   time     = tokens / (tokens/s of the best plan found x useful share)
//   useful   = Daly's share at his best checkpoint interval, for the failures of the components that the plan's cluster has
//   dollars  = USD an hour of the whole cluster, idle GPUs too, x time
//
// How many: as many as were asked for; or the fewest that are done by the deadline. Those are searched for: the first guess is
// the cluster as its file has it, the next ones are in proportion to the speed found. Node counts are whole multiples of an
// eighth to a quarter of the power of two below, as a batch divides over few others. A limit in money or power is the
// end of it, and what is over the deadline then is said.
//
// Model: speed between two counts is in proportion to them only for the next guess, never for an answer. The cluster draws as
// much while it restarts as while it trains. Checkpoints block as in configs/goodput/llama3_405b_16k.yaml unless told
// otherwise.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/network/cluster.h"
#include "sim/planning/cost/costed_cluster.h"
#include "sim/planning/error_range.h"
#include "sim/planning/plan_search/search.h"
#include "sim/planning/reliability/failure_rates.h"
#include "sim/planning/reliability/goodput.h"

namespace weft::plan {

struct SizeQuestion {
  work::TrainingSetup setup;  // model, batch, sequence
  double tokens = 0;
  std::int64_t gpus = 0;  // asked for; 0: as the deadline needs
  std::optional<LongTime> deadline = {};
  std::optional<double> capital_usd = {};  // limits
  std::optional<double> megawatts = {};    // of the facility, all busy
  CostBooks books = {};
  FailureBooks failures{FailureRates{}};
  CheckpointPlan checkpoint = {};  // its interval is found
  LongTime restart = {};
  PlanSearchSettings search = {};
};

// A figure and what it may be.
struct Ranged {
  double value = 0;
  double least = 0;
  double most = 0;
};

// One thing that is otherwise, and what comes of it.
struct SizeChange {
  std::string what;
  double seconds = 0;
  double usd = 0;
};

struct SizedCluster {
  std::string name;
  std::string file;
  std::string profile;
  std::string profile_error;
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  CostedCluster costed;
  RankedPlan plan;
  std::optional<double> gap;    // by how much a better plan could be faster; none: proven
  std::optional<double> error;  // of the step's time
  double worst_error = 0;       // of published steps of such models
  std::string failures;         // the book's name
  double failures_within = 1;
  LongTime time_to_failure = {};
  LongTime checkpoint_interval = {};
  Ranged useful;
  Ranged seconds;  // of wall-clock time, for all tokens
  Ranged usd;      // capital, operation and energy of that time
  double capital_usd = 0;
  double megawatts = 0;       // while training, with PUE
  double most_megawatts = 0;  // all busy
  double megawatt_hours = 0;
  double assumed_share = 0;  // of the capital, by prices that their book calls assumed
  std::string oldest_price;  // date
  std::string newest_price;
  std::string limit;  // what made it this size: "as asked", "deadline", "money", "power"
  bool meets = true;  // the deadline and the limits
  std::vector<SizeChange> changes;
  std::uint64_t digest = 0;

  // Returns what its ranges allow for: the largest error of published steps where the profile states no set that was measured.
  [[nodiscard]] double range_error() const { return error.value_or(worst_error); }
};

using LoadNodes = std::function<net::Cluster(std::int64_t nodes)>;  // 0: as many as the file has

// ConfigError where no plan fits or a book lacks a price.
[[nodiscard]] SizedCluster size_cluster(const LoadNodes& load, const std::string& file, const SizeQuestion& question,
                                        const scenario::Scenario& settings, PlanSearchObserver& observer);

// By how much the capital of `dear` may change until its bill for the work is that of `other`: 0.8 is a fifth less. Nothing
// where no price makes them equal.
[[nodiscard]] std::optional<double> even_capital(const SizedCluster& dear, const SizedCluster& other);

}  // namespace weft::plan
