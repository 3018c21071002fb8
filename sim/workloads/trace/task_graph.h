// Formats that say what waits for what, but not in which order streams run it (GOAL, Chakra, lists in CSV), made a Program.
//
//   std::vector<RankTasks> ranks(2);
//   ranks[0].add({.op = {.duration = 1_us}, .lane = ranks[0].lane("cpu 0")});
//   ...
//   TaskProgram made = make_program(std::move(ranks), groups, "goal");
//
// Tasks of one lane run one at a time; tasks of none as soon as what they wait for has ended. A Program knows streams that run
// in order only. So all ranks are ordered together, as they would run on a network that costs nothing (of tasks that are ready
// at one time, the one of the lowest rank that was listed first), and each lane becomes a stream in that order: no order of
// streams can then make ranks wait for each other in a circle. A message or a collective joins its lane's stream where the lane
// says it stands between its neighbours there anyway; else it gets a stream beside it, since a lane does not wait for it.
// Where each rank's list already is in such an order, it is kept.
//
// Messages meet by sender, receiver and tag, the k-th listed send with the k-th listed receive. A receive from any source or
// of any tag takes, after all others, what is left: of the sends to it that fit, the one listed earliest by its rank, and of
// those the one of the lowest rank. Collectives of a group meet as each member lists them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/model_text.h"
#include "sim/workloads/program.h"

namespace weft::work {

// GOAL and lists in CSV share this text.
inline constexpr ModelText kScheduleText{
    .title = "schedules that say what waits for what: GOAL, and lists in CSV",
    .assumes =
        "What waits for what is followed; a cpu or a stream runs one computation at a time, in the order in which "
        " a network without cost would let it. Messages meet by sender, receiver and tag in the order "
        "of the file; a receive from any source takes what no other asks for. Messages take no time of a cpu, and a send is "
        "over when "
        "it has arrived.",
    .leaves_out = {"goal: LogGOPSim's L, o, g, G and O, since the cluster says what messages cost; nic numbers, since it says "
                   "which NIC a rank uses",
                   "goal: sends of up to 65535 B go on unreceived only where ranks would else wait in a circle",
                   "csv: a barrier is an all-reduce of four bytes"},
    .sources = {"models/workloads §5.6"},
    .files = {"workloads/trace/task_graph.h"}};

inline constexpr std::int32_t kAnyRank = -1;
inline constexpr std::int64_t kAnyTag = -1;
inline constexpr std::int32_t kNoLane = -1;
inline constexpr std::uint32_t kNoTask = 0xFFFF'FFFF;

struct Task {
  Operation op = {};  // what it is; stream, slot, tag, name and waits are make_program's
  std::int32_t lane = kNoLane;
  std::int32_t peer = kAnyRank;  // of a message: the other rank; of a collective: the group's index
  std::int64_t tag = 0;
  std::uint64_t place = 0;  // for errors: the line, or the id that the file gives it
  std::uint32_t name = 0;   // into RankTasks::names
};

struct Dependency {
  std::uint32_t task = 0;
  std::uint32_t on = 0;
  bool on_start = false;  // else on its end
};

struct RankTasks {
  std::string file = {};
  bool places_are_lines = true;
  std::vector<Task> tasks = {};
  std::vector<Dependency> dependencies = {};
  std::vector<std::string> names = {};
  std::vector<std::string> lanes = {};

  std::uint32_t name(std::string_view text);
  std::int32_t lane(std::string_view text);  // made at first mention
  std::uint32_t add(Task task) {
    tasks.push_back(task);
    return static_cast<std::uint32_t>(tasks.size() - 1);
  }
  void wait(std::uint32_t task, std::uint32_t on, bool on_start = false) { dependencies.push_back({task, on, on_start}); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> name_index_ = {};
  std::map<std::string, std::int32_t, std::less<>> lane_index_ = {};
};

struct TaskProgram {
  Program program = {};
  // By rank, by operation: the task it was.
  std::vector<std::vector<std::uint32_t>> task_of = {};
  std::vector<Diagnostic> findings = {};
};

struct TaskRules {
  // Sends up to this size end for their own rank once they are posted, where ranks would else wait for each other in a circle:
  // LogGOPSim's S (models/workloads §5.6).
  Bytes eager = Bytes{65'535};
};
inline constexpr Bytes kAllEager{std::numeric_limits<std::int64_t>::max()};

// ConfigError, naming lines or nodes: messages and collectives without a counterpart or of unequal sizes, circles of waiting.
[[nodiscard]] TaskProgram make_program(std::vector<RankTasks> ranks, std::vector<Group> groups, const TaskRules& rules = {});

}  // namespace weft::work
