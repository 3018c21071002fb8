// Reads `jitter:` of a workload that is run as a program.
//
//   jitter: {kernel: 1 %, rank: 2 %, stragglers: [{rank: 3, slower: 1.1}]}
#pragma once

#include "sim/core/config/params.h"
#include "sim/workloads/replay/replay_options.h"

namespace weft::work {

[[nodiscard]] JitterModel read_jitter(ParamReader& workload);

}  // namespace weft::work
