// A sweep of one collective over message sizes on one machine, as an nccl-tests program does: which GPUs take part, which
// sizes, and the run itself.
//
//   const std::vector<Bytes> sizes = sweep_sizes({.min = 8_B, .max = 4_GiB, .factor = 2});
//   const Participants who = participants(cluster.topology, {.nodes = 2, .gpus_per_thread = 8});
//   const SweepResult result = run_sweep(sweep, nullptr, [](const coll::CollectiveResult& point) { print(point); });
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/runner.h"
#include "sim/core/units.h"
#include "sim/network/cluster.h"
#include "sim/network/fidelity.h"
#include "sim/scenario/run_scenario.h"
#include "sim/scenario/run_stats.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {

// nccl-tests' data types: "float", "half", "bfloat16", "int8", ...
struct DataType {
  std::string_view name;
  std::int64_t bytes = 4;
  coll::Numbers numbers = coll::Numbers::kFloat;
};
[[nodiscard]] DataType data_type(std::string_view name);  // ConfigError with the choices
// Returns the name that a table gives to elements of this many bytes: the floating-point type of that size, if one exists.
[[nodiscard]] std::string_view type_name_of(std::int64_t element_bytes);

// nccl-tests' column: the reduction of what reduces, and of sendrecv, whose test passes one too; otherwise "none".
[[nodiscard]] std::string_view redop_of(const coll::CollectiveCall& call);
[[nodiscard]] coll::Reduction reduction_named(std::string_view name);  // ConfigError with the choices
[[nodiscard]] bool has_root(coll::Collective kind);
// The kind that nccl-tests, NCCL or a person calls "all_reduce", "all_reduce_perf" or "AllReduce". ConfigError with the
// choices.
[[nodiscard]] coll::Collective collective_named(std::string_view name);

// nccl-tests' name of what NCCL, the test program or a person calls "AllReduce", "all_reduce_perf" or "all_reduce"; empty if
// none.
std::string nccl_tests_collective_name(std::string_view name);

struct SizeRange {
  Bytes min = {};
  Bytes max = {};
  std::int64_t factor = 2;  // from one size to the next
  Bytes step = {};          // 0: sizes grow by the factor, else by this
};
inline constexpr std::int64_t kMaxSizes = 1'000'000;
[[nodiscard]] std::vector<Bytes> sweep_sizes(const SizeRange& range);  // ConfigError for one without a size, or with too many

struct ParticipantOptions {
  std::optional<int> nodes = {};            // absent: all, or 1 where a process is described
  std::optional<int> threads = {};          // of a process (nccl-tests -t)
  std::optional<int> gpus_per_thread = {};  // (nccl-tests -g)
};

// Who takes part. Without threads and GPUs per thread: every GPU of the nodes, one process each. With them: one process on each
// node that drives its first threads x GPUs, as `mpirun --map-by node` starts nccl-tests.
struct Participants {
  std::vector<DeviceId> devices;  // rank r is devices[r]
  int nodes = 0;
  int processes = 0;
  int threads = 1;          // per process
  int gpus_per_thread = 1;  // launches that one host thread makes per call
};
[[nodiscard]] Participants participants(const net::Topology& topology, const ParticipantOptions& options);

struct CollectiveSweep {
  const net::Cluster& cluster;
  coll::CollectiveCall call;  // bytes are the sweep's
  std::vector<Bytes> sizes;
  Participants participants;
  coll::RunOptions options = {};
  std::uint64_t seed = 1;
  std::uint64_t shuffle_ties = 0;
  net::Fidelity fidelity = net::Fidelity::kFlow;  // hybrid: packets between hosts; all with the cluster's settings
};

struct SweepResult : RunStats {
  std::vector<coll::CollectiveResult> points;  // one per size, fewer after an interrupt
  std::optional<net::HybridTotals> hybrid;     // what was packets, at hybrid fidelity
  Duration simulated;
  double wall_seconds = 0;
  bool interrupted = false;
  std::vector<std::string> notes;  // of all points, each once

  // Mean over the points, as nccl-tests prints it last; 0 without points.
  [[nodiscard]] double mean_bus_bandwidth_gbps() const;
};

// `on_point` is called after each size, in order.
[[nodiscard]] SweepResult run_sweep(const CollectiveSweep& sweep, RunObserver* observer,
                                    const std::function<void(const coll::CollectiveResult&)>& on_point);

}  // namespace weft::scenario
