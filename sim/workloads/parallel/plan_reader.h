// Reads `parallelism:`, `batch:` and `precision:` of a workload, and checks them against the model: heads, layers, batch and
// ranks must divide.
//
//   parallelism: {tensor: 8, pipeline: 16, data: 128, schedule: interleaved, virtual_stages: 2, sequence_parallel: true}
//   batch: {global: 2048, micro: 1, sequence: 8192}
//   precision: {compute: fp8, gradients: fp32}
#pragma once

#include "sim/core/config/params.h"
#include "sim/workloads/model/transformer.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::work {

[[nodiscard]] ParallelPlan read_plan(ParamReader& parallelism);
[[nodiscard]] Batch read_batch(ParamReader& batch);
[[nodiscard]] PrecisionPlan read_precision(ParamReader& precision);

// Adds an error for every rule the three break together, at the key that breaks it. `ranks`: endpoints there are; 0: not known.
void check_plan(const ConfigNode& workload, const TransformerModel& model, const ParallelPlan& plan, const Batch& batch,
                std::size_t ranks, Diagnostics& diagnostics);

}  // namespace weft::work
