// The flow fabric's solves: the rates of an instant, of the transfers that what happened in it reaches.
//
// The fabric keeps a proof that its rates are fair: each transfer moves at its limit, or passes a *full* resource on which none
// has more for its weight. A full resource's *level* is what its highest transfer has. So a change is followed only as far as
// it breaks the proof. The resources that it touches are solved, with all transfers on them, while any other resource that they
// pass keeps its level and its other transfers. A resource beyond may be left with too much, or may have been full and be so no
// longer. It is then solved too, again with all of its transfers. Where this goes on, all that hangs together is solved at
// once.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "sim/core/error.h"
#include "sim/network/flow_level/flow_fabric.h"

namespace weft::net {
namespace {

// A resource is full where its transfers leave less than this share of it.
constexpr double kFull = 1e-10;

// A resource with room is solved when this share of it is taken: its sum is kept over many changes.
constexpr double kRoom = 1e-9;

// A change is followed step by step until that has taken so many times what the last whole solve did.
constexpr std::size_t kFar = 8;

// After one that took more than a whole solve, the next are solved whole at once: 1, 3, 7 ... of them, up to this power of two.
constexpr int kMostDoubts = 6;

// Components of more flows than one in so many of all slots are sorted by marking and counting off the slots.
constexpr std::size_t kSparse = 64;
constexpr std::size_t kFewFlows = 8;

}  // namespace

void FlowFabric::solve() {
  for (const std::uint32_t seed : dirty_) {
    if (resources_[seed].dirty) solve_from(seed);
  }
  dirty_.clear();
  arm();
}

// With its flows in ascending order of id, so that the order of every sum is fixed.
void FlowFabric::solve_from(std::uint32_t seed) {
  const bool follows = !all_tight_ && !many_priorities_ && doubtful_ == 0;
  if (doubtful_ > 0) --doubtful_;
  bool whole = !follows;
  std::size_t work = 0;
  while (true) {
    flood(seed, whole);
    beyond_.clear();
    problem_.clear();
    if (component_flows_.empty()) break;
    sort_component_flows();
    for (const std::uint32_t f : component_flows_) {
      const Flow& flow = flows_[f];
      const auto usages = std::span<const Usage>{tight_usages_}.subspan(flow.first_tight, flow.tight_count);
      problem_.push_back({usages, flow.weight, flow.bound, flow.priority, 0.0});
    }
    solver_.solve(problem_);
    ++totals_.solves;
    totals_.solved_flows += problem_.size();
    work += tight_usages_.size();
    if (!reaches_others()) break;
    whole = work > kFar * whole_work_;
  }
  if (whole) whole_work_ = tight_usages_.size();
  if (follows) {
    const bool in_vain = work > whole_work_;
    doubts_ = in_vain ? std::min(doubts_ + 1, kMostDoubts) : 0;
    doubtful_ = in_vain ? (1 << doubts_) - 1 : 0;
  }
  set_rates();
  settle();
}

// From the resource over all flows that hang together by resources to be solved; the others bound them by their levels.
// `whole`: over all tight resources. A seed need not be tight any more: what has left it held its flows back.
void FlowFabric::flood(std::uint32_t seed, bool whole) {
  ++round_;
  const Standing least = whole ? Standing::kOpen : Standing::kClosed;
  resources_[seed].visited = round_;
  component_resources_.assign(1, seed);
  component_flows_.clear();
  tight_usages_.clear();
  for (std::size_t r = 0; r < component_resources_.size(); ++r) {
    ResourceState& resource = resources_[component_resources_[r]];
    std::size_t kept = 0;
    for (const Entry entry : resource.flows) {
      Flow& flow = flows_[entry.flow];
      if (flow.generation != entry.generation || flow.state != State::kMoving) continue;
      resource.flows[kept++] = entry;
      if (flow.visited == round_) continue;
      flow.visited = round_;
      flow.bound = flow.limit;
      component_flows_.push_back(entry.flow);
      flow.first_tight = static_cast<std::uint32_t>(tight_usages_.size());
      for_each_usage(flow.footprint, [&](std::uint32_t bundle, double usage) {
        if (standing_[bundle] < least) return;
        ResourceState& next = resources_[bundle];
        if (!whole && !next.dirty) {
          flow.bound = std::min(flow.bound, flow.weight * next.level);
          return;
        }
        tight_usages_.push_back({ResourceId{bundle}, usage});
        if (next.visited == round_) return;
        next.visited = round_;
        component_resources_.push_back(bundle);
      });
      flow.tight_count = static_cast<std::uint32_t>(tight_usages_.size()) - flow.first_tight;
    }
    resource.flows.resize(kept);
    WEFT_CHECK(kept == resource.live);
  }
}

// Ascending: of many among few by their bits, which takes no comparisons.
void FlowFabric::sort_component_flows() {
  if (component_flows_.size() <= kFewFlows || component_flows_.size() * kSparse < flows_.size()) {
    if (component_flows_.size() > 1) std::ranges::sort(component_flows_);
    return;
  }
  in_component_.resize((flows_.size() + 63) / 64, 0);
  for (const std::uint32_t f : component_flows_) in_component_[f / 64] |= std::uint64_t{1} << (f % 64);
  component_flows_.clear();
  for (std::size_t word = 0; word < in_component_.size(); ++word) {
    for (std::uint64_t bits = std::exchange(in_component_[word], 0); bits != 0; bits &= bits - 1) {
      component_flows_.push_back(static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }
}

// Whether resources beyond the solved ones would not be what they were: then they are to be solved as well.
bool FlowFabric::reaches_others() {
  for (std::size_t i = 0; i < problem_.size(); ++i) {
    const Flow& flow = flows_[component_flows_[i]];
    const double change = problem_[i].rate - flow.rate;
    if (change == 0.0) continue;
    for_each_usage(flow.footprint, [&](std::uint32_t bundle, double usage) {
      if (!is_tight(bundle)) return;
      ResourceState& resource = resources_[bundle];
      if (resource.visited == round_) return;
      if (resource.beyond != round_) {
        resource.beyond = round_;
        resource.change = 0;
        beyond_.push_back(bundle);
      }
      resource.change += usage * change;
    });
  }
  bool reached = false;
  for (const std::uint32_t bundle : beyond_) {
    ResourceState& resource = resources_[bundle];
    const double room = 1.0 - (resource.moves + resource.change) / solver_.capacity(ResourceId{bundle});
    if (standing_[bundle] == Standing::kOpen ? room >= kRoom : std::abs(room) <= 2 * kFull) continue;
    standing_[bundle] = Standing::kClosed;
    resource.dirty = true;
    reached = true;
  }
  return reached;
}

// Where most of the heap moves, it is made anew.
void FlowFabric::set_rates() {
  const Time now = simulator_.now();
  const bool rebuilds = problem_.size() > kFewFlows && 2 * problem_.size() > heap_.size();
  for (std::size_t i = 0; i < problem_.size(); ++i) {
    const std::uint32_t index = component_flows_[i];
    Flow& flow = flows_[index];
    const bool timed = flow.heap_position != kNowhere && flow.rate > 0;
    if (problem_[i].rate == flow.rate && timed) continue;
    flow.remaining = bytes_left(flow);
    flow.updated = now;
    flow.rate = problem_[i].rate;
    tell_rate(flow, flow.rate);
    const Time finish = finish_at(flow);
    if (!rebuilds) {
      heap_update(index, finish);
    } else if (flow.heap_position != kNowhere) {
      heap_[flow.heap_position].finish = finish;
    } else {
      heap_.push_back({finish, index});
      flow.heap_position = static_cast<std::uint32_t>(heap_.size() - 1);
    }
  }
  if (rebuilds) heap_rebuild();
}

// Brings up to date what is known of resources, once rates are set.
void FlowFabric::settle() {
  for (const std::uint32_t bundle : beyond_) resources_[bundle].moves += resources_[bundle].change;
  for (const std::uint32_t bundle : component_resources_) {
    resources_[bundle].dirty = false;
    resources_[bundle].moves = 0;
    resources_[bundle].level = 0;
  }
  for (const FairShareFlow& flow : problem_) {
    for (const Usage& usage : flow.usages) {
      ResourceState& resource = resources_[usage.resource.index()];
      resource.moves += usage.usage * flow.rate;
      resource.level = std::max(resource.level, flow.rate / flow.weight);
    }
  }
  for (const std::uint32_t bundle : component_resources_) {
    const ResourceState& resource = resources_[bundle];
    const bool full = all_tight_ || resource.moves >= (1.0 - kFull) * solver_.capacity(ResourceId{bundle});
    if (is_tight(bundle)) standing_[bundle] = full ? Standing::kClosed : Standing::kOpen;
  }
}

}  // namespace weft::net
