// How the host starts a loop of calls: which thread launches for which ranks, and what a launch costs it (models/nccl §7,
// models/nccl_calibration §3.1, §3.2).
#pragma once

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::coll {

struct LaunchPlan {
  int iterations = 1;          // calls in the loop
  Duration launch = {};        // of one kernel by the host
  int ranks_per_thread = 1;    // one host thread launches for this many ranks, in rank order, call after call
  Duration graph_launch = {};  // more than 0: each rank's whole loop is one CUDA graph, and this its launch
  // Ends the loop early once calls follow each other at a steady pace.
  bool settle = true;

  // When the kernel of `rank` for call `iteration` has been issued, from the start of the loop.
  [[nodiscard]] Duration issued(Rank rank, int iteration) const {
    const int before = rank % ranks_per_thread;
    // A GPU begins while its graph is still being launched: 2 x H200 with a thread each take no longer for a loop in graphs
    // than for its kernels, with one thread the launch of the other GPU's graph more (validate/measured/h200x2_full.jsonl).
    if (graph_launch > Duration{}) return before * graph_launch;
    return (static_cast<std::int64_t>(iteration) * ranks_per_thread + before + 1) * launch;
  }
};

}  // namespace weft::coll
