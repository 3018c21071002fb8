#include "sim/network/parted_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/parallel.h"
#include "sim/core/windowed_run.h"
#include "sim/network/fabric_part.h"
#include "sim/network/part_reports.h"

namespace weft::net {

PartedFabric::PartedFabric(Simulator& clock, const Router& router, std::string_view routing, const PacketSettings& settings,
                           std::uint64_t seed, const Partition& partition, const PartHands& hands)
    : clock_{clock},
      router_{router},
      settings_{settings},
      seed_{seed},
      topology_{router.topology()},
      partition_{partition},
      hands_{hands},
      lookahead_{lookahead(topology_, partition, settings)},
      room_{partition.parts},
      parts_(partition.parts) {
  if (partition.parts < 2) throw CannotRunInParts("the fabric does not come apart");
  if (lookahead_ == Duration::max()) throw CannotRunInParts("the parts have no links between them");
  if (lookahead_ <= Duration{}) throw CannotRunInParts("a link between the parts has no latency");
  begin_together();
  router.find_all_distances(hands_.threads);
  on_threads(parts_.size(), hands_.threads, [&](std::size_t part) {
    if (processes_ > 1 && process_of(part) != hands_.processes->rank()) return;
    parts_[part] = std::make_unique<Part>(*this, router, routing, settings, seed, part);
  });
  for (const auto& part : parts_) {
    if (part != nullptr) own_.push_back(part.get());
  }
}

PartedFabric::~PartedFabric() {
  const std::array<HeldMemory, kMemoryKinds> all = held();
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
    if (all[kind].count > 0) note_memory(static_cast<MemoryKind>(kind), all[kind]);
  }
}

std::array<HeldMemory, kMemoryKinds> PartedFabric::held() const {
  std::array<HeldMemory, kMemoryKinds> held;
  for (const Part* part : own_) part->fabric.add_held(held);
  return held;
}

// A crossing takes a link's latency at least; packets that go on from a switch there, that switch's own too.
Duration lookahead(const Topology& topology, const Partition& partition, const PacketSettings& settings) {
  const auto pauses = [](const PfcSettings& pfc) { return pfc.priorities != 0; };
  const bool any_pfc =
      pauses(settings.pfc) || std::ranges::any_of(settings.own, [&](const DeviceSettings& own) { return pauses(own.pfc); });
  const bool signals = any_pfc || settings.credits.enabled || settings.transport.acks == AckMode::kFree ||
                       settings.transport.cnps == AckMode::kFree;
  Duration shortest = Duration::max();
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const Link& link = topology.link(id);
    if (!partition.is_cut(link)) continue;
    const LinkSpec& spec = topology.spec(id);
    Duration least = spec.latency;
    if (!signals && spec.type != "infiniband" && topology.host_of(link.to) < 0) least += topology.forwarding(link.to).latency;
    shortest = std::min(shortest, least);
  }
  return shortest;
}

void PartedFabric::post_at(Time start, const Transfer& transfer) {
  WEFT_CHECK(transfer.tag == posted_.size());
  posted_.push_back({start, transfer});
  ends_.push_back(Time::max());
}

void PartedFabric::run() {
  try {
    run_windows();
    gather();
  } catch (const CannotRunInParts&) {
    if (is_first()) throw;
    throw ServedOthers{};
  }
  close();
}

void PartedFabric::run_windows() {
  flows_ = std::make_unique<PartFlows>(router_, settings_, seed_, footprints_);
  on_threads(own_.size(), hands_.threads, [&](std::size_t part) { own_[part]->prepare(*flows_); });
  Time first = Time::max();
  for (const Part* part : own_) first = std::min(first, part->simulator.next_time());
  WindowedRun::Meeting meeting;
  const WindowedRun* run = nullptr;
  if (processes_ > 1) {
    first = meet(0, first, nullptr);
    meeting = [&](Time next, const std::exception_ptr& error) { return meet(run->windows(), next, error); };
  }
  WindowedRun windows{{own_.begin(), own_.end()}, first, lookahead_, hands_.threads, std::move(meeting)};
  run = &windows;
  const auto go_on = [&](Time begin) {
    std::uint64_t events = 0;
    for (const Part* part : own_) events += part->simulator.events();
    clock_.count_elsewhere(events - std::exchange(counted_, events));
    if (begin > clock_.now() + Duration::from_ps(1)) clock_.run_until(begin - Duration::from_ps(1));
    return processes_ > 1 ? !all_stop_ : !clock_.stopped();
  };
  while (true) {
    const Time pause = clock_.next_time();
    windows.run_until(pause, go_on);
    if (pause == Time::max() || clock_.stopped() || all_stop_) break;
    for (Part* part : own_) part->simulator.run_until(pause);
    clock_.run_until(pause);
  }
  static_cast<void>(go_on(Time{}));  // the last window's events
  if (all_stop_) clock_.request_stop();
  windows_ = windows.windows();
}

void PartedFabric::close() {
  if (!clock_.stopped()) {
    if (std::ranges::find(ends_, Time::max()) != ends_.end()) throw CannotRunInParts("a flow did not end");
    bool any_paused = told_ != nullptr && told_->any_paused;
    for (const Part* part : own_) any_paused |= part->fabric.any_paused();
    if (any_paused) throw CannotRunInParts("a link stays paused");
  }
  if (told_ != nullptr) pauses_ = std::move(told_->pauses);
  for (const Part* part : own_) {
    const std::vector<PauseRecord>& more = part->fabric.pauses();
    pauses_.insert(pauses_.end(), more.begin(), more.end());
  }
  // Those of one instant by part, whichever process had it.
  std::ranges::stable_sort(pauses_, {}, [&](const PauseRecord& one) { return std::pair{one.start, begin_of(one.link)}; });
  count_peak();
}

