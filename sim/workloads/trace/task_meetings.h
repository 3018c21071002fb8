// Which send meets which receive, and which calls of collectives are one. Private to task_graph.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/workloads/trace/task_graph.h"

namespace weft::work {

struct TaskId {
  std::uint32_t rank = 0;
  std::uint32_t task = 0;
  auto operator<=>(const TaskId&) const = default;
};

inline constexpr std::uint32_t kNoMeeting = 0xFFFF'FFFF;

struct TaskMeetings {
  std::vector<std::vector<std::uint32_t>> of;  // by rank, by task; kNoMeeting: it meets nobody
  std::vector<std::uint32_t> first = {0};      // by meeting, and one more: into members
  std::vector<TaskId> members;                 // of a message: the send, then the receive
  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
};

// "line 7 ('send')", or "node 7 ('ar')", of "rank 3".
[[nodiscard]] std::string text_of(const std::vector<RankTasks>& ranks, TaskId id);
[[nodiscard]] Diagnostic problem_at(const std::vector<RankTasks>& ranks, TaskId id, std::string message, std::string note = {});

// Gives receives from any source their sender and the size sent. ConfigError where some task finds no counterpart.
[[nodiscard]] TaskMeetings meet(std::vector<RankTasks>& ranks, const std::vector<Group>& groups,
                                std::vector<Diagnostic>& findings);

}  // namespace weft::work
