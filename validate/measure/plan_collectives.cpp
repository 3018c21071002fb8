// The plan's collectives: one group per NCCL setting and layout; and their overlap with kernels.
#include <algorithm>
#include <string>

#include "plan_parts.h"

namespace weft::measure {
namespace {

struct Setting {
  const char* algorithm = "";
  const char* protocol = "";
  int channels = 0;
  bool no_p2p = false;
  int communicator = 1;  // of several of the same settings
};

struct Sweep {
  std::vector<const char*> collectives;
  std::int64_t first = 8;
  std::int64_t last = 4 * kGiB;
  std::int64_t factor = 2;
  PointSet set = PointSet::kFull;  // kQuick: of its sizes those of the quick set; kFine: half as much again as each size too
  const char* launch = "stream";
  bool in_place = false;
};

// Every eighth size, so that the quick set spans the range in ten points.
bool is_quick_size(std::int64_t bytes) {
  const std::vector<std::int64_t> sizes = powers(8, kGiB, 8);
  return std::find(sizes.begin(), sizes.end(), bytes) != sizes.end();
}

// NCCL's names of what is forced go into the environment of the group and the parameters of its points.
Group make_group(int ranks, Layout layout, const Setting& setting) {
  Group group{.worker = Worker::kCollective, .layout = layout, .ranks = ranks};
  const std::string channels = std::to_string(setting.channels);
  if (*setting.algorithm != '\0') group.env.emplace_back("NCCL_ALGO", setting.algorithm);
  if (*setting.protocol != '\0') group.env.emplace_back("NCCL_PROTO", setting.protocol);
  if (setting.channels > 0) group.env.emplace_back("NCCL_MIN_NCHANNELS", channels);
  if (setting.channels > 0) group.env.emplace_back("NCCL_MAX_NCHANNELS", channels);
  if (setting.no_p2p) group.env.emplace_back("NCCL_P2P_DISABLE", "1");
  return group;
}

std::vector<std::int64_t> sizes_of(const Sweep& sweep, std::int64_t max_bytes) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t bytes : powers(sweep.first, std::min(sweep.last, max_bytes), sweep.factor)) {
    sizes.push_back(bytes);
    if (sweep.set == PointSet::kFine && bytes / 2 * 3 <= max_bytes) sizes.push_back(bytes / 2 * 3);
  }
  return sizes;
}

bool is_divided(std::string_view collective) {
  return collective == "all_gather" || collective == "reduce_scatter" || collective == "alltoall" || collective == "gather" ||
         collective == "scatter";
}

void add(Group& group, const Setting& setting, const Sweep& sweep, std::int64_t max_bytes) {
  const std::int64_t smallest = 4 * std::int64_t{group.ranks};  // an element for every rank
  for (const char* collective : sweep.collectives) {
    for (const std::int64_t bytes : sizes_of(sweep, max_bytes)) {
      if (is_divided(collective) && bytes < smallest) continue;
      Point point{.kind = "collective",
                  .parameters = {},
                  .set = sweep.set == PointSet::kQuick ? quick_if(is_quick_size(bytes)) : sweep.set};
      point.with("collective", collective).with("bytes", bytes).with("type", "float");
      point.with("ranks", group.ranks).with("layout", to_string(group.layout)).with("launch", sweep.launch);
      if (sweep.in_place) point.with("in_place", 1);
      if (*setting.algorithm != '\0') point.with("algorithm", setting.algorithm);
      if (*setting.protocol != '\0') point.with("protocol", setting.protocol);
      if (setting.channels > 0) point.with("channels", setting.channels);
      if (setting.no_p2p) point.with("p2p", "off");
      if (setting.communicator > 1) point.with("communicator", setting.communicator);
      group.points.push_back(std::move(point));
    }
  }
}

constexpr int kCommunicators = 4;  // of each protocol's ring in which small calls are timed

