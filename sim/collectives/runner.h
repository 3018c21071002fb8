// Runs collectives on a machine and times them as nccl-tests does: the loop of back-to-back calls, not one call by itself.
//
//   net::Machine machine{topology, "adaptive", seed};
//   CollectiveRunner runner{machine, profile, ranks};
//   const CollectiveResult result = runner.run({.kind = Collective::kAllReduce, .bytes = 1_GiB}, {});
//
// The loop runs on the simulator: launches, kernels that queue behind each other, calls that overlap; once calls follow each
// other at a steady pace, the rest of the loop is reckoned at that pace.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/costs.h"
#include "sim/collectives/executor.h"
#include "sim/collectives/libraries.h"
#include "sim/collectives/msccl/algorithm.h"
#include "sim/collectives/nccl/choose.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/collectives/nccl/symmetric.h"
#include "sim/collectives/nccl/view.h"
#include "sim/collectives/shortened_schedule.h"
#include "sim/core/digest.h"
#include "sim/core/profile.h"
#include "sim/network/launch_timings.h"
#include "sim/network/machine.h"

namespace weft::coll {

// How buffers of calls are registered (nccl-tests -R): not, by ncclCommRegister, or as windows of symmetric memory.
enum class Registered : std::uint8_t { kNot, kLocal, kSymmetric };

// The user may say this about how a call runs.
struct RunOptions {
  std::string algorithm;  // empty: chosen
  std::string engine;     // that chooses where no algorithm is named (libraries.h); empty: NCCL
  int channels = 0;       // 0: chosen
  Registered registered = Registered::kNot;
  Grain grain = Grain::kAuto;
  // Messages that `auto` simulates one by one at most; 0: as many as take about a second.
  std::uint64_t chunk_messages = 0;
  // At hybrid fidelity calls of these kinds may be packets; empty: all may.
  std::vector<Collective> packet_kinds;
  int iterations = 20;          // calls in the loop (nccl-tests -n)
  int launches_per_thread = 1;  // GPUs that one host thread drives (nccl-tests -g)
  bool cuda_graph = false;      // the loop is one graph on each GPU (nccl-tests -G)
  Duration launch = {};         // of a kernel by the host, in its graph if so, where measured; 0: as the profile says
  // The calls of the loop walk through buffers of so many bytes on each rank, as those of nccl-tests do; less than a call has:
  // they all have the same.
  Bytes walked = {};
  static constexpr Bytes kMemory{std::int64_t{1} << 50};  // for `walked`: more than any cache holds
  double slowdown = 1.0;                                  // full clock of the GPUs' SMs over the one they run at
  // A custom algorithm in place of a registered one, sizes outside its own range excepted; outlives the run.
  const MscclAlgorithm* custom = nullptr;
  nccl::Settings settings;
  StepObserver* steps = nullptr;  // is told every slice at chunk grain
  // Something of the clock comes that is not the collective's own, a failing cable: the run ends with the last call, and what
  // is pending stays so.
  bool keep_pending = false;
};

struct CollectiveResult {
  CollectiveCall call;
  CallSizes sizes;
  Choice choice;
  std::string reason;           // why NCCL chose so; empty where the user did
  Grain grain = Grain::kChunk;  // that was used
  int ranks = 0;
  int nodes = 0;
  Duration time;               // of one call: the loop's over its calls
  Duration device;             // of the first call alone, from its launch to the end of its last rank
  Duration launch;             // the host's floor: what launching one call costs a thread
  Time ended;                  // of what was simulated; timers of transports may run on
  std::int64_t simulated = 1;  // calls, of those that the time stands for
  std::uint64_t messages = 0;
  std::uint64_t digest = 0;
  std::vector<std::string> notes;

