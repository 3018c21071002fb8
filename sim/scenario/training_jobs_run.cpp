#include "sim/scenario/training_jobs_run.h"

#include <algorithm>
#include <utility>

#include "sim/scenario/cluster_gpu.h"
#include "sim/scenario/recompute_as_needed.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/replay/places.h"

namespace weft::scenario {
namespace {

ProgramRunOptions options_of(const Scenario& scenario, const work::TrainingJob& job) {
  ProgramRunOptions options;
  options.simulation = scenario.simulation;
  options.iterations = job.iterations;
  options.jitter = job.jitter;
  options.storage = job.setup.storage;
  options.nccl = scenario.nccl;
  return options;
}

Duration mean_of(const std::vector<Duration>& iterations) {
  Duration sum;
  for (const Duration iteration : iterations) sum += iteration;
  return Duration::from_ps(sum.ps() / std::max<std::int64_t>(1, static_cast<std::int64_t>(iterations.size())));
}

}  // namespace

TrainingJobsResult run_training_jobs(const Scenario& scenario, RunObserver* observer) {
  const net::Cluster& cluster = scenario.cluster;
  const work::KernelTimes times{cluster_gpu(cluster.topology, "a training step"), cluster.profile};
  const std::vector<work::TrainingJob>& jobs = scenario.workload.training_jobs;

  TrainingJobsResult result;
  std::vector<work::TrainingSetup> setups;
  std::vector<work::Program> programs;
  std::vector<ProgramJob> shared;
  programs.reserve(jobs.size());
  for (const work::TrainingJob& job : jobs) {
    setups.push_back(with_needed_recomputation(scenario, job.setup));
    programs.push_back(work::training_program(setups.back(), times, cluster.topology, false));
    work::unfold(programs.back());
    const ProgramRunOptions options = options_of(scenario, job);
    ProgramRunResult alone = run_program(cluster, programs.back(), options, observer);
    result.run.events += alone.events;
    if (alone.interrupted) {
      result.run.interrupted = true;
      return result;
    }
    TrainingJobResult& made = result.jobs.emplace_back();
    made.name = job.name;
    made.start = job.start;
    made.mean_alone = mean_of(alone.replay.iterations);
    shared.push_back({&programs.back(), options, job.start, std::move(alone.clocks)});
  }
  std::vector<ProgramRunResult> together = run_programs(cluster, shared, observer);
  const std::uint64_t events = result.run.events;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    TrainingJobResult& job = result.jobs[i];
    if (i == 0) {
      result.run = together.front();
      result.run.replay = {};
      result.run.events += events;
    }
    together[i].clocks = std::move(shared[i].clocks);
    job.together = training_figures(setups[i], cluster, programs[i], std::move(together[i]));
    if (jobs[i].setup.plan.recompute_as_needed) job.together.recomputed_layers = setups[i].plan.recompute_layers;
    check_memory(scenario, jobs[i].setup, job.together);
    const work::ReplayResult& replay = job.together.run.replay;
    job.mean_together = mean_of(replay.iterations);
    for (const work::RankResult& rank : replay.ranks) {
      if (!rank.iteration_ends.empty()) job.end = std::max(job.end, rank.iteration_ends.back());
    }
  }
  return result;
}

}  // namespace weft::scenario
