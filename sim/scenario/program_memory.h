// Counts what a replay of a program will hold (memory_plan.h). It holds its ranks' operations, its groups and pairs that
// communicate, the loads of their calls, and the routes under these.
//
// Model: loads are as long as those of a sample of groups and pairs, rings for all but exchanges; of each group and pair one
// call is in flight.
#pragma once

#include <vector>

#include "sim/network/router.h"
#include "sim/scenario/memory_plan.h"
#include "sim/workloads/program.h"

namespace weft::scenario {

// `every_rank`: followers are run too.
void add_program_memory(const work::Program& program, const net::Router& router, bool every_rank,
                        std::vector<MemoryPart>& parts);

}  // namespace weft::scenario
