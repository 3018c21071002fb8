// Calls that a trace says too little of: kernels of communication without any metadata, and calls whose group it does not name.
// Those of two ranks are the same that come in the same order on a stream and end together: a collective ends on all its
// members at once, and holds up those that came early.
//
// Model: the streams of two ranks are of one communicator where the same kernels run on them in the same order, and most end
// within 100 us of each other. A rank that has nothing in common with others so may have another clock: then they end as far
// apart as each other. Communicators that do the same at the same time are taken for one: as their calls end together anyway,
// hardly any of it is waiting. A call of unknown size takes, once all its members are there, what the one that waited least
// took, whatever the network.
#pragma once

#include <vector>

#include "sim/workloads/trace/kineto/match.h"

namespace weft::work::kineto {

struct UndescribedCalls {
  std::size_t matched = 0;  // kernels of no known size; they have parts now
  std::size_t alone = 0;    // kernels that have none
};

// Adds groups to `groups`, and sets those of parts that had none. `world`: ranks of the job.
[[nodiscard]] UndescribedCalls match_undescribed(std::vector<RankTrace>& ranks, std::int64_t world, Matching& matching);

// Every call of `calls` is the same one: what it takes once all are there.
void fix_time(const std::vector<std::pair<const Item*, CommPart*>>& calls);

}  // namespace weft::work::kineto
