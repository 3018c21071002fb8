// A scenario runs a workload: a list of collectives, flows and periodic jobs, or a training step, as YAML gives them.
//
//   workload: {collectives: [{kind: all_reduce, bytes: 1 GiB, ranks: all, count: 1}]}
//   workload: {flows: [{from: h0, to: h3, bytes: 10 MB, start: 0 us, rate_cap: 5 Gb/s, priority: 3}]}
//   workload: {flows_file: perm128.txt}     # flow_file.h
//   workload: {jobs: [{from: h0, to: h1, bytes: 1.25 GB, compute: 100 ms, iterations: 10}]}
//   workload: {background: {sizes: websearch, load: 30 %, until: 10 ms}, incast: {senders: 60, bytes: 500 kB, every: 1 ms}}
//
//   workload: {model: ../models/llama3_8b.yaml, parallelism: {data: 32}, batch: {global: 128, micro: 1, sequence: 8192}}
//   workload: {training_jobs: [{name: a, model: llama3_8b, parallelism: {data: 16}, batch: ...}]}   # training_jobs.h
//   workload: {inference: {model: llama3_70b, parallelism: {tensor: 8}, requests: {rate: 4 /s}}}   # inference_reader.h
//
// Collectives run one after another on one communicator; flows and jobs start at their time, side by side; a training step
// (training/training_reader.h) is alone, and so are training jobs and inference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/network/flow_transport.h"
#include "sim/network/routing/named_way.h"
#include "sim/network/topology.h"
#include "sim/workloads/flow_triggers.h"
#include "sim/workloads/inference/inference.h"
#include "sim/workloads/replay/replay_options.h"
#include "sim/workloads/training/training.h"
#include "sim/workloads/training/training_jobs.h"

namespace weft::work {

struct CollectiveItem {
  coll::CollectiveCall call;
  std::vector<DeviceId> devices;  // rank r is devices[r]
  std::int64_t count = 1;         // times in a row
  std::string algorithm;          // empty: chosen
  int channels = 0;               // 0: chosen
};

struct FlowItem {
  DeviceId from;
  DeviceId to;
  Bytes bytes;  // of one message
  Time start;
  Bandwidth rate_cap;  // 0: none
  int priority = 0;
  std::uint32_t options = 0;  // index into Workload::options; 0: none
};

// Options of a flow that does more than send one message at its start over the fabric's own transport. All its messages go over
// one queue pair.
struct FlowOptions {
  bool unlimited = false;     // one message that never ends: a greedy source
  Time stop = Time::max();    // posts nothing from then on, and cuts an unlimited message short
  std::int64_t messages = 1;  // posted at most; max(): as many as there is time for
  Duration every;             // between messages; 0: by `load` or `rate`
  // Poisson arrivals: messages a second from the share of the narrowest link on the way, or from a rate. Both of wire bytes.
  double load = 0;
  Bandwidth rate;
  std::uint64_t seed = 0;  // 0: the scenario's
  // RDMA READ: `from` asks with a packet of so many bytes, and `to` sends the data; at most so many requests are unanswered.
  bool read = false;
  Bytes request{16};
  std::int64_t reads = 16;
  net::FlowTransport transport;
  bool has_transport = false;
  net::NamedWay way;  // that the flow takes in place of the policy's

  [[nodiscard]] bool is_poisson() const { return load > 0 || rate > Bandwidth{}; }
  [[nodiscard]] bool is_endless() const;
};

struct JobTransfer {
  DeviceId from;
  DeviceId to;
  Bytes bytes;
};

// A training job reduced to its rhythm: every iteration computes, then moves its transfers all at once; the next one begins
// when the last of them is delivered.
struct JobItem {
  std::string name;
  std::vector<JobTransfer> transfers;
  Duration compute;
  std::int64_t iterations = 1;
  Time start;
  int priority = 0;
  Bandwidth rate_cap;
  net::FlowTransport transport;
  bool has_transport = false;
};

struct Workload {
  std::vector<CollectiveItem> collectives;
  std::vector<FlowItem> flows;
  std::vector<FlowOptions> options = {FlowOptions{}};
  FlowChains chains;
  std::vector<JobItem> jobs;
  std::optional<TrainingSetup> training;
  std::vector<TrainingJob> training_jobs;
  std::optional<InferenceSetup> inference;
  JitterModel jitter;  // of training steps

  [[nodiscard]] const FlowOptions& options_of(const FlowItem& flow) const { return options[flow.options]; }
  [[nodiscard]] bool has_endless_flow() const;
};

// The context that the map is read against.
struct WorkloadContext {
  const net::Topology& topology;
  const net::PacketSettings* packet = nullptr;  // null: at flow fidelity
  std::uint64_t seed = 1;                       // of generated flows
};

// `node` is the map under `workload`. Errors go to `diagnostics`.
[[nodiscard]] Workload read_workload(const ConfigNode& node, const WorkloadContext& context, Diagnostics& diagnostics);

// The endpoints that "all", a number, or a list of names or indices stands for; empty after an error.
[[nodiscard]] std::vector<DeviceId> read_ranks(const ConfigNode& node, const net::Topology& topology, Diagnostics& diagnostics);

// Messages of a flow that are posted faster than its sender's links take them, when the last one is posted. `until`: the end of
// the run.
[[nodiscard]] double message_backlog(const FlowItem& flow, const FlowOptions& options, const net::Topology& topology,
                                     std::optional<Time> until);

// Stands for "unlimited": more than any link sends in the seconds that a run covers, and days below the range of time.
inline constexpr Bytes kUnlimited{std::int64_t{1} << 47};

// Numbers of flows, and of messages that wait in one.
inline constexpr std::int64_t kMaxFlows = 50'000'000;

}  // namespace weft::work