const std::vector<const char*> kCommon{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv"};
const std::vector<const char*> kReducing{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"};

Group free_choice(int ranks, PointSet set, std::int64_t max_bytes) {
  Group group = make_group(ranks, Layout::kThreads, {});
  add(group, {}, {.collectives = kCommon, .set = set}, max_bytes);
  add(group, {}, {.collectives = {"reduce", "gather", "scatter", "pair"}, .factor = 4}, max_bytes);
  add(group, {}, {.collectives = {"all_reduce", "all_gather"}, .factor = 4, .in_place = true}, max_bytes);
  add(group, {}, {.collectives = {"all_reduce", "all_gather"}, .last = 64 * kMiB, .factor = 4, .launch = "graph"}, max_bytes);
  return group;
}

// LL and LL128 are not chosen for large data; forced there they only take long.
std::int64_t last_size(const std::string& protocol) {
  return protocol == "LL" ? 64 * kMiB : protocol == "LL128" ? kGiB : 4 * kGiB;
}

void add_choices(std::vector<Group>& groups, int ranks, std::int64_t max_bytes) {
  // Small calls in graphs show their own time where the host, which launches them one by one, is not the limit.
  const Sweep in_graph{.collectives = kReducing, .first = 512, .last = kMiB, .set = PointSet::kQuick, .launch = "graph"};
  Sweep in_graph_again = in_graph;
  in_graph_again.factor = 8;  // the sizes of the quick set
  for (const char* protocol : {"LL", "LL128", "Simple"}) {
    const Setting ring{.algorithm = "Ring", .protocol = protocol};
    Group group = make_group(ranks, Layout::kThreads, ring);
    add(group, ring, {.collectives = kReducing, .last = last_size(protocol), .set = PointSet::kQuick}, max_bytes);
    add(group, ring, in_graph, max_bytes);
    groups.push_back(std::move(group));
    // A worker each: all calls of a communicator can be off those of the next by up to 0.7 us (validate/communicators.py).
    for (int communicator = 2; communicator <= kCommunicators; ++communicator) {
      const Setting another{.algorithm = "Ring", .protocol = protocol, .communicator = communicator};
      group = make_group(ranks, Layout::kThreads, another);
      add(group, another, in_graph_again, max_bytes);
      groups.push_back(std::move(group));
    }
    const Setting tree{.algorithm = "Tree", .protocol = protocol};
    group = make_group(ranks, Layout::kThreads, tree);
    add(group, tree, {.collectives = {"all_reduce"}, .last = last_size(protocol), .set = PointSet::kQuick}, max_bytes);
    groups.push_back(std::move(group));
  }
  for (const int channels : {1, 2, 4, 8, 16, 32}) {
    const Setting setting{.algorithm = "Ring", .protocol = "Simple", .channels = channels};
    Group group = make_group(ranks, Layout::kThreads, setting);
    add(group, setting,
        {.collectives = {"all_reduce", "all_gather", "sendrecv"},
         .first = 8 * kKiB,
         .last = kGiB,
         .factor = 4,
         .set = quick_if(channels == 1 || channels == 4)},
        max_bytes);
    groups.push_back(std::move(group));
  }
}

// Steps of rings and trees where neither links nor the host are the limit: how a thread block's time goes with its slice.
void add_fine(std::vector<Group>& groups, int ranks, std::int64_t max_bytes) {
  for (const char* protocol : {"LL", "LL128", "Simple"}) {
    const bool is_simple = std::string_view{protocol} == "Simple";
    const std::int64_t last = (is_simple ? 32 : 4) * kMiB;
    for (const int channels : {1, 8}) {
      const Setting ring{.algorithm = "Ring", .protocol = protocol, .channels = channels};
      const Setting tree{.algorithm = "Tree", .protocol = protocol, .channels = channels};
      Sweep sweep{.collectives = kReducing,
                  .first = channels * kKiB,
                  .last = channels * last,
                  .set = PointSet::kFine,
                  .launch = "graph"};
      Group group = make_group(ranks, Layout::kThreads, ring);
      add(group, ring, sweep, max_bytes);
      if (is_simple) {
        sweep.collectives = {"sendrecv"};
        add(group, ring, sweep, max_bytes);
      }
      groups.push_back(std::move(group));
      sweep.collectives = {"all_reduce"};
      group = make_group(ranks, Layout::kThreads, tree);
      add(group, tree, sweep, max_bytes);
      groups.push_back(std::move(group));
    }
  }
}

void add_layouts(std::vector<Group>& groups, int ranks, std::int64_t max_bytes) {
  Group single = make_group(ranks, Layout::kSingle, {});
  add(single, {}, {.collectives = {"all_reduce"}, .set = PointSet::kQuick}, max_bytes);
  add(single, {}, {.collectives = {"all_gather", "broadcast", "sendrecv", "alltoall"}, .factor = 4}, max_bytes);
  add(single, {}, {.collectives = {"all_reduce"}, .last = 64 * kMiB, .factor = 4, .launch = "graph"}, max_bytes);
  groups.push_back(std::move(single));
  Group processes = make_group(ranks, Layout::kProcesses, {});
  add(processes, {}, {.collectives = {"all_reduce", "alltoall"}, .factor = 4}, max_bytes);
  groups.push_back(std::move(processes));
  const Setting through_host{.no_p2p = true};
  Group host = make_group(ranks, Layout::kThreads, through_host);
  add(host, through_host, {.collectives = {"all_reduce", "sendrecv"}, .last = 256 * kMiB, .factor = 4}, max_bytes);
  groups.push_back(std::move(host));
}

}  // namespace

std::vector<Group> collective_groups(const NodeFacts& node, bool forced) {
  // A send and a receive buffer; and room for NCCL's own.
  const std::int64_t max_bytes = std::min(4 * kGiB, node.memory_bytes / 3);
  std::vector<Group> groups;
  groups.push_back(free_choice(node.gpus, PointSet::kQuick, max_bytes));
  groups.front().dumps_topology = true;
  if (forced) return groups;
  add_choices(groups, node.gpus, max_bytes);
  add_layouts(groups, node.gpus, max_bytes);
  add_fine(groups, node.gpus, max_bytes);
  for (int ranks = 2; ranks < node.gpus; ranks *= 2) groups.push_back(free_choice(ranks, PointSet::kFull, max_bytes));
  return groups;
}

Group mpi_group(int ranks, std::int64_t memory_bytes) {
  Group group = make_group(ranks, Layout::kProcesses, {});
  const std::int64_t max_bytes = std::min(4 * kGiB, memory_bytes / 3);
  add(group, {}, {.collectives = kCommon, .set = PointSet::kQuick}, max_bytes);
  add(group, {}, {.collectives = {"reduce", "gather", "scatter"}, .factor = 4}, max_bytes);
  add(group, {}, {.collectives = {"all_reduce"}, .last = 64 * kMiB, .factor = 4, .launch = "graph"}, max_bytes);
  return group;
}

std::vector<Point> overlap_points(int ranks, std::int64_t max_bytes) {
  std::vector<Point> points;
  const auto add_case = [&](const char* name, const char* op, std::int64_t bytes, bool quick) {
    Point point{.kind = "overlap", .parameters = {}, .set = quick_if(quick)};
    point.with("case", name);
    if (*op != '\0') point.with("op", op).with("bytes", bytes);
    points.push_back(point.with("ranks", ranks));
  };
  add_case("gemm_alone", "", 0, true);
  add_case("copy_alone", "", 0, true);
  for (const std::int64_t bytes : powers(kMiB, max_bytes, 4)) {
    const bool quick = bytes == 16 * kMiB || bytes == 256 * kMiB;
    for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "alltoall"}) {
      const bool reduces = std::string_view{op} == "all_reduce";
      for (const char* name : {"collective_alone", "collective_with_gemm", "collective_with_copy"}) {
        add_case(name, op, bytes, quick && reduces);
      }
    }
    add_case("two_communicators", "all_reduce", bytes, quick);
    if (ranks >= 4 && ranks % 2 == 0) {
      add_case("pairs", "all_reduce", bytes, false);
      add_case("pairs_and_cross", "all_reduce", bytes, false);
    }
  }
  return points;
}

}  // namespace weft::measure