  [[nodiscard]] double algorithm_bandwidth_gbps() const;  // GB/s, as nccl-tests defines it
  [[nodiscard]] double bus_bandwidth_gbps() const;
};

// One communicator over `devices` of the machine. Calls run one after another.
class CollectiveRunner final : private ExecutorListener {
 public:
  // `view`: NCCL's view of these devices where somebody has it already, of any machine of the topology.
  CollectiveRunner(net::Machine& machine, const Profile& profile, std::vector<DeviceId> devices,
                   std::shared_ptr<const nccl::View> view = nullptr);

  // ConfigError for what cannot be run; InternalError for a deadlock, naming ranks and what they wait for.
  [[nodiscard]] CollectiveResult run(const CollectiveCall& call, const RunOptions& options);
  [[nodiscard]] int ranks() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] int nodes() const { return nodes_; }

 private:
  void on_collective_done(Time at) override;
  void on_collective_settled(Time at) override;
  // NCCL's view under these settings, the last one kept; null where a rank is no GPU.
  const nccl::View* view(const nccl::Settings& settings);
  // With at least `channels` rings: NCCL's own, or plain ones.
  struct Opened {
    const nccl::View* view;  // null: plain rings
    int channels;
    net::PathClass p2p_level;
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<Executor> executor;
  };
  // `p2p_level`: ExecutorOptions'.
  Opened& open(const nccl::View* view, int channels, net::PathClass p2p_level);
  // Returns the costs for the result's call and sizes.
  [[nodiscard]] StepCosts costs_of(const nccl::Chosen& chosen, const Algorithm& algorithm, const CollectiveResult& result,
                                   const RunOptions& options, bool copies_in) const;
  [[nodiscard]] LaunchPlan launches(const nccl::Chosen& chosen, const RunOptions& options, Duration launch_cost,
                                    std::uint64_t messages) const;
  // How much of a call is simulated, and as what.
  struct GrainChoice {
    bool in_packets = false;
    std::uint64_t messages = 0;   // counted up to one more than are simulated one by one
    std::vector<Sample> samples;  // of the call, in place of all of it; empty: all
  };
  [[nodiscard]] LibraryGpus library_gpus() const;
  [[nodiscard]] bool all_over_nvlink() const;
  [[nodiscard]] bool has_nvswitch() const;
  [[nodiscard]] nccl::SymmetricCall symmetric_call(const CollectiveCall& call, const CallSizes& sizes) const;
  // NCCL's kernel for the call's buffers in symmetric memory; empty, with a note, where it has none.
  [[nodiscard]] std::string_view symmetric_kernel_of(const CollectiveCall& call, const nccl::Settings& settings,
                                                     std::string& why) const;
  // Whether copy engines do the call: asked for by name, or picked by NCCL, whose choice is then the algorithm's name.
  [[nodiscard]] bool choose_copy_engine(const CollectiveCall& call, const nccl::Settings& settings, bool asks_symmetric,
                                        std::string& algorithm_name) const;
  GrainChoice choose_grain(const Algorithm& algorithm, Kernel kernel, const std::shared_ptr<const Schedule>& schedule,
                           const Opened& opened, const RunOptions& options, CollectiveResult& result);
  void simulate(const Opened& opened, const Schedule& schedule, const StepCosts& costs, const LaunchPlan& plan,
                const RunOptions& options, CollectiveResult& result);
  void simulate_samples(const Opened& opened, const std::vector<Sample>& samples, const StepCosts& costs,
                        const LaunchPlan& plan, const RunOptions& options, CollectiveResult& result);
  void run_closed_form(const Communicator& communicator, const StepCosts& costs, CollectiveResult& result) const;

  net::Machine& machine_;
  CollectiveCosts costs_;
  net::LaunchTimings launch_;
  std::vector<DeviceId> devices_;
  bool gpus_only_ = true;
  PortRate nvlink_port_;
  int nodes_ = 0;
  std::shared_ptr<const nccl::View> view_;
  std::vector<Opened> opened_;
  Time done_;
  bool keep_pending_ = false;
};

}  // namespace weft::coll
