// The program of one rank from its items: operations with their waits, the host's own time between launches, recorded times.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/workloads/trace/kineto/match.h"
#include "sim/workloads/trace/trace.h"

namespace weft::work::kineto {

struct EmittedRank {
  RankProgram program;
  std::vector<RecordedTime> recorded;
  std::vector<std::uint32_t> groups;  // by slot: into Matching::groups
  std::vector<std::int64_t> peers;    // by slot: global ranks
};

// `origin`: the time zero of the trace in this rank's clock; `host_end`: when its host has done with the iteration, in the same
// clock; 0: at its last launch.
[[nodiscard]] EmittedRank emit(const RankTrace& rank, std::int64_t origin, std::int64_t host_end);

}  // namespace weft::work::kineto
