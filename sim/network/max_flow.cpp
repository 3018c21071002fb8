#include "sim/network/max_flow.h"

#include <algorithm>
#include <limits>

namespace weft::net {

void MaxFlow::add(std::uint32_t a, std::uint32_t b, std::int64_t capacity, std::int64_t back) {
  if (a == b) return;
  edges_of_[a].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({b, capacity});
  edges_of_[b].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({a, back});
}

bool MaxFlow::find_levels(std::uint32_t source, std::uint32_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<std::uint32_t> wave{source};
  for (std::size_t i = 0; i < wave.size(); ++i) {
    for (const std::uint32_t edge : edges_of_[wave[i]]) {
      const std::uint32_t to = edges_[edge].to;
      if (edges_[edge].left <= 0 || level_[to] >= 0) continue;
      level_[to] = level_[wave[i]] + 1;
      wave.push_back(to);
    }
  }
  return level_[sink] >= 0;
}

// Along one way that descends level by level; 0: there is none any more.
std::int64_t MaxFlow::push_one(std::uint32_t source, std::uint32_t sink) {
  std::vector<std::uint32_t> way;
  std::uint32_t at = source;
  while (at != sink) {
    if (tried_[at] < edges_of_[at].size()) {
      const std::uint32_t edge = edges_of_[at][tried_[at]];
      if (edges_[edge].left > 0 && level_[edges_[edge].to] == level_[at] + 1) {
        way.push_back(edge);
        at = edges_[edge].to;
      } else {
        ++tried_[at];
      }
      continue;
    }
    if (way.empty()) return 0;
    at = edges_[way.back() ^ 1U].to;
    ++tried_[at];
    way.pop_back();
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::uint32_t edge : way) least = std::min(least, edges_[edge].left);
  for (const std::uint32_t edge : way) {
    edges_[edge].left -= least;
    edges_[edge ^ 1U].left += least;
  }
  return least;
}

std::int64_t MaxFlow::between(std::uint32_t source, std::uint32_t sink) {
  std::int64_t flow = 0;
  while (find_levels(source, sink)) {
    tried_.assign(edges_of_.size(), 0);
    while (const std::int64_t more = push_one(source, sink)) flow += more;
  }
  return flow;
}

}  // namespace weft::net
