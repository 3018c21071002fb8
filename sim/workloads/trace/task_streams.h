// Lanes and messages laid on streams. Private to task_graph.cpp.
#pragma once

#include <vector>

#include "sim/workloads/trace/task_graph.h"
#include "sim/workloads/trace/task_order.h"

namespace weft::work {

// Fills the program's programs and ranks (not its groups), `task_of` and the findings.
void make_streams(const std::vector<RankTasks>& ranks, const TaskMeetings& meetings, const TaskOrder& order, TaskProgram& made);

}  // namespace weft::work
