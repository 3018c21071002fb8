// The plan lists the points of a node, grouped by the process that can measure them. NCCL reads its settings once per process,
// so each setting is a group, and a group is one worker process (or one per GPU).
//
// There is one plan, and each of its points names the smallest set that holds it, so that what --quick measures is part of what
// --full does, and a fit on the one can be held against the rest of the other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "point.h"

namespace weft::measure {

struct NodeFacts {
  int gpus = 1;
  std::vector<std::pair<int, int>> peers = {};  // that can reach each other's memory
  std::int64_t memory_bytes = 0;                // of the smallest GPU, free
};

enum class Layout { kThreads, kProcesses, kSingle };  // a thread per GPU; a process per GPU; one thread for all
[[nodiscard]] const char* to_string(Layout layout);

enum class Worker { kDevice, kCollective, kOverlap };
[[nodiscard]] const char* to_string(Worker worker);

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Group {
  Worker worker = Worker::kDevice;
  Layout layout = Layout::kThreads;
  int ranks = 1;
  Environment env = {};  // on top of what the run was started under
  bool dumps_topology = false;
  std::vector<Point> points = {};
};

struct Skip {
  std::string what;
  std::string reason;
};

struct Plan {
  std::vector<Group> groups = {};
  std::vector<Skip> skips = {};
  [[nodiscard]] std::size_t points() const;
};

// `outer` are the NCCL_* settings the run was started under: where they force an algorithm, a protocol or channels, only that
// is measured.
[[nodiscard]] Plan make_plan(const NodeFacts& node, const Environment& outer);
// The collectives of ranks that were started from outside, by mpirun: one process each, settings as given.
[[nodiscard]] Plan make_mpi_plan(int ranks, std::int64_t memory_bytes);

[[nodiscard]] Plan part_of(Plan plan, PointSet set);
// Leaves out what is done; empty groups go.
template <class Done>
void remove_done(Plan& plan, const Done& done) {
  for (Group& group : plan.groups) {
    std::erase_if(group.points, [&done](const Point& point) { return done.contains(point.id()); });
  }
  std::erase_if(plan.groups, [](const Group& group) { return group.points.empty(); });
}
// Groups and the points in them in a random order; the same for the same seed on every machine.
void shuffle(Plan& plan, std::uint64_t seed);

}  // namespace weft::measure
