#include "sim/planning/program_run.h"

#include <algorithm>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/planning/link_use.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/replay/group_costs.h"

namespace weft::plan {
namespace {

struct Progress {
  RunObserver* observer;
  const work::Replayer* replayer;
};

void progress_hook(void* context, const Simulator& simulator) {
  const Progress& progress = *static_cast<const Progress*>(context);
  progress.observer->on_progress(simulator, progress.replayer->operations_done(), progress.replayer->operations_total());
}

// Clocks by leader, from what each did in the one iteration at full clock.
std::vector<work::ClockSlowdown> clocks_of(const work::ClockRule& rule, const work::ReplayResult& result) {
  std::vector<work::ClockSlowdown> clocks;
  for (const work::RankResult& rank : result.ranks) {
    const double step = std::max(1.0, static_cast<double>(rank.iteration_ends.back().ps()));
    clocks.push_back(work::clock_slowdown(rule, {.compute_share = static_cast<double>(rank.last.tensor.ps()) / step,
                                                 .overlap_share = static_cast<double>(rank.last.tensor_beside.ps()) / step}));
  }
  return clocks;
}

}  // namespace

ProgramRunResult run_program(const net::Cluster& cluster, const work::Program& program, const ProgramRunOptions& options,
                             RunObserver* observer, work::ReplayObserver* operations) {
  if (options.simulation.is_packet()) {
    throw ConfigError("training steps and traces run at flow fidelity in this version: --fidelity flow");
  }
  const work::ContentionCosts contention = cluster.profile.get(work::contention_costs);
  work::GroupCosts costs{
      cluster.topology,
      cluster.routing,
      options.simulation.seed,
      cluster.profile,
      {.grain = options.simulation.grain, .nccl = options.nccl, .nvlink_overhead = contention.collective_links}};
  work::ReplayOptions replay;
  replay.seed = options.simulation.seed;
  replay.jitter = options.jitter;
  replay.contention = contention;
  replay.storage = options.storage;
  const net::LaunchTimings launch = cluster.profile.get(net::launch_timings);

  ProgramRunResult result;
  for (int pass = options.sustained_clocks ? 0 : 1; pass < 2; ++pass) {
    const bool is_last = pass == 1;
    replay.iterations = is_last ? options.iterations : 1;
    coll::Machine machine{cluster.topology, cluster.routing, options.simulation.seed, options.simulation.shuffle_ties};
    work::Replayer replayer{machine, program, costs, launch, replay, is_last ? operations : nullptr};
    Progress progress{observer, &replayer};
    if (observer != nullptr) {
      machine.simulator.set_progress_hook(progress_hook, &progress, 100'000);
      observer->on_begin(machine.simulator);
    }
    replayer.start();
    machine.simulator.run();
    if (observer != nullptr) observer->on_end();
    result.interrupted = machine.simulator.stopped();
    if (!result.interrupted) {
      replayer.check_finished();
      machine.fabric.check_conservation();
    }
    result.replay = replayer.result();
    result.events += machine.simulator.events();
    if (!is_last && !result.interrupted) {
      replay.clocks = clocks_of(cluster.profile.get(work::clock_rule), result.replay);
      for (const work::ClockSlowdown& clock : replay.clocks) result.clock_slowdown.push_back(clock.compute);
      continue;
    }
    result.makespan = machine.simulator.now() - Time{};
    result.hottest = hottest_links(machine, result.makespan);
    result.transfers = machine.fabric.totals().posted;
    result.solves = machine.fabric.totals().solves;
    result.peak_live = machine.fabric.totals().peak_live;
    Digest digest;
    digest.add(result.replay.digest);
    add_link_bytes(digest, machine);
    result.digest = digest.value();
    break;
  }
  return result;
}

}  // namespace weft::plan
