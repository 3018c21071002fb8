// Weft's writer adds these to Chakra nodes, beside the attributes that others read, so that a Program comes back as it was.
//
//   metadata   "weft_streams": texts, names of the streams     "weft_resident": parameters, gradients, optimizer in bytes
//              "weft_leader": the rank it behaves as (ProgramRank::leader), where that is another
//   of rank 0  "weft_groups": texts, names of the groups       "weft_full_clock", "weft_recorded_step" (ps),
//              "weft_recorded_iterations", "weft_recorded_gpu": what Trace has under these names
//   node       "weft": the numbers of kFields                  "weft_waits": operations before it; ids are their places
//              "weft_memory": changes of resident bytes, in order
//              "weft_recorded": start and duration in ps, thread blocks (RecordedTime)
//
// Others need none of it: data_deps say the same, streams' order included.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/workloads/program.h"
#include "sim/workloads/trace/chakra/chakra_file.h"
#include "sim/workloads/trace/trace.h"

namespace weft::work::chakra {

[[nodiscard]] std::vector<std::int64_t> numbers_of(const Operation& op);
// The operation without name, waits and slot; a text that says what is wrong where the numbers make none.
[[nodiscard]] std::string operation_from(const std::vector<std::int64_t>& numbers, std::size_t streams, Operation& op);
[[nodiscard]] std::string recorded_from(const std::vector<std::int64_t>& numbers, RecordedTime& time);

// Ranks that say they behave as another (`leaders`, by rank; -1: none) share its program and its recorded times where both do
// the same; what differs is told.
[[nodiscard]] std::vector<std::string> fold_ranks(Trace& trace, const std::vector<std::int64_t>& leaders);

}  // namespace weft::work::chakra
