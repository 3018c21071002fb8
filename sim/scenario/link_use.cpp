#include "sim/scenario/link_use.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::scenario {

std::vector<LinkUse> hottest_links(const net::Machine& machine, Duration makespan) {
  std::vector<std::pair<double, ResourceId>> used;
  for (std::size_t i = 0; i < machine.topology.link_count(); ++i) {
    const ResourceId id = ResourceId::from_index(i);
    const double bytes = machine.fabric.counters(id).bytes;
    if (bytes <= 0 || makespan <= Duration{}) continue;
    used.emplace_back(bytes / (machine.fabric.capacity(id) * static_cast<double>(makespan.ps())), id);
  }
  const std::size_t keep = std::min<std::size_t>(used.size(), 10);
  std::partial_sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(keep), used.end(),
                    [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<LinkUse> links;
  for (std::size_t i = 0; i < keep; ++i) {
    const net::ResourceCounters counters = machine.fabric.counters(used[i].second);
    links.push_back({machine.fabric.resource_name(used[i].second), counters.bytes, used[i].first, counters.busy});
  }
  return links;
}

void add_link_bytes(Digest& digest, const net::Machine& machine) {
  for (std::size_t i = 0; i < machine.topology.link_count(); ++i) {
    digest.add(std::llround(machine.fabric.counters(ResourceId::from_index(i)).bytes));
  }
}

}  // namespace weft::scenario
