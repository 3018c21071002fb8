// Several training jobs side by side on one cluster, as `training_jobs:` of a workload lists them.
//
//   workload:
//     training_jobs:
//       - {name: a, model: llama3_8b, parallelism: {data: 16}, batch: {global: 64, micro: 1, sequence: 4096}}
//       - {name: b, start: 200 ms, iterations: 4, first_gpu: 1, gpu_stride: 2, model: ..., ...}   # every other GPU
//
// A job is a training step (training_reader.h) with a start, a number of iterations and a place: the GPUs from `first_gpu` on,
// `gpu_stride` apart, or those of its `rank_map`. Without one it takes the first GPUs that the jobs above it leave.
#pragma once

#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/units.h"
#include "sim/workloads/replay/replay_options.h"
#include "sim/workloads/training/training.h"

namespace weft::work {

struct TrainingJob {
  std::string name;
  Time start;
  int iterations = 2;
  TrainingSetup setup;  // plan.rank_map says where its ranks are
  JitterModel jitter = {};
};

// `endpoints`: GPUs there are. Errors, jobs that meet on a GPU among them, go to the reader's diagnostics.
[[nodiscard]] std::vector<TrainingJob> read_training_jobs(ParamReader& workload, std::size_t endpoints);

}  // namespace weft::work
