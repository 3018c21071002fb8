#include "sim/scenario/program_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/scenario/link_use.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/replay/group_costs.h"

namespace weft::scenario {
namespace {

struct ReplayProgress {
  RunObserver* observer;
  std::vector<std::unique_ptr<work::Replayer>>* replayers;
};

void replay_progress_hook(void* context, const Simulator& simulator) {
  const ReplayProgress& progress = *static_cast<const ReplayProgress*>(context);
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  for (const auto& replayer : *progress.replayers) {
    done += replayer->operations_done();
    total += replayer->operations_total();
  }
  progress.observer->on_progress(simulator, done, total);
}

// `gpus`: that keep step with the one of them that needs most power.
work::StepPower step_power(const net::Cluster& cluster, std::size_t gpus) {
  const work::GpuSpec* gpu = cluster.topology.gpu(cluster.topology.endpoints().front());
  const Profile& profile = cluster.profile;
  work::StepPower power{.gpu = {.costs = profile.get(work::power_costs), .limit = 0},
                        .gemm_share = profile.get(work::gemm_costs).efficiency,
                        .attention_share = profile.get(work::attention_costs).forward_efficiency};
  if (gpu == nullptr) return power;
  power.gpu = work::gpu_power(*gpu, profile);
  power.gpu.costs.tensor *= work::most_of(profile.get(work::power_spread), gpus);
  power.hbm_bytes_per_second = gpu->hbm_bytes_per_second;
  return power;
}

work::GroupCosts group_costs(const net::Cluster& cluster, const ProgramRunOptions& options) {
  work::GroupRunSettings settings{.grain = options.simulation.grain, .nccl = options.nccl};
  if (options.slowdown) settings.slowdown = *options.slowdown;
  return work::GroupCosts{cluster.topology, cluster.routing,     options.simulation.seed,
                          cluster.profile,  std::move(settings), options.group_runs};
}

work::ReplayOptions replay_options(const net::Cluster& cluster, const work::Program& program,
                                   const ProgramRunOptions& options) {
  if (options.simulation.has_packets()) {
    throw ConfigError("training steps and traces run at flow fidelity in this version: --fidelity flow");
  }
  work::ReplayOptions replay;
  replay.iterations = options.iterations;
  // Ties that are shuffled fall differently in each iteration.
  replay.skip = options.simulation.skip && options.simulation.shuffle_ties == 0;
  replay.seed = options.simulation.seed;
  replay.jitter = options.jitter;
  replay.contention = cluster.profile.get(work::contention_costs);
  replay.sm_memory_rate = sm_memory_rate(cluster.topology, cluster.profile);
  if (!options.gemms_drain) replay.contention.gemm_drain = {};
  replay.storage = options.storage;
  replay.links_idle = options.links_idle;
  if (options.slowdown) {
    replay.clocks.assign(program.ranks.size(), {.all = *options.slowdown, .mean = *options.slowdown});
  }
  return replay;
}

// A machine and what runs on it. `hosts`: the routes of its hosts, where somebody has them already.
class ReplayRun {
 public:
  ReplayRun(const net::Cluster& cluster, const SimulationOptions& simulation, RunObserver* observer,
            std::shared_ptr<const net::HostRoutes> hosts)
      : machine_{cluster.topology, cluster.routing, simulation.seed, simulation.shuffle_ties, {}, std::move(hosts)},
        launch_{cluster.profile.get(net::launch_timings)},
        threads_{simulation.threads},
        observer_{observer} {}

  void add(const work::Program& program, work::GroupCosts& costs, const work::ReplayOptions& options,
           work::ReplayObserver* operations = nullptr) {
    calls_of_.emplace_back(&program, &costs);
    replayers_.push_back(std::make_unique<work::Replayer>(machine_, program, costs, launch_, options, operations));
  }

