// The order DualPipe and DualPipeV share (DeepSeek-V3; models/workloads §3.1): a rank has two phases, each with a chunk of its
// own, and runs the forward of one together with the full backward of the other.
#pragma once

#include <vector>

#include "sim/workloads/parallel/pipeline_schedule.h"

namespace weft::work {

struct DualPipeRank {
  int half = 1;          // H: ranks from an end, where microbatches enter, to the middle, where phases meet
  int from_end = 0;      // h: 0 .. H - 1
  int microbatches = 0;  // M: of each phase; at least 2 H
  int first_chunk = 0;   // the chunk of phase 0, which runs first; the other is phase 1's
};

[[nodiscard]] std::vector<PipelineOp> dualpipe_order(const DualPipeRank& rank);

}  // namespace weft::work
