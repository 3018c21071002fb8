// The process that measures: it reads points, a line each, and answers each with the members of its record, or with '!' and a
// reason. It is this program again, started by the controller, because NCCL reads its settings once per process and a CUDA
// error may cost the process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collective.h"
#include "plan.h"
#include "team.h"

namespace weft::measure {

struct WorkerOptions {
  std::string kind;  // "inventory" or a Worker's name
  Layout layout = Layout::kThreads;
  int ranks = 1;
  int input = 0;  // descriptors
  int output = 1;
  std::int64_t buffer_bytes = 0;
  double target_us = 50'000;
  bool hostname = false;
};

[[nodiscard]] std::vector<std::string> to_arguments(const WorkerOptions& options);
[[nodiscard]] WorkerOptions parse_worker(const std::vector<std::string>& arguments);
[[nodiscard]] int run_worker(const WorkerOptions& options);

// Where a team's member 0 gets points (empty: no more) and leaves answers.
struct Conversation {
  std::function<std::string()> next;
  std::function<void(const std::string&)> answer;
};
// Serves until there are no more points; collective over the team.
void serve_team(Team& team, const std::vector<int>& devices, const LayoutNumbers& layout, bool overlap,
                std::int64_t buffer_bytes, const Conversation& conversation);

}  // namespace weft::measure