// The transfers at once, which no part knows: at one instant, what ends makes room before what begins.
void PartedFabric::count_peak() {
  std::vector<std::pair<Time, int>> changes;
  for (std::size_t tag = 0; tag < posted_.size(); ++tag) {
    changes.emplace_back(posted_[tag].start, 1);
    if (ends_[tag] != Time::max()) changes.emplace_back(ends_[tag], -1);
  }
  std::ranges::sort(changes);
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const auto& [time, by] : changes) peak = std::max(peak, live += by);
  totals_.peak_live = static_cast<std::uint64_t>(peak);
}

std::size_t PartedFabric::begin_of(LinkId link) const { return partition_.of(topology_.link(link).from); }
std::size_t PartedFabric::end_of(LinkId link) const { return partition_.of(topology_.link(link).to); }
std::size_t PartedFabric::source_of(FootprintId flow) const { return partition_.of(footprints_[flow.index()].paths[0].source); }
std::size_t PartedFabric::destination_of(FootprintId flow) const {
  return partition_.of(footprints_[flow.index()].paths[0].destination);
}
const PartedFabric::Part& PartedFabric::own_part(std::size_t part) const {
  WEFT_CHECK(is_here(part));
  return *parts_[part];
}

ResourceId PartedFabric::add_resource(std::string name, double /*capacity*/) {
  throw InternalError(fmt::format("packets share links only, not '{}'", name));
}

std::string PartedFabric::resource_name(ResourceId resource) const { return topology_.name(LinkId{resource.value()}); }
double PartedFabric::capacity(ResourceId resource) const { return topology_.spec(LinkId{resource.value()}).capacity(); }
std::size_t PartedFabric::resource_count() const { return topology_.link_count(); }

FootprintId PartedFabric::add_footprint(Footprint footprint) {
  footprints_.push_back(std::move(footprint));
  return FootprintId::from_index(footprints_.size() - 1);
}

void PartedFabric::set_transport(FootprintId, const FlowTransport&) {
  throw InternalError("flows in parts have the fabric's transport");
}

PacketShape PartedFabric::packet_shape() const { return own_.front()->fabric.packet_shape(); }

TransferId PartedFabric::post(const Transfer&, TransferListener&) {
  throw InternalError("what moves in parts is posted before the run");
}

void PartedFabric::fail(ResourceId) { throw InternalError("links in parts do not fail"); }
void PartedFabric::restore(ResourceId) { throw InternalError("links in parts do not fail"); }

ResourceCounters PartedFabric::counters(ResourceId resource) const {
  const std::size_t part = begin_of(LinkId{resource.value()});
  return is_here(part) ? parts_[part]->fabric.counters(resource) : told_of(&PartReports::counters, resource.index());
}

const FabricTotals& PartedFabric::totals() const {
  totals_.posted = totals_.delivered = totals_.aborted = 0;
  const auto add = [&](const FabricTotals& its) {
    totals_.posted += its.posted;
    totals_.delivered += its.delivered;
    totals_.aborted += its.aborted;
  };
  for (const Part* part : own_) add(part->fabric.totals());
  if (told_ != nullptr) add(told_->totals);
  return totals_;
}

void PartedFabric::check_conservation() const {
  const FabricTotals& all = totals();
  if (all.posted == all.delivered + all.aborted) return;
  throw InternalError(
      fmt::format("{} transfers were posted, {} delivered, {} aborted", all.posted, all.delivered, all.aborted));
}

double PartedFabric::utilization(LinkId link, double bytes, Duration busy, Duration window) const {
  return own_.front()->fabric.utilization(link, bytes, busy, window);
}

void PartedFabric::reset_peaks() {
  for (Part* part : own_) part->fabric.reset_peaks();
}

PortCounters PartedFabric::port(LinkId link) const {
  const std::size_t begin = begin_of(link);
  const std::size_t end = end_of(link);
  PortCounters out = is_here(begin) ? parts_[begin]->fabric.port(link) : told_of(&PartReports::begins, link.index());
  if (begin == end) return out;
  const PortCounters there = is_here(end) ? parts_[end]->fabric.port(link) : told_of(&PartReports::ends, link.index());
  out.peak_ingress_bytes = there.peak_ingress_bytes;
  out.drops += there.drops;
  return out;
}

std::int64_t PartedFabric::queued_bytes(LinkId link) const { return own_part(begin_of(link)).fabric.queued_bytes(link); }
std::int64_t PartedFabric::queued_bytes(LinkId link, int priority) const {
  return own_part(begin_of(link)).fabric.queued_bytes(link, priority);
}
std::int64_t PartedFabric::ingress_bytes(LinkId link) const { return own_part(end_of(link)).fabric.ingress_bytes(link); }

FlowCounters PartedFabric::flow(FootprintId flow) const {
  const std::size_t source = source_of(flow);
  const std::size_t destination = destination_of(flow);
  FlowCounters out = is_here(source) ? parts_[source]->fabric.flow(flow) : told_of(&PartReports::sources, flow.index());
  out.delivered_wire_bytes = is_here(destination) ? parts_[destination]->fabric.flow(flow).delivered_wire_bytes
                                                  : told_of(&PartReports::delivered, flow.index());
  return out;
}

double PartedFabric::flow_state(FootprintId flow, std::string_view name) const {
  return own_part(source_of(flow)).fabric.flow_state(flow, name);
}

std::uint64_t PartedFabric::packet_hops() const {
  std::uint64_t hops = told_ == nullptr ? 0 : told_->hops;
  for (const Part* part : own_) hops += part->fabric.packet_hops();
  return hops;
}

}  // namespace weft::net
