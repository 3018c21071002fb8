#include "sim/planning/cost/costed_cluster.h"

#include <algorithm>
#include <set>

#include "sim/workloads/kernels/clock.h"

namespace weft::plan {

CostBooks load_books(const std::string& prices, const std::string& power) {
  CostBooks books;
  if (!prices.empty()) books.prices = load_price_book(prices);
  if (!power.empty()) books.power = load_power_book(power);
  return books;
}

CostedCluster cost_of(const net::Topology& topology, const CostBooks& books, const Profile* profile) {
  CostedCluster made;
  made.bill = bill_of_materials(topology);
  const double limit = profile == nullptr ? 0.0 : profile->get(work::power_limit).watts;
  if (books.prices) made.cost = cluster_cost(made.bill, *books.prices);
  if (books.power) made.power = cluster_power(made.bill, *books.power, books.floor_plan(), limit);
  return made;
}

Activity activity_of(const scenario::RunResult& result) {
  if (result.inference) {
    double busy = 0;
    for (const work::EngineReport& engine : result.inference->engines) busy += engine.busy_share;
    const auto engines = static_cast<double>(std::max<std::size_t>(1, result.inference->engines.size()));
    return {.compute = 0, .memory = busy / engines, .communication = 0};
  }
  if (!result.training) return {.compute = 0, .memory = 0, .communication = 1};
  const double step = result.training->iteration.seconds();
  if (step <= 0) return {};
  const work::RankTimes& mean = result.training->mean;
  double communication = 0;
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    if (work::is_communication(static_cast<work::Category>(c))) communication += mean.busy[c].seconds();
  }
  const double compute = mean.tensor.seconds() / step;
  return {.compute = compute,
          .memory = std::max(0.0, mean.compute.seconds() / step - compute),
          .communication = std::min(1.0, communication / step)};
}

std::int64_t idle_gpus(const scenario::Scenario& scenario) {
  const net::Topology& topology = scenario.cluster.topology;
  const work::Workload& workload = scenario.workload;
  std::set<DeviceId> used;
  const auto use = [&](DeviceId device) {
    if (topology.kind(device) == net::DeviceKind::kGpu) used.insert(device);
  };
  for (const work::CollectiveItem& item : workload.collectives) std::ranges::for_each(item.devices, use);
  for (const work::FlowItem& flow : workload.flows) {
    use(flow.from);
    use(flow.to);
  }
  for (const work::JobItem& job : workload.jobs) {
    for (const work::JobTransfer& transfer : job.transfers) {
      use(transfer.from);
      use(transfer.to);
    }
  }
  auto count = static_cast<std::int64_t>(used.size());
  if (workload.training) count += workload.training->plan.world();
  for (const work::TrainingJob& job : workload.training_jobs) count += job.setup.plan.world();
  if (workload.inference) count += workload.inference->gpus();
  const auto is_gpu = [&](DeviceId device) { return topology.kind(device) == net::DeviceKind::kGpu; };
  return std::max<std::int64_t>(0, std::ranges::count_if(topology.endpoints(), is_gpu) - count);
}

RunCost cost_of_run(const CostedCluster& cluster, const scenario::Scenario& scenario, const scenario::RunResult& result) {
  const Activity activity = activity_of(result);
  if (result.training) {
    const work::Batch& batch = scenario.workload.training->batch;
    return cluster.run(activity, result.training->iteration.seconds(),
                       static_cast<double>(batch.global) * static_cast<double>(batch.sequence), idle_gpus(scenario));
  }
  const double tokens = result.inference ? static_cast<double>(result.inference->output_tokens) : 0;
  return cluster.run(activity, result.makespan.seconds(), tokens, idle_gpus(scenario));
}

}  // namespace weft::plan
