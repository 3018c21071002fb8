// Whether the files of a trace are of one step of one job. No file names its job, so it is told by what files say of each
// other:
//
//   before they are matched   worlds of other sizes; a group of which two of its ranks list other members; a rank beyond the
//                             other's world; iterations that are marked, and none in common
//   after                     calls of one group that are others on each of its ranks; clocks that are further apart than
//                             those of hosts that keep time; nothing in common at all
//
// Model: all-to-alls may have another size on every rank; what else a group's ranks call together is of one size.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/workloads/trace/kineto/match.h"

namespace weft::work::kineto {

// Two files of other jobs, by position in `ranks`, and what differs: "is of a job of 8 ranks, and '...' is of one of 4".
struct OtherJob {
  std::size_t rank = 0;
  std::string what;
};

[[nodiscard]] std::optional<OtherJob> other_job_by_files(std::span<const RankTrace> ranks);
// `shifts`: what was found of their clocks (clock_shifts), of times that count from one base.
[[nodiscard]] std::optional<OtherJob> other_job_by_calls(std::span<const RankTrace> ranks, const Matching& matching,
                                                         std::span<const std::int64_t> shifts);

}  // namespace weft::work::kineto
