// An endpoint owns more than links. A GPU owns its SMs, HBM bandwidth and copy engines, the streams that feed it, and the host
// thread that launches on it. A NIC's queue pairs and engines come with packet fidelity.
//
//   const Time issued = host.launch(now);                      // the thread is busy for one launch
//   stream.enqueue(issued, *this, tag);                        // calls on_start(tag) when it is this operation's turn
//   gpu.run({.sm_ps = ..., .hbm_bytes = ...}, *this, tag);     // in on_start: a compute kernel; calls on_kernel_done
//   claim = gpu.hold(24, 0.9);                                 // in on_start: a communication kernel, until gpu.release(claim)
//   stream.finish();                                           // in either case at its end: the next operation may start
//
// A host thread may launch on many GPUs (one process with all GPUs of a node) and a GPU has any number of streams, so these
// stand beside the Gpu. What runs in a stream is the caller's business: a kernel, a collective, a copy, a wait for another
// stream. Not thread-safe: all of it belongs to its simulator's thread, and outlives the simulator's last run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/fair_share.h"
#include "sim/core/ids.h"
#include "sim/core/profile.h"
#include "sim/core/simulator.h"
#include "sim/core/timer.h"
#include "sim/core/units.h"

namespace weft::net {

// Costs of launching; group `device.launch` of a profile.
struct LaunchTimings {
  Duration host_cost = Duration::from_us(5);              // of one kernel
  Duration graph_kernel_cost = Duration::from_ns(2'300);  // of one kernel of a CUDA graph
};
extern const ParamGroup<LaunchTimings> launch_timings;

// A CPU thread that launches: one launch after another, whichever GPU each is for.
//
// Model: the thread runs ahead of the GPUs without bound; no launch waits because a stream's queue is full.
class HostThread {
 public:
  explicit HostThread(const LaunchTimings& timings) : timings_{timings} {}

  // The thread reaches this launch at `ready`, or when it is free; returns when the launch has been issued. Calls come in the
  // order of the thread's program.
  Time launch(Time ready) { return occupy(ready, timings_.host_cost); }
  // A CUDA graph of `kernels` kernels; all are issued at the time returned.
  Time launch_graph(Time ready, std::int64_t kernels) { return occupy(ready, kernels * timings_.graph_kernel_cost); }

  [[nodiscard]] Time busy_until() const { return busy_until_; }

 private:
  Time occupy(Time ready, Duration cost) {
    busy_until_ = (ready > busy_until_ ? ready : busy_until_) + cost;
    return busy_until_;
  }

  LaunchTimings timings_;
  Time busy_until_;
};

class OperationListener {
 public:
  // It is the operation's turn; the queue's finish() is due when it ends, now or later.
  virtual void on_start(std::uint64_t tag) = 0;

 protected:
  ~OperationListener() = default;
};

// Operations that start in the order in which they were enqueued, at most `width` of them at once.
class OperationQueue {
 public:
  OperationQueue(Simulator& simulator, std::string name, int width);

  // The operation starts when it was issued (see HostThread), all those before it have started and there is room. on_start is
  // never called from inside enqueue() or finish(), but in the action phase of its instant. Cost: O(1) amortised, no allocation
  // once as many operations as now have waited before.
  void enqueue(Time issued, OperationListener& listener, std::uint64_t tag);
  // One of the operations that have started has ended.
  void finish();

  [[nodiscard]] int running() const { return running_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size() - head_; }

 private:
  struct Operation {
    Time issued;
    OperationListener* listener = nullptr;
    std::uint64_t tag = 0;
  };
  void arm();
  void start();

  Simulator& simulator_;
  int width_;
  int running_ = 0;
  std::vector<Operation> waiting_;  // from head_ on
  std::size_t head_ = 0;
  Timer start_;
};

// A CUDA stream: each operation starts when the one before it has ended and its own launch was issued.
//
// Model: the gap between dependent kernels of a stream (1.6 to 1.8 us, models/training_steps §2) is part of what the kernels'
// own models say, as calibrated collective kernels already contain it.
class Stream final : public OperationQueue {
 public:
  Stream(Simulator& simulator, std::string name) : OperationQueue{simulator, std::move(name), 1} {}
};

// The defaults are an H100 SXM (models/workloads §4.5).
struct GpuLimits {
  int sms = 132;
  double hbm_bytes_per_ps = 3.35;
  int copy_engines = 2;  // one each way
};

// A compute kernel needs these. It takes as long as the tightest of them, given what it gets.
struct KernelWork {
  double sm_ps = 0;                               // SM-picoseconds, summed over its blocks
  int max_sms = std::numeric_limits<int>::max();  // blocks that can run at once
  double hbm_bytes = 0;                           // read and written
  Duration min_duration{};                        // whatever it gets: dependent chains, tails, launch on the device
};

using KernelId = Id<struct KernelTag>;
using ClaimId = Id<struct ClaimTag>;

class KernelListener {
 public:
  virtual void on_kernel_done(KernelId kernel, std::uint64_t tag) = 0;

