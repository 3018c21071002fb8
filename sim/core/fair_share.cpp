#include "sim/core/fair_share.h"

#include <algorithm>
#include <numeric>

#include "sim/core/error.h"

namespace weft {
namespace {

// Levels closer than this are one level. Sums of up to 10^5 terms are off by about 10^-11 relative at worst, in practice
// 10^-14.
constexpr double kSameLevel = 1e-11;

// A resource that is fuller than this is left to progressive filling, which alone decides what rounding leaves open.
constexpr double kSurelyFits = 1.0 - 1e-9;

// What a class leaves of a resource below this share of it is rounding of sums: lower classes get nothing of it, rather than a
// rate at which nothing ever ends.
constexpr double kRounding = 1e-9;

// Scratch and problem of one class: resources by their local numbers.
struct ClassView {
  std::span<FairShareFlow> flows;
  std::span<const std::uint32_t> members;
  std::span<const std::uint32_t> local;
  std::span<double> remaining;
  std::span<double> used;  // zero
};

// Where no resource is full with all flows at their caps, these are their rates.
bool fits_at_caps(const ClassView& problem) {
  for (const std::uint32_t f : problem.members) {
    const FairShareFlow& flow = problem.flows[f];
    if (flow.cap == FairShareSolver::kNoCap) return false;
    for (const Usage& usage : flow.usages) problem.used[problem.local[usage.resource.index()]] += usage.usage * flow.cap;
  }
  for (std::size_t l = 0; l < problem.used.size(); ++l) {
    if (problem.used[l] > kSurelyFits * problem.remaining[l]) return false;
  }
  for (const std::uint32_t f : problem.members) {
    FairShareFlow& flow = problem.flows[f];
    flow.rate = flow.cap;
    for (const Usage& usage : flow.usages) problem.remaining[problem.local[usage.resource.index()]] -= usage.usage * flow.cap;
  }
  return true;
}

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
  rounding_.clear();
  for (const FairShareFlow& flow : flows) {
    for (const Usage& usage : flow.usages) {
      const std::size_t global = usage.resource.index();
      if (stamp_[global] == round_) continue;
      stamp_[global] = round_;
      local_[global] = static_cast<std::uint32_t>(remaining_.size());
      remaining_.push_back(capacity_[global]);
      rounding_.push_back(kRounding * capacity_[global]);
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
    for (std::size_t l = 0; l < remaining_.size(); ++l) {
      if (remaining_[l] < rounding_[l]) remaining_[l] = 0;
    }
  }
}

void FairShareSolver::solve_class(std::span<FairShareFlow> flows, std::span<const std::uint32_t> members) {
  const std::size_t resources = remaining_.size();
  demand_.assign(resources, 0.0);
  if (fits_at_caps({flows, members, local_, remaining_, demand_})) return;
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
  // Caps by flow and, behind them, resources: of one level, caps go first.
  const auto flow_count = static_cast<std::uint32_t>(flows.size());
  heap_.clear();
  for (const std::uint32_t f : members) {
    if (flows[f].cap < kNoCap) heap_.push_back({flows[f].cap / flows[f].weight, f});
  }
  for (std::uint32_t l = 0; l < resources; ++l) {
    if (unfixed_[l] > 0) heap_.push_back({std::max(remaining_[l], 0.0) / demand_[l], flow_count + l});
  }
  std::ranges::make_heap(heap_, later);

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

  while (!heap_.empty()) {
    const HeapEntry top = heap_.front();
    std::ranges::pop_heap(heap_, later);
    if (top.local < flow_count) {
      heap_.pop_back();
      if (fixed_[top.local] != 0) continue;
      level = std::max(level, top.level);
      fix(top.local, flows[top.local].cap);
      continue;
    }
    const std::uint32_t l = top.local - flow_count;
    if (unfixed_[l] == 0) {
      heap_.pop_back();
      continue;
    }
    // A resource's level only rises as others' flows are fixed below it, so a stale one is pushed back with its present level.
    const double present = std::max(remaining_[l], 0.0) / demand_[l];
    if (present > top.level * (1.0 + kSameLevel)) {
      heap_.back().level = present;
      std::ranges::push_heap(heap_, later);
      continue;
    }
    heap_.pop_back();
    if (top.level > level * (1.0 + kSameLevel)) level = top.level;
    for (std::uint32_t i = first_flow_[l]; i < first_flow_[l + 1]; ++i) {
      const std::uint32_t f = flow_of_[i];
      if (fixed_[f] == 0) fix(f, std::min(flows[f].weight * level, flows[f].cap));
    }
  }
  for (const std::uint32_t f : members) {
    if (fixed_[f] == 0) flows[f].rate = kNoCap;  // nothing limits it
  }
}

}  // namespace weft
