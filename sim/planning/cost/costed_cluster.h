// A cluster with its books: what --prices and --power ask for, and what a run on it then costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/network/topology.h"
#include "sim/planning/cost/bill_of_materials.h"
#include "sim/planning/cost/cluster_cost.h"
#include "sim/planning/cost/floor_plan.h"
#include "sim/scenario/run_scenario.h"

namespace weft::plan {

// The books that were asked for.
struct CostBooks {
  std::optional<PriceBook> prices;
  std::optional<PowerBook> power;
  [[nodiscard]] bool any() const { return prices || power; }
  [[nodiscard]] FloorPlan floor_plan() const { return prices ? prices->floor_plan : FloorPlan{}; }
};
// Files or shipped names; empty: not asked for.
[[nodiscard]] CostBooks load_books(const std::string& prices, const std::string& power);

struct CostedCluster {
  BillOfMaterials bill;
  std::optional<ClusterCost> cost;
  std::optional<ClusterPower> power;
  [[nodiscard]] RunCost run(const Activity& activity, double seconds, double tokens, std::int64_t idle_gpus) const {
    return run_cost(cost ? &*cost : nullptr, power ? &*power : nullptr, activity, seconds, tokens, idle_gpus);
  }
};
// `profile` may limit the power of GPUs; null: it does not.
[[nodiscard]] CostedCluster cost_of(const net::Topology& topology, const CostBooks& books, const Profile* profile = nullptr);

// Returns what the GPUs did: in a training step's last iteration, or all the time communication for collectives and flows.
// Model: while an inference engine is busy it is bound by memory.
[[nodiscard]] Activity activity_of(const scenario::RunResult& result);

// GPUs of the scenario's cluster that its workload has nothing for.
[[nodiscard]] std::int64_t idle_gpus(const scenario::Scenario& scenario);

// Costs one iteration of a training step, and the whole run otherwise. Tokens are those trained, or those put out.
[[nodiscard]] RunCost cost_of_run(const CostedCluster& cluster, const scenario::Scenario& scenario,
                                  const scenario::RunResult& result);

}  // namespace weft::plan