  // Those of the first program, once it was run.
  [[nodiscard]] std::vector<work::RankClocks> clocks_under(const work::StepPower& power) const {
    return replayers_.front()->clocks_under(power);
  }
  // By replayer, with the counters of the machine.
  std::vector<ProgramRunResult> run() {
    ReplayProgress progress{observer_, &replayers_};
    if (observer_ != nullptr) {
      machine_.simulator.set_progress_hook(replay_progress_hook, &progress, 100'000);
      observer_->on_begin(machine_.simulator);
    }
    for (const auto& [program, costs] : calls_of_) run_ahead(*program, *costs);
    for (const auto& replayer : replayers_) replayer->start();
    machine_.simulator.run();
    if (observer_ != nullptr) observer_->on_end();
    const bool interrupted = machine_.simulator.stopped();
    if (!interrupted) {
      for (const auto& replayer : replayers_) replayer->check_finished();
      machine_.fabric.check_conservation();
    }
    ProgramRunResult of_all;
    of_all.interrupted = interrupted;
    of_all.makespan = machine_.simulator.now() - Time{};
    for (const auto& replayer : replayers_) of_all.makespan += replayer->skipped_time();
    of_all.hottest = hottest_links(machine_, of_all.makespan);
    std::vector<ProgramRunResult> results(replayers_.size(), of_all);
    Digest digest;
    for (std::size_t i = 0; i < replayers_.size(); ++i) {
      results[i].replay = replayers_[i]->result();
      digest.add(results[i].replay.digest);
    }
    const RunStats stats = run_stats(machine_, digest);
    for (ProgramRunResult& result : results) static_cast<RunStats&>(result) = stats;
    return results;
  }

 private:
  void run_ahead(const work::Program& program, work::GroupCosts& costs) {
    work::RunAhead on{.threads = threads_, .until = &machine_.simulator, .done = {}};
    if (observer_ != nullptr) on.done = [this](std::size_t done, std::size_t of) { observer_->on_ahead(done, of); };
    costs.run_ahead(program, on);
  }

  net::Machine machine_;
  net::LaunchTimings launch_;
  int threads_;
  RunObserver* observer_;
  std::vector<std::pair<const work::Program*, work::GroupCosts*>> calls_of_;
  std::vector<std::unique_ptr<work::Replayer>> replayers_;
};

}  // namespace

ProgramRunResult run_program(const net::Cluster& cluster, const work::Program& program, const ProgramRunOptions& options,
                             RunObserver* observer, work::ReplayObserver* operations) {
  work::ReplayOptions replay = replay_options(cluster, program, options);
  work::GroupCosts costs = group_costs(cluster, options);
  std::uint64_t events = 0;
  if (options.sustained_clocks && !options.slowdown) {
    replay.iterations = 1;
    ReplayRun at_full_clock{cluster, options.simulation, observer, costs.machine().router.host_routes()};
    at_full_clock.add(program, costs, replay);
    ProgramRunResult result = std::move(at_full_clock.run().front());
    if (result.interrupted) return result;
    events = result.events;
    replay.clocks = at_full_clock.clocks_under(step_power(cluster, options.gpus_alike ? 1 : program.ranks.size()));
    for (work::RankClocks& clocks : replay.clocks) clocks.stretches_kernels = !options.recorded;
    replay.iterations = options.iterations;
  }
  ReplayRun last{cluster, options.simulation, observer, costs.machine().router.host_routes()};
  last.add(program, costs, replay, operations);
  ProgramRunResult result = std::move(last.run().front());
  result.events += events;
  result.clocks = std::move(replay.clocks);
  return result;
}

std::vector<ProgramRunResult> run_programs(const net::Cluster& cluster, const std::vector<ProgramJob>& jobs,
                                           RunObserver* observer) {
  WEFT_CHECK(!jobs.empty());
  work::GroupCosts costs = group_costs(cluster, jobs.front().options);
  ReplayRun together{cluster, jobs.front().options.simulation, observer, costs.machine().router.host_routes()};
  for (const ProgramJob& job : jobs) {
    work::ReplayOptions replay = replay_options(cluster, *job.program, job.options);
    replay.start = job.start;
    replay.skip = false;  // others' state is not looked at
    replay.clocks = job.clocks;
    together.add(*job.program, costs, replay);
  }
  return together.run();
}

}  // namespace weft::scenario
