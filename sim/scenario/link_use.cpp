#include "sim/scenario/link_use.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::scenario {

LinkTally::LinkTally(const net::Machine& machine)
    : machine_{machine}, seen_(machine.topology.link_count()), sums_(machine.topology.link_count()) {}

void LinkTally::add(std::int64_t calls, std::int64_t simulated) {
  const double share = static_cast<double>(calls) / static_cast<double>(simulated);
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const net::ResourceCounters now = machine_.fabric.counters(ResourceId::from_index(i));
    const auto busy = static_cast<double>(now.busy.ps());
    sums_[i].bytes += share * (now.bytes - seen_[i].bytes);
    sums_[i].busy += share * (busy - seen_[i].busy);
    seen_[i] = {now.bytes, busy};
  }
}

std::vector<LinkUse> LinkTally::hottest(Duration makespan) const {
  std::vector<std::pair<double, ResourceId>> used;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const ResourceId id = ResourceId::from_index(i);
    if (sums_[i].bytes <= 0 || makespan <= Duration{}) continue;
    used.emplace_back(sums_[i].bytes / (machine_.fabric.capacity(id) * static_cast<double>(makespan.ps())), id);
  }
  const std::size_t keep = std::min<std::size_t>(used.size(), 10);
  std::partial_sort(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(keep), used.end(),
                    [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<LinkUse> links;
  for (std::size_t i = 0; i < keep; ++i) {
    const Count& sum = sums_[used[i].second.index()];
    links.push_back(
        {machine_.fabric.resource_name(used[i].second), sum.bytes, used[i].first, Duration::from_ps(std::llround(sum.busy))});
  }
  return links;
}

std::vector<LinkUse> hottest_links(const net::Machine& machine, Duration makespan) {
  LinkTally all{machine};
  all.add(1, 1);
  return all.hottest(makespan);
}

void add_link_bytes(Digest& digest, const net::Machine& machine) {
  for (std::size_t i = 0; i < machine.topology.link_count(); ++i) {
    digest.add(std::llround(machine.fabric.counters(ResourceId::from_index(i)).bytes));
  }
}

}  // namespace weft::scenario
