// The plan's copies: host memory, peers, and patterns of several copies at once. `transfers=h>0+0>1` names them.
#include <algorithm>
#include <string>

#include "plan_parts.h"

namespace weft::measure {
namespace {

constexpr int kHost = -1;
using Transfers = std::vector<std::pair<int, int>>;

std::string text_of(const Transfers& transfers) {
  std::string text;
  for (const auto& [from, to] : transfers) {
    if (!text.empty()) text += '+';
    text += (from == kHost ? "h" : std::to_string(from)) + ">" + (to == kHost ? "h" : std::to_string(to));
  }
  return text;
}

Point copy(const char* engine, const char* pattern, const Transfers& transfers, std::int64_t bytes, bool quick) {
  Point point{.kind = "copy", .parameters = {}, .set = quick_if(quick)};
  return point.with("engine", engine).with("pattern", pattern).with("transfers", text_of(transfers)).with("bytes", bytes);
}

struct Pattern {
  const char* name;
  Transfers transfers;
};

std::vector<Pattern> peer_patterns(int gpus) {
  std::vector<Pattern> patterns{{"bidirectional", {{0, 1}, {1, 0}}}};
  if (gpus == 2) return patterns;
  Pattern disjoint{"disjoint", {}};
  Pattern ring{"ring", {}};
  Pattern incast{"incast", {}};
  Pattern outcast{"outcast", {}};
  Pattern all{"all_to_all", {}};
  for (int gpu = 0; gpu < gpus; ++gpu) {
    if (gpu % 2 == 0 && gpu + 1 < gpus) disjoint.transfers.emplace_back(gpu, gpu + 1);
    ring.transfers.emplace_back(gpu, (gpu + 1) % gpus);
    if (gpu > 0) incast.transfers.emplace_back(gpu, 0);
    if (gpu > 0) outcast.transfers.emplace_back(0, gpu);
    for (int other = 0; other < gpus; ++other) {
      if (other != gpu) all.transfers.emplace_back(gpu, other);
    }
  }
  for (Pattern* pattern : {&disjoint, &ring, &incast, &outcast, &all}) patterns.push_back(std::move(*pattern));
  return patterns;
}

bool reaches(const NodeFacts& node, int from, int to) {
  return std::find(node.peers.begin(), node.peers.end(), std::pair{from, to}) != node.peers.end();
}

// Kernels need every pair's memory; the copy engine goes through the host where it must.
bool all_reach(const NodeFacts& node, const Transfers& transfers) {
  return std::all_of(transfers.begin(), transfers.end(), [&node](const auto& transfer) {
    return reaches(node, transfer.first, transfer.second) && reaches(node, transfer.second, transfer.first);
  });
}

}  // namespace

std::vector<Point> host_copy_points(int gpus) {
  std::vector<Point> points;
  for (const std::int64_t bytes : powers(4 * kKiB, 256 * kMiB, 4)) {
    const bool quick = bytes == 4 * kKiB || bytes == kMiB || bytes == 16 * kMiB || bytes == 256 * kMiB;
    points.push_back(copy("copy_engine", "h2d", {{kHost, 0}}, bytes, quick));
    points.push_back(copy("copy_engine", "d2h", {{0, kHost}}, bytes, quick));
    points.push_back(copy("copy_engine", "h2d_d2h", {{kHost, 0}, {0, kHost}}, bytes, bytes == 256 * kMiB));
  }
  for (int used = 2; used <= gpus; ++used) {
    Transfers in;
    Transfers out;
    for (int gpu = 0; gpu < used; ++gpu) in.emplace_back(kHost, gpu), out.emplace_back(gpu, kHost);
    Transfers both = in;
    both.insert(both.end(), out.begin(), out.end());
    points.push_back(copy("copy_engine", "h2d", in, 256 * kMiB, used == gpus));
    points.push_back(copy("copy_engine", "d2h", out, 256 * kMiB, used == gpus));
    points.push_back(copy("copy_engine", "h2d_d2h", both, 256 * kMiB, false));
  }
  return points;
}

std::vector<Point> peer_copy_points(const NodeFacts& node) {
  std::vector<Point> points;
  if (node.gpus < 2) return points;
  for (const char* engine : {"copy_engine", "sm", "sm_read"}) {
    const bool by_copy_engine = std::string_view{engine} == "copy_engine";
    const auto add = [&](const char* pattern, const Transfers& transfers, std::int64_t bytes, bool quick) {
      if (by_copy_engine || all_reach(node, transfers)) points.push_back(copy(engine, pattern, transfers, bytes, quick));
    };
    for (const std::int64_t bytes : powers(4 * kKiB, kGiB, 4)) {
      add("peer", {{0, 1}}, bytes, by_copy_engine && bytes >= 4 * kMiB && bytes <= 256 * kMiB);
    }
    for (int from = 0; from < node.gpus; ++from) {
      for (int to = 0; to < node.gpus; ++to) {
        if (from == to || (from == 0 && to == 1)) continue;
        add("peer", {{from, to}}, kMiB, false);
        add("peer", {{from, to}}, 256 * kMiB, false);
      }
    }
    for (const Pattern& pattern : peer_patterns(node.gpus)) {
      add(pattern.name, pattern.transfers, 16 * kMiB, false);
      add(pattern.name, pattern.transfers, 256 * kMiB, by_copy_engine);
    }
  }
  return points;
}

}  // namespace weft::measure
