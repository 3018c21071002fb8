// Reads `parallelism:`, `batch:` and `precision:` of a workload, and checks them against the model: heads, layers, batch and
// ranks must divide.
//
//   parallelism: {tensor: 8, pipeline: 16, data: 128, schedule: interleaved_1f1b, virtual_stages: 2, sequence_parallel: true}
//   batch: {global: 2048, micro: 1, sequence: 8192}
//   precision: {compute: fp8, gradients: fp32}
#pragma once

#include "sim/core/config/params.h"
#include "sim/workloads/model/transformer.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::work {

// Each reads all keys of its section and finishes it.
//
// `zero` and `data_parallelism` say one thing in two ways: each follows from the other, and a contradiction is an error. The
// schedule is 1f1b, or interleaved_1f1b where there are virtual stages, unless named.
[[nodiscard]] ParallelPlan read_plan(ParamReader& parallelism);
[[nodiscard]] Batch read_batch(ParamReader& batch);
[[nodiscard]] PrecisionPlan read_precision(ParamReader& precision);
// Reads the precision of what is kept in memory: any but tf32, which is a way to compute.
[[nodiscard]] Precision read_stored_precision(ParamReader& reader, std::string_view key, Precision default_value);

// Adds an error for every rule that model, plan and batch break together, at the key of `workload`'s sections that breaks it,
// and a warning where key/value heads are replicated. For sections that were read without errors. `ranks`: endpoints there are;
// 0: not known.
void check_plan(const ConfigNode& workload, const TransformerModel& model, const ParallelPlan& plan, const Batch& batch,
                std::size_t ranks, Diagnostics& diagnostics);

}  // namespace weft::work
