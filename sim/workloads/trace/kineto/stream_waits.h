// Finds what items of one stream waited for on others.
//
// Where the profiler recorded sync events (`cuda_sync`) they say it. Elsewhere the host's calls of cudaStreamWaitEvent name no
// stream, and the waits are inferred: a launch after such a call may wait for the last item launched on each other stream. The
// recorded times tell: if in some instance of the same pattern (streams, calls before the launch) the later one began before
// the earlier one had ended, there is no such wait.
//
// Model: inferred waits may include some that the program does not have, where by chance no recorded moment contradicts them.
#pragma once

#include "sim/workloads/trace/kineto/rank_items.h"

namespace weft::work::kineto {

struct StreamWaitCounts {
  std::size_t recorded = 0;     // from sync events
  std::size_t inferred = 0;     // from calls and times
  std::size_t of_data = 0;      // from what an execution trace says was written and read
  std::size_t false_data = 0;   // of those said, what the recorded times contradict
  std::size_t late = 0;         // inferred from one end and one start alone
  std::size_t unexplained = 0;  // starts later than anything known explains
  std::int64_t unexplained_ns = 0;
};

// Fills waits and gaps.
StreamWaitCounts find_stream_waits(const RankEvents& events, RankItems& rank);

}  // namespace weft::work::kineto
