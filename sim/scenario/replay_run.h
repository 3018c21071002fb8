// Replays a trace on a cluster, and says how what came out compares with what was recorded.
//
// Model: kernels on another GPU take longer or shorter by what a large kernel of their class (GEMM, attention, memory-bound,
// optimizer) takes there and here, by both GPUs' tables.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/scenario/memory_plan.h"
#include "sim/scenario/program_run.h"
#include "sim/workloads/trace/trace.h"
#include "sim/workloads/trace/trace_summary.h"

namespace weft::scenario {

struct ReplayRunOptions {
  SimulationOptions simulation = {};  // iterations too
  coll::nccl::Settings nccl = {};
  std::vector<int> map = {};  // GPU of each rank, in the cluster's order; empty: rank r on GPU r
  double scale_compute = 1;
  double scale_host = 1;  // of the host's own time between launches
  std::string gpu = {};   // kernels as on this one; empty: as recorded
  int replicas = 1;
  std::vector<std::string> across = {};      // groups that reach over replicas
  bool keep_start_skew = false;              // ranks begin as late after each other as recorded
  std::optional<std::uint64_t> memory = {};  // bytes that it may hold; none: what the machine has left
};

// A figure recorded and predicted, the median over ranks.
struct ReplayFigure {
  std::string name;  // "gemm", ..., "nccl", "exposed_nccl"
  Duration traced;
  Duration predicted;
  [[nodiscard]] double error() const { return traced > Duration{} ? predicted.seconds() / traced.seconds() - 1 : 0; }
};

// Calls of one kind, size and number of ranks: the median time of moving data.
struct ReplayCalls {
  std::string kind;
  std::int64_t bytes = 0;
  std::size_t ranks = 0;
  std::uint64_t count = 0;
  Duration traced;
  Duration predicted;
};

struct ReplayRunResult {
  ProgramRunResult run;
  MemoryPlan memory;
  work::TraceSummary traced;
  std::optional<Duration> traced_step;
  std::optional<Duration> host_held;  // of the traced step: work::Trace
  Duration iteration;                 // the last one
  std::vector<ReplayFigure> figures;
  std::vector<ReplayCalls> calls;
  std::array<Duration, work::kCategories> critical{};  // time on the critical path of the last iteration
  bool host_bound = false;                             // the host has the largest part of it
  Duration contention_removed;                         // from recorded kernels, of all ranks
  std::size_t ranks = 0;
  std::size_t simulated = 0;
  std::vector<std::string> notes;
};

// `trace` is changed as the options say. ConfigError for a map that fits neither trace nor cluster, and so on.
[[nodiscard]] ReplayRunResult run_replay(const net::Cluster& cluster, work::Trace& trace, const ReplayRunOptions& options,
                                         RunObserver* observer = nullptr, work::ReplayObserver* operations = nullptr);

}  // namespace weft::scenario
