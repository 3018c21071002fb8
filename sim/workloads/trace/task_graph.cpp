#include "sim/workloads/trace/task_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/workloads/trace/task_meetings.h"
#include "sim/workloads/trace/task_order.h"
#include "sim/workloads/trace/task_streams.h"

namespace weft::work {

std::uint32_t RankTasks::name(std::string_view text) {
  const auto known = name_index_.find(text);
  if (known != name_index_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(names.size());
  names.emplace_back(text);
  name_index_.emplace(text, index);
  return index;
}

std::int32_t RankTasks::lane(std::string_view text) {
  const auto known = lane_index_.find(text);
  if (known != lane_index_.end()) return known->second;
  const auto index = static_cast<std::int32_t>(lanes.size());
  lanes.emplace_back(text);
  lane_index_.emplace(text, index);
  return index;
}

TaskProgram make_program(std::vector<RankTasks> ranks, std::vector<Group> groups, const TaskRules& rules) {
  TaskProgram made;
  const TaskMeetings meetings = meet(ranks, groups, made.findings);
  const TaskOrder order = find_order(ranks, meetings, rules.eager);
  if (order.eager_sends > 0) {
    made.findings.push_back(
        problem_at(ranks, order.first_eager,
                   fmt::format("{} send{}{} {} on before {} received, since ranks would else wait for each other",
                               order.eager_sends, order.eager_sends == 1 ? "" : "s",
                               rules.eager == kAllEager ? std::string{} : fmt::format(" of at most {} B", rules.eager.count()),
                               order.eager_sends == 1 ? "goes" : "go", order.eager_sends == 1 ? "it is" : "they are")));
  }
  make_streams(ranks, meetings, order, made);
  made.program.groups = std::move(groups);
  return made;
}

}  // namespace weft::work
