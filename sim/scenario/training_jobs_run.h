// Several training jobs on one cluster: each by itself, then all together, and what the company costs each.
//
// Model: a job's clocks are those it has alone; waiting for others' traffic would let them rise.
// Model: every rank of every job is simulated, since jobs side by side break the symmetry that folding needs.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/scenario/training_run.h"

namespace weft::scenario {

struct TrainingJobResult {
  std::string name;
  Time start;
  Time end;
  TrainingResult together;  // figures of its last iteration beside the others
  Duration mean_alone;      // of its iterations
  Duration mean_together;
  [[nodiscard]] double slowdown() const { return mean_together.seconds() / mean_alone.seconds(); }
};

struct TrainingJobsResult {
  std::vector<TrainingJobResult> jobs;  // as listed
  ProgramRunResult run;                 // of all together; `replay` is empty
};

// ConfigError where a job's rank does not fit its GPU (check_memory).
[[nodiscard]] TrainingJobsResult run_training_jobs(const Scenario& scenario, RunObserver* observer = nullptr);

}  // namespace weft::scenario
