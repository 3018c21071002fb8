// One order of the tasks of all ranks in which each comes after what it waits for, and the parts of one message or collective
// come together. Private to task_graph.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workloads/trace/task_meetings.h"

namespace weft::work {

// The waits of each task: an index of RankTasks::dependencies.
class TaskEdges {
 public:
  TaskEdges(const RankTasks& rank, bool forward);
  struct Edge {
    std::uint32_t task = 0;
    bool on_start = false;
  };
  [[nodiscard]] const Edge* begin(std::uint32_t task) const { return edges_.data() + first_[task]; }
  [[nodiscard]] const Edge* end(std::uint32_t task) const { return edges_.data() + first_[task + 1]; }
  [[nodiscard]] std::size_t count(std::uint32_t task) const { return first_[task + 1] - first_[task]; }

 private:
  std::vector<std::size_t> first_;
  std::vector<Edge> edges_;
};

struct TaskOrder {
  std::vector<std::vector<std::uint32_t>> tasks;  // by rank, all its tasks
  std::vector<std::vector<bool>> eager;           // by rank, by task: a send that nothing waits for the end of
  std::size_t eager_sends = 0;
  TaskId first_eager;
};

// ConfigError, naming all that take part, where tasks wait for each other in a circle.
[[nodiscard]] TaskOrder find_order(const std::vector<RankTasks>& ranks, const TaskMeetings& meetings, Bytes eager);

}  // namespace weft::work
