#include "sim/workloads/training/training_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/workloads/replay/jitter_reader.h"
#include "sim/workloads/training/training_reader.h"

namespace weft::work {
namespace {

constexpr std::int64_t kMaxIterations = 100'000;

// Who holds each GPU; empty: nobody.
using Holders = std::vector<std::string>;

std::vector<std::int32_t> free_gpus(const Holders& holders, int wanted) {
  std::vector<std::int32_t> found;
  for (std::size_t gpu = 0; gpu < holders.size() && static_cast<int>(found.size()) < wanted; ++gpu) {
    if (holders[gpu].empty()) found.push_back(static_cast<std::int32_t>(gpu));
  }
  return found;
}

// Takes the job's GPUs, and returns what is wrong with the place; empty where nothing is.
std::string take(Holders& holders, const std::vector<std::int32_t>& gpus, const std::string& name) {
  for (const std::int32_t gpu : gpus) {
    std::string& holder = holders[static_cast<std::size_t>(gpu)];
    if (!holder.empty()) return fmt::format("GPU {} is held by job '{}'", gpu, holder);
    holder = name;
  }
  return {};
}

void place(ParamReader& item, TrainingJob& job, Holders& holders) {
  ParallelPlan& plan = job.setup.plan;
  const auto gpus = static_cast<std::int64_t>(holders.size());
  const auto first = item.optional<std::int64_t>("first_gpu", between(std::int64_t{0}, gpus - 1));
  const auto stride = item.optional<std::int64_t>("gpu_stride", 1, between(std::int64_t{1}, gpus));
  if (!plan.rank_map.empty() && (first || item.has("gpu_stride"))) {
    item.error("first_gpu", "rank_map places this job: give the one or the other");
    return;
  }
  if (plan.rank_map.empty()) {
    if (!first && !item.has("gpu_stride")) {
      plan.rank_map = free_gpus(holders, plan.world());
      if (static_cast<int>(plan.rank_map.size()) < plan.world()) {
        item.error("parallelism", fmt::format("the job needs {} GPUs, and the jobs above it leave {} of {}", plan.world(),
                                              plan.rank_map.size(), holders.size()));
        return;
      }
    } else {
      const std::int64_t last = first.value_or(0) + (plan.world() - 1) * stride;
      if (last >= gpus) {
        item.error(
            first ? "first_gpu" : "gpu_stride",
            fmt::format("{} ranks would reach GPU {}, and the cluster has {} (0 to {})", plan.world(), last, gpus, gpus - 1));
        return;
      }
      for (int rank = 0; rank < plan.world(); ++rank) {
        plan.rank_map.push_back(static_cast<std::int32_t>(first.value_or(0) + rank * stride));
      }
    }
  }
  const bool inside = std::ranges::all_of(plan.rank_map, [&](std::int32_t gpu) { return gpu < gpus; });
  if (!inside) return;  // the plan's own check has said so
  if (const std::string problem = take(holders, plan.rank_map, job.name); !problem.empty()) {
    item.error(item.has("first_gpu") ? "first_gpu" : "parallelism", problem);
  }
}

}  // namespace

std::vector<TrainingJob> read_training_jobs(ParamReader& workload, std::size_t endpoints) {
  std::vector<TrainingJob> jobs;
  Holders holders(endpoints);
  for (ParamReader& item : workload.maps("training_jobs")) {
    TrainingJob job;
    job.name = item.optional<std::string>("name", fmt::format("job{}", jobs.size()));
    if (std::ranges::any_of(jobs, [&](const TrainingJob& other) { return other.name == job.name; })) {
      item.error("name", fmt::format("two jobs are called '{}'", job.name));
    }
    job.start = Time{} + item.optional<Duration>("start", Duration{});
    job.iterations = static_cast<int>(item.optional<std::int64_t>("iterations", 2, between(std::int64_t{1}, kMaxIterations)));
    const std::size_t errors = item.diagnostics().errors().size();
    job.setup = read_training(item, endpoints);
    job.jitter = read_jitter(item);
    if (item.diagnostics().errors().size() == errors) place(item, job, holders);
    item.finish();
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace weft::work