 protected:
  ~KernelListener() = default;
};

// Communication kernels hold SMs and HBM bandwidth; compute kernels share what is left.
//
//   T[k] = max(sm_ps / min(max_sms, sms), hbm_bytes / hbm, min_duration)      what kernel k takes alone, in ps
//   sought: speeds s[k] <= 1, weighted max-min fair (fair_share.h):
//     sum of s[k] sm_ps[k] / T[k]      <=  sms - SMs held
//     sum of s[k] hbm_bytes[k] / T[k]  <=  HBM bandwidth - bandwidth held
//
// A kernel has T[k] of work and does s[k] per picosecond, so that all of those short of the same resource are slowed in the
// same proportion. Whatever arrives, ends, claims or releases changes the speeds, once per instant; a completion is rounded
// once, up to the next picosecond, and work left over is carried.
//
// Model: SMs are divisible and follow every change at once. In hardware blocks that run keep their SM, so a collective that
// becomes ready beside a persistent kernel starts when that one drains, and a kernel with one block per SM pays whole waves
// (both: models/training_steps §6). Claims never wait for each other; where they hold everything, compute waits.
class Gpu {
 public:
  Gpu(Simulator& simulator, const std::string& name, const GpuLimits& limits);

  // A communication kernel of `ctas` CTAs, one per channel, each with an SM of its own (models/nccl §7.1), has become resident.
  // `hbm_bytes_per_ps` is what it moves through HBM. Cost of this and the next two: O(kernels and claims on this GPU), no
  // allocation once as many as now have been there before.
  ClaimId hold(int ctas, double hbm_bytes_per_ps);
  void release(ClaimId claim);
  // Starts a compute kernel now. on_kernel_done comes when it ends, never from inside run().
  KernelId run(const KernelWork& work, KernelListener& listener, std::uint64_t tag);

  // Returns a kernel's time where nothing else runs or holds.
  [[nodiscard]] Duration duration_alone(const KernelWork& work) const;

  [[nodiscard]] const GpuLimits& limits() const { return limits_; }
  [[nodiscard]] int held_sms() const;
  [[nodiscard]] double held_hbm_bytes_per_ps() const;
  [[nodiscard]] std::size_t running() const { return kernels_.size(); }
  // Copies queue for an engine here. What a copy then takes is a transfer's business (fabric.h).
  [[nodiscard]] OperationQueue& copy_engines() { return copy_engines_; }

 private:
  struct Claim {
    ClaimId id;
    int ctas = 0;
    double hbm_bytes_per_ps = 0;
  };
  struct Kernel {
    KernelId id;
    KernelListener* listener = nullptr;
    std::uint64_t tag = 0;
    std::array<Usage, 2> usages;  // at full speed: SMs, and HBM bytes per picosecond
    std::size_t usage_count = 0;
    double remaining = 0;  // work at `updated`: picoseconds at full speed
    double speed = 0;
    Time updated;
    Time finish = Time::max();

    [[nodiscard]] std::span<const Usage> needs() const { return std::span{usages}.first(usage_count); }
  };

  [[nodiscard]] double alone_ps(const KernelWork& work) const;
  void share();     // of what is left after claims; re-times every kernel whose speed changed
  void complete();  // the kernels that end now
  void changed();   // shares are due at the end of this instant

  Simulator& simulator_;
  GpuLimits limits_;
  OperationQueue copy_engines_;
  FairShareSolver solver_;
  ResourceId sms_;
  ResourceId hbm_;
  std::vector<Claim> claims_;  // in order of arrival, as are the kernels: a handful, so that they are searched and summed
  std::vector<Kernel> kernels_;
  std::uint32_t next_claim_ = 0;
  std::uint32_t next_kernel_ = 0;
  std::vector<FairShareFlow> problem_;  // scratch of share()
  std::vector<Kernel> ended_;           // scratch of complete()
  ComponentId component_;
  Timer share_;
  Timer complete_;
};

}  // namespace weft::net
