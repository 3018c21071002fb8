#include "plan.h"

#include <algorithm>
#include <random>

#include "plan_parts.h"

namespace weft::measure {

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::kThreads:
      return "threads";
    case Layout::kProcesses:
      return "processes";
    case Layout::kSingle:
      return "single";
  }
  return "";
}

const char* to_string(Worker worker) {
  switch (worker) {
    case Worker::kDevice:
      return "device";
    case Worker::kCollective:
      return "collective";
    case Worker::kOverlap:
      return "overlap";
  }
  return "";
}

std::size_t Plan::points() const {
  std::size_t points = 0;
  for (const Group& group : groups) points += group.points.size();
  return points;
}

namespace {

bool forces_choice(const Environment& outer) {
  constexpr const char* kForcing[] = {"NCCL_ALGO",       "NCCL_PROTO",      "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
                                      "NCCL_MIN_CTAS",   "NCCL_MAX_CTAS",   "NCCL_P2P_DISABLE",   "NCCL_P2P_LEVEL",
                                      "NCCL_MAX_NRINGS", "NCCL_MIN_NRINGS", "NCCL_NTHREADS"};
  return std::any_of(outer.begin(), outer.end(), [&kForcing](const auto& setting) {
    return std::find(std::begin(kForcing), std::end(kForcing), setting.first) != std::end(kForcing);
  });
}

void append(std::vector<Point>& points, std::vector<Point> more) {
  points.insert(points.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void add_several_gpus(Plan& plan, const NodeFacts& node, const Environment& outer) {
  if (node.gpus < 2) {
    for (const char* what : {"peer copies", "collectives", "overlap of collectives"}) plan.skips.push_back({what, "one GPU"});
    return;
  }
  if (node.peers.empty()) {
    plan.skips.push_back({"peer copies by kernels", "no two GPUs reach each other's memory; copy engines go through the host"});
  }
  const bool forced = forces_choice(outer);
  if (forced) plan.skips.push_back({"other NCCL settings", "the environment forces some already"});
  for (Group& group : collective_groups(node, forced)) plan.groups.push_back(std::move(group));
  plan.groups.push_back({.worker = Worker::kOverlap,
                         .layout = Layout::kProcesses,
                         .ranks = node.gpus,
                         .points = overlap_points(node.gpus, std::min(kGiB, node.memory_bytes / 8))});
}

}  // namespace

Plan make_plan(const NodeFacts& node, const Environment& outer) {
  Plan plan;
  Group compute{.worker = Worker::kDevice, .ranks = node.gpus};
  append(compute.points, launch_points(node.gpus));
  append(compute.points, memory_points());
  append(compute.points, gemm_points());
  append(compute.points, attention_points());
  plan.groups.push_back(std::move(compute));
  Group copies{.worker = Worker::kDevice, .ranks = node.gpus};
  append(copies.points, host_copy_points(node.gpus));
  append(copies.points, peer_copy_points(node));
  plan.groups.push_back(std::move(copies));
  add_several_gpus(plan, node, outer);
  return plan;
}

Plan make_mpi_plan(int ranks, std::int64_t memory_bytes) {
  Plan plan;
  plan.groups.push_back(mpi_group(ranks, memory_bytes));
  plan.skips.push_back(
      {"kernels, copies and NCCL settings", "started under mpirun: only collectives, as the environment sets NCCL"});
  return plan;
}

Plan part_of(Plan plan, PointSet set) {
  for (Group& group : plan.groups) {
    std::erase_if(group.points, [set](const Point& point) {
      return point.set != set && !(set == PointSet::kFull && point.set == PointSet::kQuick);
    });
  }
  std::erase_if(plan.groups, [](const Group& group) { return group.points.empty(); });
  return plan;
}

namespace {

// Fisher and Yates; std::shuffle may differ between standard libraries. The generator itself is fixed by the standard.
template <class T>
void shuffle_items(std::vector<T>& items, std::mt19937_64& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

}  // namespace

void shuffle(Plan& plan, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  shuffle_items(plan.groups, random);
  for (Group& group : plan.groups) shuffle_items(group.points, random);
}

}  // namespace weft::measure
