#include "sim/network/flow_level/flow_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "sim/core/error.h"
#include "sim/network/flow_level/rerouting.h"
#include "sim/network/flow_transport.h"

namespace weft::net {
namespace {

// A flow whose remainder is below this many bytes has ended: the rounding of rate x time, far below what any result shows.
constexpr double kNothing = 1e-6;

// A resource loaded by more than this share of its capacity counts as tight: sums of many limits are not exact.
constexpr double kTight = 1.0 - 1e-9;

// A resource's list may hold so many stale entries beside as many again as there are live ones.
constexpr std::size_t kStale = 16;

// Traffic that stays below a resource's capacity by less than this share of it may fill it: a sum kept over many changes is
// rounded.
constexpr double kSurelyFits = 1.0 - 1e-9;

}  // namespace

FlowFabric::FlowFabric(Simulator& simulator, const Topology& topology)
    : simulator_{simulator},
      topology_{topology},
      component_{simulator.add_component("flow fabric")},
      completion_{simulator, component_, Phase::kCompletion, [this] { complete(); }},
      solve_{simulator, component_, Phase::kSolve, [this] { solve(); }} {
  for (std::size_t i = 0; i < topology.link_count(); ++i) add_bundle(topology.spec(LinkId::from_index(i)).capacity());
}

ResourceId FlowFabric::add_resource(std::string name, double capacity) {
  extra_names_.push_back(std::move(name));
  add_bundle(capacity);
  return ResourceId::from_index(bundles_.resource_count() - 1);
}

// Adds one resource, and a bundle for it where no other resource has its capacity.
void FlowFabric::add_bundle(double capacity) {
  if (!bundles_.add_resource(capacity)) return;
  resources_.emplace_back().tight_from = kTight * capacity;
  standing_.push_back(Standing::kLoose);
  solver_.add_resource(capacity);
  if (!marked_.empty()) marked_.emplace_back();
}

void FlowFabric::take_parts(std::span<const Bundles::Split> splits) {
  for (const auto& [from, part] : splits) {
    resources_.push_back(ResourceState{resources_[from]});
    standing_.push_back(standing_[from]);
    solver_.add_resource(solver_.capacity(ResourceId{from}));
    if (resources_[part].dirty) dirty_.push_back(part);
    if (!marked_.empty()) marked_.push_back(marked_[from]);
  }
}

std::string FlowFabric::resource_name(ResourceId resource) const {
  if (resource.index() < topology_.link_count()) return topology_.name(LinkId{resource.value()});
  return extra_names_[resource.index() - topology_.link_count()];
}

FootprintId FlowFabric::add_footprint(Footprint footprint) {
  const auto id = FootprintId::from_index(footprints_.size());
  footprints_.push_back(std::move(footprint));
  take_parts(bundles_.set(id, footprints_.back().usages));
  alone_.push_back(alone(id.value()));
  return id;
}

double FlowFabric::alone(std::uint32_t footprint) const {
  double rate = FairShareSolver::kNoCap;
  for_each_usage(footprint, [&](std::uint32_t bundle, double usage) {
    rate = std::min(rate, solver_.capacity(ResourceId{bundle}) / usage);
  });
  return rate;
}

void FlowFabric::set_transport(FootprintId footprint, const FlowTransport& transport) {
  if (!transport.rate) return;
  if (paces_.size() <= footprint.index()) paces_.resize(footprint.index() + 1);
  paces_[footprint.index()] = *transport.rate;
}

TransferId FlowFabric::post(const Transfer& transfer, TransferListener& listener) { return post(transfer, listener, false); }

TransferId FlowFabric::post_shadow(const Transfer& transfer, TransferListener& listener) {
  return post(transfer, listener, true);
}

TransferId FlowFabric::post(const Transfer& transfer, TransferListener& listener, bool shadow) {
  const Footprint& path = footprints_[transfer.footprint.index()];
  if (live_ == 0) {
    first_free_ = kNowhere;
    unused_ = 0;
    first_priority_ = transfer.priority;
    many_priorities_ = false;
    whole_work_ = 0;
    doubts_ = 0;
    doubtful_ = 0;
  }
  std::uint32_t index = first_free_;
  if (index == kNowhere) {
    index = unused_++;
    if (index == flows_.size()) flows_.emplace_back();
  } else {
    first_free_ = flows_[index].next_free;
  }
  Flow& flow = flows_[index];
  const std::uint64_t visited = flow.visited;
  const std::uint32_t generation = flow.generation;
  flow = Flow{};
  flow.visited = visited;
  flow.generation = generation;
  flow.listener = &listener;
  flow.tag = transfer.tag;
  flow.weight = transfer.weight;
  if (transfer.rate_cap > Bandwidth{}) {
    flow.cap = transfer.rate_cap.bytes_per_ps();
  } else if (!shadow && transfer.footprint.index() < paces_.size() && paces_[transfer.footprint.index()] > Bandwidth{}) {
    flow.cap = paces_[transfer.footprint.index()].bytes_per_ps();
  }
  flow.bytes = transfer.bytes.count();
  flow.remaining = static_cast<double>(flow.bytes);
  flow.footprint = transfer.footprint.value();
  flow.latency = path.latency_of(transfer.bytes) + transfer.extra_latency;
  flow.priority = transfer.priority;
  many_priorities_ = many_priorities_ || transfer.priority != first_priority_;
  flow.shadow = shadow;
  flow.updated = simulator_.now();
  flow.state = State::kMoving;
  ++totals_.posted;
  totals_.peak_live = std::max<std::uint64_t>(totals_.peak_live, ++live_);

  if (is_held(transfer.footprint)) {
    flow.state = State::kHeld;
  } else if (is_cut(transfer.footprint.value())) {
    flow.state = State::kRefused;
    deliver_later(index, {});
  } else {
    begin(index);
  }
  return TransferId{index};
}

void FlowFabric::begin(std::uint32_t index) {
  Flow& flow = flows_[index];
  const bool shares = !footprints_[flow.footprint].usages.empty();
  if (flow.bytes > 0 && shares) {
    enter(index);
    return;
  }
  if (flow.bytes == 0 || flow.cap == FairShareSolver::kNoCap) {
    // Nothing to share: it has left at once. By way of the heap, so that callbacks never come from inside post().
    flow.remaining = 0;
    heap_update(index, simulator_.now());
  } else {
    set_rate(index, flow.cap);
  }
  arm();
}

std::vector<std::uint32_t> FlowFabric::flows_on(std::span<const FootprintId> footprints, State state) const {
  std::vector<std::uint32_t> found;
  if (footprints.empty()) return found;
  for (std::uint32_t index = 0; index < flows_.size(); ++index) {
    const Flow& flow = flows_[index];
    if (flow.state == state && std::ranges::binary_search(footprints, FootprintId{flow.footprint})) found.push_back(index);
  }
  std::ranges::stable_sort(found, {}, [this](std::uint32_t index) { return flows_[index].footprint; });
  return found;
}

void FlowFabric::hold(std::span<const FootprintId> footprints) {
  if (held_.size() < footprints_.size()) held_.resize(footprints_.size(), false);
  for (const FootprintId footprint : footprints) held_[footprint.index()] = true;
  for (const std::uint32_t index : flows_on(footprints, State::kMoving)) {
    Flow& flow = flows_[index];
    if (flow.bytes == 0) continue;
    flow.remaining = bytes_left(flow);
    heap_remove(index);
    const double gone = static_cast<double>(flow.bytes) - flow.remaining;
    leave(index, gone);
    flow.rate = 0;
    ++flow.generation;  // its entries there are stale
    flow.before = gone;
    flow.state = State::kHeld;
  }
  if (!footprints.empty() && !solve_.armed()) arm();
}

void FlowFabric::go_on(std::span<const FootprintId> footprints) {
  for (const FootprintId footprint : footprints) held_[footprint.index()] = false;
  for (const std::uint32_t index : flows_on(footprints, State::kHeld)) {
    flows_[index].state = State::kMoving;
    flows_[index].updated = simulator_.now();
    begin(index);
  }
}

void FlowFabric::abort_held(std::span<const FootprintId> footprints) {
  for (const FootprintId footprint : footprints) held_[footprint.index()] = false;
  for (const std::uint32_t index : flows_on(footprints, State::kHeld)) {
    if (flows_[index].state == State::kHeld) abort(index);
  }
}

void FlowFabric::abort(std::uint32_t index) {
  TransferListener& listener = *flows_[index].listener;
  const std::uint64_t tag = flows_[index].tag;
  ++totals_.aborted;
  release(index);
  listener.on_aborted(TransferId{index}, tag);
}

void FlowFabric::enter(std::uint32_t index) {
  Flow& flow = flows_[index];
  flow.limit = std::min(flow.cap, alone_[flow.footprint]);
  bool shares = false;
  for_each_usage(flow.footprint, [&](std::uint32_t bundle, double usage) {
    ResourceState& resource = resources_[bundle];
    if (resource.flows.size() >= 2 * std::size_t{resource.live} + kStale) drop_stale(resource);
    resource.flows.push_back({index, flow.generation});
    if (!flow.shadow) ++resource.counted.transfers;
    resource.load += usage * flow.limit;
    if (resource.live++ == 0) resource.busy_since = simulator_.now();
    const bool was_open = standing_[bundle] == Standing::kOpen;
    if (resource.live > 1 || all_tight_) update_tight(bundle);
    if (!is_tight(bundle)) return;
    if (was_open && resource.moves + usage * flow.limit <= kSurelyFits * solver_.capacity(ResourceId{bundle})) return;
    shares = true;
    mark_dirty(bundle);
  });
  if (shares) return;
  for_each_usage(flow.footprint, [&](std::uint32_t bundle, double usage) {
    if (is_tight(bundle)) resources_[bundle].moves += usage * flow.limit;
  });
  set_rate(index, flow.limit);
  if (!solve_.armed()) arm();
}

// A transfer alone is held by its limit.
void FlowFabric::update_tight(std::uint32_t bundle) {
  const ResourceState& resource = resources_[bundle];
  const bool tight = all_tight_ || (resource.live > 1 && resource.load > resource.tight_from);
  if (!tight || !is_tight(bundle)) standing_[bundle] = tight ? Standing::kOpen : Standing::kLoose;
}

void FlowFabric::drop_stale(ResourceState& resource) {
  std::erase_if(resource.flows, [&](const Entry& entry) { return !is_on_its_way(entry); });
  WEFT_CHECK(resource.flows.size() == resource.live);
}

double FlowFabric::bytes_left(const Flow& flow) const {
  return std::max(0.0, flow.remaining - flow.rate * static_cast<double>((simulator_.now() - flow.updated).ps()));
}

void FlowFabric::replace(std::vector<std::pair<FootprintId, Footprint>> changed) {
  std::erase_if(changed, [&](const auto& each) { return footprints_[each.first.index()].usages == each.second.usages; });
  if (changed.empty()) return;
  std::vector<std::uint32_t> moved;
  for (std::uint32_t index = 0; index < flows_.size(); ++index) {
    Flow& flow = flows_[index];
    const bool held = flow.state == State::kHeld;
    if ((flow.state != State::kMoving && !held) || flow.bytes == 0) continue;
    const FootprintId id{flow.footprint};
    const auto found = std::ranges::lower_bound(changed, id, {}, [](const auto& each) { return each.first; });
    if (found == changed.end() || found->first != id) continue;
    const Footprint& old = footprints_[flow.footprint];
    const Bytes bytes{flow.bytes};
    flow.latency += found->second.latency_of(bytes) - old.latency_of(bytes);
    if (held) continue;
    flow.remaining = bytes_left(flow);
    flow.updated = simulator_.now();
    const double gone = static_cast<double>(flow.bytes) - flow.remaining;
    leave(index, gone);
    flow.rate = 0;
    ++flow.generation;  // its entries there are stale
    flow.before = gone;
    moved.push_back(index);
  }
  for (auto& [id, footprint] : changed) {
    footprints_[id.index()] = std::move(footprint);
    take_parts(bundles_.set(id, footprints_[id.index()].usages));
    alone_[id.index()] = alone(id.value());
  }
  for (const std::uint32_t index : moved) enter(index);
}

bool FlowFabric::is_cut(std::uint32_t footprint) const {
  return failed_ > 0 && std::ranges::any_of(footprints_[footprint].usages, [&](const Usage& usage) {
           return resources_[bundle(usage.resource).index()].failed;
         });
}

void FlowFabric::mark_dirty(std::uint32_t bundle) {
  ResourceState& resource = resources_[bundle];
  if (!resource.dirty) dirty_.push_back(bundle);
  resource.dirty = true;
  if (is_tight(bundle)) standing_[bundle] = Standing::kClosed;
  if (!solve_.armed()) solve_.arm(simulator_.now());
}

void FlowFabric::complete() {
  const Time now = simulator_.now();
  while (!heap_.empty() && heap_.front().finish <= now) {
    const std::uint32_t index = heap_.front().index;
    heap_remove(index);
    leave(index, static_cast<double>(flows_[index].bytes));
    flows_[index].state = State::kInFlight;
    // The listener may post, which may move flows_: nothing of this flow is held across the call.
    TransferListener& listener = *flows_[index].listener;
    const Duration latency = flows_[index].latency;
    const std::uint64_t tag = flows_[index].tag;
    deliver_later(index, latency);
    listener.on_source_free(TransferId{index}, tag);
  }
  if (!solve_.armed()) arm();  // the solve arms by the new rates; an event by the old ones would only come too late
}

void FlowFabric::leave(std::uint32_t index, double moved) {
  const Flow& flow = flows_[index];
  if (flow.bytes == 0) return;
  tell_rate(flow, 0);
  for_each_usage(flow.footprint, [&](std::uint32_t bundle, double usage) {
    ResourceState& resource = resources_[bundle];
    if (!flow.shadow)
      resource.counted.byte_parts += static_cast<Int128>(std::round(usage * (moved - flow.before) * kPartsOfByte));
    if (--resource.live == 0) {
      resource.counted.busy += simulator_.now() - resource.busy_since;
      resource.flows.clear();
      resource.load = 0;
      standing_[bundle] = Standing::kLoose;
      return;
    }
    resource.load -= usage * flow.limit;
    if (!is_tight(bundle)) return;
    resource.moves -= usage * flow.rate;
    if (standing_[bundle] == Standing::kClosed) mark_dirty(bundle);
    update_tight(bundle);
  });
}

void FlowFabric::deliver_later(std::uint32_t index, Duration latency) {
  simulator_.schedule(simulator_.now() + latency, Phase::kDelivery, component_, *this, index);
}

void FlowFabric::on_event(std::uint64_t payload) {
  const auto index = static_cast<std::uint32_t>(payload);
  TransferListener& listener = *flows_[index].listener;
  const std::uint64_t tag = flows_[index].tag;
  if (flows_[index].state == State::kRefused) {
    abort(index);
    return;
  }
  ++totals_.delivered;
  release(index);
  listener.on_delivered(TransferId{index}, tag);
}

void FlowFabric::release(std::uint32_t index) {
  flows_[index].state = State::kFree;
  ++flows_[index].generation;
  --live_;
  flows_[index].next_free = first_free_;
  first_free_ = index;
}

Time FlowFabric::finish_at(const Flow& flow) const {
  if (flow.rate <= 0) return Time::max();  // starved by a higher priority until shares change
  if (flow.remaining <= kNothing) return simulator_.now();
  const double left = flow.remaining / flow.rate;
  constexpr double kRange = 9e18;
  if (left >= kRange - static_cast<double>(simulator_.now().ps())) {
    throw ClockError(
        fmt::format("a transfer of {} bytes at {:.3g} GB/s would end after more than 106 days, the range of simulated time",
                    flow.bytes, flow.rate * 1e3));
  }
  const auto whole = static_cast<std::int64_t>(left);
  return simulator_.now() + Duration::from_ps(static_cast<double>(whole) < left ? whole + 1 : whole);
}

void FlowFabric::set_rate(std::uint32_t index, double rate) {
  flows_[index].rate = rate;
  tell_rate(flows_[index], rate);
  heap_update(index, finish_at(flows_[index]));
}

void FlowFabric::arm() {
  if (heap_.empty() || heap_.front().finish == Time::max()) {
    completion_.disarm();
  } else {
    completion_.arm(heap_.front().finish);
  }
}

void FlowFabric::set_link_state(Router& router, std::span<const LinkId> links, bool up, bool returns) {
  if (rerouting_ == nullptr) rerouting_ = std::make_unique<Rerouting>(router, *this);
  rerouting_->set_link_state(links, up, returns);
}

double FlowFabric::moved_bytes(TransferId transfer) const {
  const Flow& flow = flows_[transfer.index()];
  if (flow.state == State::kHeld) return static_cast<double>(flow.bytes) - flow.remaining;
  if (flow.state != State::kMoving) return static_cast<double>(flow.bytes);
  return static_cast<double>(flow.bytes) - bytes_left(flow);
}

void FlowFabric::cut_short(TransferId transfer) {
  const std::uint32_t index = transfer.value();
  const bool held = flows_[index].state == State::kHeld;
  if (flows_[index].state != State::kMoving && !held) return;  // all of it has left
  const double moved = moved_bytes(transfer);
  if (!held) {
    heap_remove(index);
    leave(index, moved);
  }
  Flow& flow = flows_[index];
  flow.bytes = static_cast<std::int64_t>(moved);
  flow.remaining = 0;
  flow.state = State::kInFlight;
  TransferListener& listener = *flow.listener;
  const std::uint64_t tag = flow.tag;
  deliver_later(index, flow.latency);
  if (!solve_.armed()) arm();
  listener.on_source_free(transfer, tag);
}

void FlowFabric::set_rate_cap(TransferId transfer, Bandwidth cap) {
  const std::uint32_t index = transfer.value();
  Flow& flow = flows_[index];
  flow.cap = cap > Bandwidth{} ? cap.bytes_per_ps() : FairShareSolver::kNoCap;
  if (flow.state != State::kMoving || flow.bytes == 0) return;
  flow.remaining = bytes_left(flow);
  flow.updated = simulator_.now();
  const double limit = std::min(flow.cap, alone_[flow.footprint]);
  bool shares = false;
  for_each_usage(flow.footprint, [&](std::uint32_t bundle, double usage) {
    ResourceState& resource = resources_[bundle];
    const bool was_tight = is_tight(bundle);
    resource.load += usage * (limit - flow.limit);
    if (resource.live > 1 || all_tight_) update_tight(bundle);
    if (was_tight || is_tight(bundle)) mark_dirty(bundle);
    shares = shares || is_tight(bundle);
  });
  flow.limit = limit;
  if (shares) return;
  set_rate(index, limit);
  if (!solve_.armed()) arm();
}

void FlowFabric::fail(ResourceId resource) {
  take_parts(bundles_.isolate(resource));
  ResourceState& failed = resources_[bundle(resource).index()];
  failed_ += failed.failed ? 0 : 1;
  failed.failed = true;
  const std::vector<Entry> over = failed.flows;
  for (const Entry& entry : over) {
    if (!is_on_its_way(entry)) continue;
    const std::uint32_t index = entry.flow;
    const Flow& flow = flows_[index];
    const double moved = static_cast<double>(flow.bytes) - bytes_left(flow);
    heap_remove(index);
    leave(index, moved);
    abort(index);
  }
  arm();
}

void FlowFabric::restore(ResourceId resource) {
  ResourceState& restored = resources_[bundle(resource).index()];
  failed_ -= restored.failed ? 1 : 0;
  restored.failed = false;
}

}  // namespace weft::net
