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

// A class may leave less than this share of a resource by rounding of sums. Lower classes get nothing of it, rather than a rate
// at which nothing ever ends.
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

// Whether all flows take the same path: the messages of a collective's channels between two GPUs, say.
bool share_one_path(std::span<const FairShareFlow> flows) {
  const std::span<const Usage> path = flows[0].usages;
  if (path.empty()) return false;
  // A resource that is named twice would be summed up in another order.
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (!(path[i - 1].resource < path[i].resource)) return false;
  }
  return std::ranges::all_of(flows.subspan(1), [&](const FairShareFlow& flow) {
    return flow.priority == flows[0].priority && std::ranges::equal(flow.usages, path);
  });
}

// Progressive filling over one path, without the search for who meets whom: flows whose caps lie below the level are fixed, in
// the order of the caps, which raises it, and so on until none does. By the same arithmetic in the same order as below, so that
// rates are the same to the last bit. The rest is scratch.
void solve_one_path(std::span<FairShareFlow> flows, std::span<const double> capacity, std::vector<double>& remaining,
                    std::vector<double>& demand, std::vector<double>& levels, auto& caps) {
  const std::span<const Usage> path = flows[0].usages;
  remaining.clear();
  for (const Usage& usage : path) remaining.push_back(capacity[usage.resource.index()]);
  demand.resize(path.size());
  const auto add_up = [&](const auto& of_flow) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      double sum = 0.0;
      for (const FairShareFlow& flow : flows) sum += path[i].usage * of_flow(flow);
      demand[i] = sum;
    }
  };
  bool fits = std::ranges::all_of(flows, [](const FairShareFlow& flow) { return flow.cap < FairShareSolver::kNoCap; });
  if (fits) {
    add_up([](const FairShareFlow& flow) { return flow.cap; });
    for (std::size_t i = 0; i < path.size(); ++i) fits = fits && demand[i] <= kSurelyFits * remaining[i];
  }
  if (fits) {
    for (FairShareFlow& flow : flows) flow.rate = flow.cap;
    return;
  }
  add_up([](const FairShareFlow& flow) { return flow.weight; });
  levels.clear();
  for (std::size_t i = 0; i < path.size(); ++i) levels.push_back(remaining[i] / demand[i]);
  caps.resize(flows.size());
  for (std::uint32_t f = 0; f < flows.size(); ++f) caps[f] = {flows[f].cap / flows[f].weight, f};
  std::ranges::sort(caps,
                    [](const auto& a, const auto& b) { return a.level != b.level ? a.level < b.level : a.local < b.local; });
  double level = 0.0;
  std::size_t fixed = 0;
  while (true) {
    const auto narrowest = static_cast<std::size_t>(std::ranges::min_element(levels) - levels.begin());
    const double reached = levels[narrowest];
    for (; fixed < caps.size() && caps[fixed].level <= reached; ++fixed) {
      FairShareFlow& flow = flows[caps[fixed].local];
      flow.rate = flow.cap;
      level = caps[fixed].level;
      for (std::size_t i = 0; i < path.size(); ++i) {
        remaining[i] -= path[i].usage * flow.cap;
        demand[i] -= path[i].usage * flow.weight;
      }
    }
    if (fixed == caps.size()) return;
    const double present = std::max(remaining[narrowest], 0.0) / demand[narrowest];
    if (present <= reached * (1.0 + kSameLevel)) {
      if (reached > level * (1.0 + kSameLevel)) level = reached;
      break;
    }
    levels[narrowest] = present;
  }
  for (; fixed < caps.size(); ++fixed) {
    FairShareFlow& flow = flows[caps[fixed].local];
    flow.rate = std::min(flow.weight * level, flow.cap);
  }
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
  if (!flows.empty() && share_one_path(flows)) {
    solve_one_path(flows, capacity_, remaining_, demand_, rounding_, heap_);
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

// In one piece: its lists, the heap and the loop that fixes rates share every array.
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
  std::size_t left = members.size();
  const auto fix = [&](std::uint32_t f, double rate) {
    fixed_[f] = 1;
    --left;
    flows[f].rate = rate;
    for (const Usage& usage : flows[f].usages) {
      const std::uint32_t l = local_[usage.resource.index()];
      remaining_[l] -= usage.usage * rate;
      demand_[l] -= usage.usage * flows[f].weight;
      --unfixed_[l];
    }
  };

  while (left > 0 && !heap_.empty()) {
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
