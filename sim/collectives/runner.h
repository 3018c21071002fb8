// Runs collectives on a machine and times them as nccl-tests does: the loop of back-to-back calls, not one call by itself.
//
//   Machine machine{topology, "adaptive", seed};
//   CollectiveRunner runner{machine, profile, ranks};
//   const CollectiveResult result = runner.run({.kind = Collective::kAllReduce, .bytes = 1_GiB}, {});
//
// Time of a call = max(launches per thread x host cost of one launch, time on the device) (nccl-calibration-notes, advice 1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/costs.h"
#include "sim/collectives/executor.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/core/digest.h"
#include "sim/core/profile.h"
#include "sim/core/simulator.h"
#include "sim/network/device.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/router.h"

namespace weft::coll {

// A topology brought to life: clock, routes and fabric. The topology must outlive it.
struct Machine {
  Machine(const net::Topology& topology, std::string_view routing, std::uint64_t seed, std::uint64_t shuffle_ties = 0);

  const net::Topology& topology;
  Simulator simulator;
  net::Router router;
  net::FlowFabric fabric;
};

// What the user may say about how a call runs.
struct RunOptions {
  std::string algorithm;  // empty: chosen
  int channels = 0;       // 0: chosen
  Grain grain = Grain::kAuto;
  int launches_per_thread = 1;  // GPUs that one host thread drives (nccl-tests -g)
  nccl::Settings settings;
};

struct CollectiveResult {
  CollectiveCall call;
  CallSizes sizes;
  Choice choice;
  Grain grain = Grain::kChunk;  // that was used
  int ranks = 0;
  int nodes = 0;
  Duration time;    // of one call in the loop
  Duration device;  // of it on the device
  Duration launch;  // floor that launching sets
  std::uint64_t messages = 0;
  std::uint64_t digest = 0;
  std::vector<std::string> notes;

  [[nodiscard]] double algorithm_bandwidth_gbps() const;  // GB/s, as nccl-tests defines it
  [[nodiscard]] double bus_bandwidth_gbps() const;
};

// One communicator over `devices` of the machine. Calls run one after another.
class CollectiveRunner final : private ExecutorListener {
 public:
  CollectiveRunner(Machine& machine, const Profile& profile, std::vector<DeviceId> devices);

  // ConfigError for what cannot be run; InternalError for a deadlock, naming ranks and what they wait for.
  [[nodiscard]] CollectiveResult run(const CollectiveCall& call, const RunOptions& options);
  [[nodiscard]] int ranks() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] int nodes() const { return nodes_; }

 private:
  void on_collective_done(Time at) override;
  Communicator& communicator(int channels, bool textbook);

  struct Opened {
    int channels;
    bool textbook;
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<Executor> executor;
  };

  Machine& machine_;
  SimpleCosts simple_;
  ChannelCounts counts_;
  net::LaunchTimings launch_;
  std::vector<DeviceId> devices_;
  int nodes_ = 0;
  std::vector<Opened> opened_;
  Time done_;
};

}  // namespace weft::coll
