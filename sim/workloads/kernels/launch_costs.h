// Times of launching kernels and CUDA graphs, and of waiting for them, by the host of a CUDA program. Not those of NCCL's
// calls, which have device.launch.* (network/launch_timings.h), nor an operator of a framework (gpu.stream.host_operator).
//
//   const LaunchTimes launches{profile};
//   launches.graph_until_waited(100);   // the host launches a graph of a hundred empty kernels and waits for its end
//
// Model: the host launches at one pace, from however many threads, and a graph's kernels cost it a time each. The first kernel
// of a graph begins as one of a stream does.
#pragma once

#include <cstdint>

#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/workloads/kernels/kernel_costs.h"

namespace weft::work {

struct LaunchCosts {
  Duration host = 3'900_ns;       // of the host, a kernel
  double event_share = 0.23;      // of that: recording an event
  double graph_share = 0.49;      // of that: launching a graph,
  Duration graph_kernel = 4_ns;   // and for each kernel in it
  Duration empty_kernel = 60_ns;  // of the device, beyond the gap before it
  Duration answer = 3'900_ns;     // from the end of the last kernel until the host that waits for it goes on
};
extern const ParamGroup<LaunchCosts> launch_costs;

// Launches of empty kernels, one by one and in chains as CUDA graphs.
class LaunchTimes {
 public:
  explicit LaunchTimes(const Profile& profile) : costs_{profile.get(launch_costs)}, stream_{profile.get(stream_costs)} {}

  // The host's.
  [[nodiscard]] Duration kernel() const { return costs_.host; }
  [[nodiscard]] Duration event() const;
  [[nodiscard]] Duration graph(std::int64_t kernels) const;
  // From a launch until the host has waited for it.
  [[nodiscard]] Duration kernel_until_waited() const { return kernel() + kernel_in_stream() + costs_.answer; }
  [[nodiscard]] Duration graph_until_waited(std::int64_t kernels) const;
  // The device's, from start to start.
  [[nodiscard]] Duration kernel_in_stream() const { return stream_.gap + costs_.empty_kernel; }
  [[nodiscard]] Duration kernel_in_graph() const { return stream_.graph_gap + costs_.empty_kernel; }
  // The same of graphs that follow one another, a kernel.
  [[nodiscard]] Duration kernel_in_graphs(std::int64_t kernels) const;

 private:
  LaunchCosts costs_;
  StreamCosts stream_;
};

}  // namespace weft::work
