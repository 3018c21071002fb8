// Runs a scenario and gathers what a person and a program want of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/collectives/runner.h"
#include "sim/planning/scenario.h"
#include "sim/workloads/flow_run.h"

namespace weft::plan {

struct LinkUse {
  std::string name;
  double bytes = 0;
  double utilization = 0;  // bytes over what its capacity carries in the run's time
  Duration busy;
};

struct RunResult {
  std::vector<coll::CollectiveResult> collectives;  // one per item, the time of one call
  std::vector<std::int64_t> counts;
  std::vector<work::FlowResult> flows;
  std::vector<LinkUse> hottest;  // busiest links first, at most ten
  Duration makespan;
  std::uint64_t digest = 0;
  std::uint64_t events = 0;
  std::uint64_t transfers = 0;
  std::uint64_t solves = 0;
  std::uint64_t peak_live = 0;
  double wall_seconds = 0;  // of the simulation
  bool interrupted = false;
  std::vector<std::string> notes;
};

class RunObserver {
 public:
  // Called about every 100,000 events; `done` of `total` items are finished (flows, or collectives).
  virtual void on_progress(const Simulator& simulator, std::uint64_t done, std::uint64_t total) = 0;
  // Before the run, so that a signal handler can stop it.
  virtual void on_begin(Simulator& simulator) = 0;
  virtual void on_end() = 0;

 protected:
  ~RunObserver() = default;
};

[[nodiscard]] RunResult run_scenario(const Scenario& scenario, RunObserver* observer = nullptr);

// Highest resident memory of this process so far.
[[nodiscard]] std::uint64_t peak_memory_bytes();

}  // namespace weft::plan
