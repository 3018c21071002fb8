#include "sim/core/fair_share.h"

#include <algorithm>
#include <numeric>

#include "sim/core/error.h"

namespace weft {
namespace {

// Levels closer than this are one level. Sums of up to 10^5 terms are off by about 10^-11 relative at worst, in practice
// 10^-14.
constexpr double kSameLevel = 1e-11;

}  // namespace

ResourceId FairShareSolver::add_resource(double capacity) {
  capacity_.push_back(capacity);
  local_.push_back(0);
  stamp_.push_back(0);
  return ResourceId::from_index(capacity_.size() - 1);
}

void FairShareSolver::solve(std::span<FairShareFlow> flows) {
  // One flow: its bottleneck. The commonest case of all, a message alone on its path.
  if (flows.size() == 1) {
    FairShareFlow& flow = flows[0];
    double rate = flow.cap;
    for (const Usage& usage : flow.usages) rate = std::min(rate, capacity_[usage.resource.index()] / usage.usage);
    flow.rate = rate;
    return;
  }

  ++round_;
  remaining_.clear();
  for (const FairShareFlow& flow : flows) {
    for (const Usage& usage : flow.usages) {
      const std::size_t global = usage.resource.index();
      if (stamp_[global] == round_) continue;
      stamp_[global] = round_;
      local_[global] = static_cast<std::uint32_t>(remaining_.size());
      remaining_.push_back(capacity_[global]);
    }
  }
  order_.resize(flows.size());
  std::iota(order_.begin(), order_.end(), 0U);
  const auto same_priority = [&](const FairShareFlow& f) { return f.priority == flows[0].priority; };
  if (std::ranges::all_of(flows, same_priority)) {
    solve_class(flows, order_);
    return;
  }
  std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
    return flows[a].priority != flows[b].priority ? flows[a].priority > flows[b].priority : a < b;
  });
  for (std::size_t begin = 0; begin < order_.size();) {
    std::size_t end = begin;
    while (end < order_.size() && flows[order_[end]].priority == flows[order_[begin]].priority) ++end;
    solve_class(flows, std::span{order_}.subspan(begin, end - begin));
    begin = end;
  }
}

void FairShareSolver::solve_class(std::span<FairShareFlow> flows, std::span<const std::uint32_t> members) {
  const std::size_t resources = remaining_.size();
  demand_.assign(resources, 0.0);
  unfixed_.assign(resources, 0);
  first_flow_.assign(resources + 1, 0);
  fixed_.assign(flows.size(), 0);

  std::size_t entries = 0;
  for (const std::uint32_t f : members) {
    flows[f].rate = 0.0;
    entries += flows[f].usages.size();
    for (const Usage& usage : flows[f].usages) {
      const std::uint32_t l = local_[usage.resource.index()];
      demand_[l] += usage.usage * flows[f].weight;
      ++unfixed_[l];
    }
  }
  for (std::size_t l = 0; l < resources; ++l) first_flow_[l + 1] = first_flow_[l] + unfixed_[l];
  flow_of_.resize(entries);
  for (const std::uint32_t f : members) {
    for (const Usage& usage : flows[f].usages) {
      const std::uint32_t l = local_[usage.resource.index()];
      flow_of_[first_flow_[l]++] = f;
    }
  }
  for (std::size_t l = resources; l > 0; --l) first_flow_[l] = first_flow_[l - 1];
  first_flow_[0] = 0;

  const auto later = [](const HeapEntry& a, const HeapEntry& b) {
    return a.level != b.level ? a.level > b.level : a.local > b.local;
  };
  heap_.clear();
  for (std::uint32_t l = 0; l < resources; ++l) {
    if (unfixed_[l] > 0) heap_.push_back({std::max(remaining_[l], 0.0) / demand_[l], l});
  }
  std::ranges::make_heap(heap_, later);

  by_cap_.clear();
  for (const std::uint32_t f : members) {
    if (flows[f].cap < kNoCap) by_cap_.push_back(f);
  }
  const auto cap_level = [&](std::uint32_t f) { return flows[f].cap / flows[f].weight; };
  std::ranges::sort(by_cap_, [&](std::uint32_t a, std::uint32_t b) {
    return cap_level(a) != cap_level(b) ? cap_level(a) < cap_level(b) : a < b;
  });

  double level = 0.0;
  const auto fix = [&](std::uint32_t f, double rate) {
    fixed_[f] = 1;
    flows[f].rate = rate;
    for (const Usage& usage : flows[f].usages) {
      const std::uint32_t l = local_[usage.resource.index()];
      remaining_[l] -= usage.usage * rate;
      demand_[l] -= usage.usage * flows[f].weight;
      --unfixed_[l];
    }
  };

  std::size_t next_cap = 0;
  while (true) {
    while (next_cap < by_cap_.size() && fixed_[by_cap_[next_cap]] != 0) ++next_cap;
    // A resource's level only rises as others' flows are fixed below it, so a stale top is pushed back with its present level.
    while (!heap_.empty()) {
      const HeapEntry top = heap_.front();
      if (unfixed_[top.local] == 0) {
        std::ranges::pop_heap(heap_, later);
        heap_.pop_back();
        continue;
      }
      const double present = std::max(remaining_[top.local], 0.0) / demand_[top.local];
      if (present <= top.level * (1.0 + kSameLevel)) break;
      std::ranges::pop_heap(heap_, later);
      heap_.back().level = present;
      std::ranges::push_heap(heap_, later);
    }
    const bool cap_first = next_cap < by_cap_.size() && (heap_.empty() || cap_level(by_cap_[next_cap]) <= heap_.front().level);
    if (cap_first) {
      const std::uint32_t f = by_cap_[next_cap++];
      level = std::max(level, cap_level(f));
      fix(f, flows[f].cap);
      continue;
    }
    if (heap_.empty()) break;
    const HeapEntry top = heap_.front();
    std::ranges::pop_heap(heap_, later);
    heap_.pop_back();
    if (top.level > level * (1.0 + kSameLevel)) level = top.level;
    for (std::uint32_t i = first_flow_[top.local]; i < first_flow_[top.local + 1]; ++i) {
      const std::uint32_t f = flow_of_[i];
      if (fixed_[f] == 0) fix(f, std::min(flows[f].weight * level, flows[f].cap));
    }
  }
  for (const std::uint32_t f : members) {
    if (fixed_[f] == 0) flows[f].rate = kNoCap;  // nothing limits it
  }
}

}  // namespace weft
