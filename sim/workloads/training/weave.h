// Two passes that run together: a forward and a backward pass of different microbatches, so that each computes while the other
// waits for its experts' tokens (DualPipe; Megatron's overlap of expert all-to-alls with 1F1B).
#pragma once

#include <vector>

#include "sim/workloads/program.h"

namespace weft::work {

// Weaves two passes of a builder's operations [begin, end): those from `middle` on are the second pass. Both are cut where
// compute waits for an expert's all-to-all, and their pieces alternate. Returns where each operation of [begin, end) went:
// to[i] of begin + i.
//
// Waits of the second pass on the first one are dropped: they stand for the order in which the two were written.
std::vector<OpIndex> weave(RankProgramBuilder& builder, OpIndex begin, OpIndex middle);

// An index kept from before.
inline void follow(OpIndex& op, OpIndex begin, const std::vector<OpIndex>& to) {
  if (op != kNoOp && op >= begin) op = to[op - begin];
}

}  // namespace weft::work
