// Bills of materials, capital, power and the cost of runs as a person reads them.
#pragma once

#include <string>

#include "sim/planning/cost/costed_cluster.h"

namespace CLI {
class App;
}

namespace weft::apps {

// --prices and --power of the commands that can cost what they show.
struct CostOptions {
  std::string prices;  // file or shipped name; empty: not asked for
  std::string power;
  [[nodiscard]] bool any() const { return !prices.empty() || !power.empty(); }
};
void add_cost_options(CLI::App& command, CostOptions& options);

[[nodiscard]] plan::CostBooks load_books(const CostOptions& options);

[[nodiscard]] std::string bill_text(const plan::BillOfMaterials& bill, const plan::Installation& room);
[[nodiscard]] std::string capital_text(const plan::ClusterCost& cost);
[[nodiscard]] std::string power_text(const plan::ClusterPower& power);
// The lines of a run, each with a heading word: "cost", "power", "tokens".
[[nodiscard]] std::string run_cost_text(const plan::CostedCluster& cluster, const plan::RunCost& run);

}  // namespace weft::apps
