// Runs a program on a cluster: generated training steps and replayed traces alike.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/nccl/settings.h"
#include "sim/network/cluster.h"
#include "sim/scenario/link_use.h"
#include "sim/scenario/run_observer.h"
#include "sim/scenario/run_stats.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/program.h"
#include "sim/workloads/replay/group_runs.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::scenario {

struct ProgramRunOptions {
  SimulationOptions simulation = {};
  int iterations = 2;
  work::JitterModel jitter = {};
  work::Storage storage = {};
  coll::nccl::Settings nccl = {};
  // Runs that other programs with the same cluster, settings and seed share; null: its own.
  std::shared_ptr<work::GroupRuns> group_runs = {};
  // Runs at full clock first, and then at the clocks that the load of that run allows (clock.h).
  bool sustained_clocks = true;
  bool gpus_alike = false;  // none needs more power for the same work than the others (gpu.binning)
  // Full clock over the one that all GPUs run at, where that is known: in place of what the load allows.
  std::optional<double> slowdown = {};
  // Kernels' times hold what the clocks did: only collectives are run at those.
  bool recorded = false;
  // Collectives begin in the last of a GEMM (gpu.contention.gemm_drain). Not of recorded GEMMs.
  bool gemms_drain = true;
  std::vector<Duration> links_idle = {};  // work::ReplayOptions::links_idle
};

struct ProgramRunResult : RunStats {
  work::ReplayResult replay;
  std::vector<LinkUse> hottest;
  std::vector<work::RankClocks> clocks;  // by leader; empty: full clock
  Duration makespan;
  bool interrupted = false;
  std::vector<std::string> notes;
};

// The observers hear of the last run only. ConfigError where the program deadlocks.
[[nodiscard]] ProgramRunResult run_program(const net::Cluster& cluster, const work::Program& program,
                                           const ProgramRunOptions& options, RunObserver* observer = nullptr,
                                           work::ReplayObserver* operations = nullptr);

// One of several programs that share a cluster. No rank has a leader but itself.
struct ProgramJob {
  const work::Program* program = nullptr;
  ProgramRunOptions options = {};
  Time start = {};
  std::vector<work::RankClocks> clocks = {};  // by rank; empty: full clock
};

// Simulation and NCCL settings are those of the first job. By job; what is not the replay's is of all jobs together, and the
// same in each.
[[nodiscard]] std::vector<ProgramRunResult> run_programs(const net::Cluster& cluster, const std::vector<ProgramJob>& jobs,
                                                         RunObserver* observer = nullptr);

}  // namespace weft::scenario
