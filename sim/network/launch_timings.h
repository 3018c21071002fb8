// A host thread pays these costs to launch work on GPUs.
#pragma once

#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::net {

// Group `device.launch` of a profile.
//
// Model: the thread runs ahead of the GPUs without bound; no launch waits because a stream's queue is full.
struct LaunchTimings {
  Duration host_cost = Duration::from_us(5);              // of one kernel
  Duration graph_kernel_cost = Duration::from_ns(2'300);  // of one kernel of a CUDA graph
  Duration channel_cost = Duration::from_ns(30);          // more of a kernel of NCCL, which plans its channels one by one
};
extern const ParamGroup<LaunchTimings> launch_timings;

}  // namespace weft::net
