// The cost of a cluster, to buy, to own and to power, and of a run on it: a bill of materials times two books.
//
//   per hour = capital / (years x 8760 x utilization) + operation share x capital / (8760 x utilization)
//            + IT power x PUE x energy price                                                            (models/workloads §7.4)
//   power of a GPU = idle + (max - idle) x min(1, compute + 0.6 memory + 0.4 communication), at most its limit
//                                                                                            (models/workloads §7.3)
//   of it for idle GPUs per hour = their share of capital and operation + their share of servers' idle power x PUE x price
//
// where the three are shares of the run's time, and the limit is gpu.power_limit. Whatever a book has no entry for is an error
// that names it: a total with a hole would look cheap.
//
// Model: the whole cluster is paid for however much of it a run uses, and GPUs that it does not use are idle with all that is
// theirs of a server; what else servers draw (CPUs, fans, NICs) follows the GPUs' load between idle and maximum; switches draw
// their maximum while anything runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/network/topology.h"
#include "sim/planning/cost/bill_of_materials.h"
#include "sim/planning/cost/power_book.h"
#include "sim/planning/cost/price_book.h"

namespace weft::plan {

enum class CostPart { kServers, kNetwork, kRacks };

struct CostLine {
  std::string what = {};
  CostPart part = CostPart::kServers;
  std::int64_t count = 0;
  double each_usd = 0;
  std::string source = {};
  std::string date = {};
  [[nodiscard]] double usd() const { return static_cast<double>(count) * each_usd; }
};

struct ClusterCost {
  std::string book = {};
  std::vector<CostLine> lines = {};
  double capital_usd = 0;
  double network_usd = 0;  // of it: switches, cables, modules
  std::int64_t gpus = 0;
  double capital_per_hour = 0;    // spread over the years, by used hours
  double operation_per_hour = 0;  // by used hours
  double energy_per_kwh = 0;
  [[nodiscard]] double per_gpu() const { return gpus > 0 ? capital_usd / static_cast<double>(gpus) : 0; }
};

// Shares of a run's time; communication counts beside compute too.
struct Activity {
  double compute = 0;
  double memory = 0;
  double communication = 0;
};

struct PowerLine {
  std::string what = {};
  std::int64_t count = 0;
  double max_watts = 0;  // of one
  double idle_watts = 0;
  std::string source = {};
  std::string date = {};
};

// GPUs whose limit of power is below the maximum that the book states.
struct LimitedGpus {
  double count = 0;
  double max_watts = 0;  // of one, without the limit
  double idle_watts = 0;
};

struct ClusterPower {
  std::string book = {};
  std::vector<PowerLine> lines = {};
  double max_watts = 0;   // IT, everything at its maximum
  double idle_watts = 0;  // IT, nothing runs
  double gpu_max_watts = 0;
  double gpu_idle_watts = 0;
  double network_watts = 0;      // of max_watts: switches and modules
  double server_idle_watts = 0;  // of idle_watts: all but them
  double gpu_limit = 0;          // watts of a GPU, as gpu.power_limit sets it; 0: none
  std::vector<LimitedGpus> limited = {};
  ActivityWeights weights;
  double pue = 1;
  std::int64_t gpus = 0;

  [[nodiscard]] double load(const Activity& activity) const;  // 0 to 1
  // While a run does this on all GPUs but so many.
  [[nodiscard]] double it_watts(const Activity& activity, std::int64_t idle_gpus = 0) const;
};

// ConfigError that names everything the book has no price of.
[[nodiscard]] ClusterCost cluster_cost(const BillOfMaterials& bill, const PriceBook& book);
[[nodiscard]] ClusterPower cluster_power(const BillOfMaterials& bill, const PowerBook& book, const FloorPlan& plan,
                                         double gpu_limit = 0);

// A run of `seconds` costs this. Energy needs a power book, dollars a price book.
struct RunCost {
  double seconds = 0;
  double it_watts = 0;        // 0 without a power book
  double facility_watts = 0;  // with PUE
  double energy_joules = 0;   // of the facility
  double capital_usd = 0;
  double operation_usd = 0;
  double energy_usd = 0;
  double tokens = 0;  // 0: the run makes none
  std::int64_t idle_gpus = 0;
  double idle_usd = 0;  // of usd(), what is paid for them
  [[nodiscard]] double usd() const { return capital_usd + operation_usd + energy_usd; }
  [[nodiscard]] double usd_per_hour() const { return per_hour(usd()); }
  [[nodiscard]] double idle_usd_per_hour() const { return per_hour(idle_usd); }
  [[nodiscard]] std::optional<double> usd_per_million_tokens() const;
  [[nodiscard]] std::optional<double> joules_per_token() const;

 private:
  [[nodiscard]] double per_hour(double amount) const { return seconds > 0 ? amount / seconds * 3'600 : 0; }
};
[[nodiscard]] RunCost run_cost(const ClusterCost* cost, const ClusterPower* power, const Activity& activity, double seconds,
                               double tokens, std::int64_t idle_gpus = 0);

}  // namespace weft::plan
