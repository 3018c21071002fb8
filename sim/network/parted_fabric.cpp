#include "sim/network/parted_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/parallel.h"
#include "sim/core/windowed_run.h"
#include "sim/network/builtin.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/packet_level/part_flows.h"

namespace weft::net {

class PartedFabric::Part final : public WindowedPart, private EventTarget, private TransferListener {
 public:
  Part(PartedFabric& owner, const Router& router, std::string_view routing, const PacketSettings& settings, std::uint64_t seed,
       std::size_t self)
      : owner_{owner},
        self_{self},
        router_{router, make_routing_policy(routing), seed},
        mail_{owner.room_, owner.partition_, self},
        posts_{simulator.add_component("flows")},
        fabric{simulator, router_, settings, seed, &mail_} {}

  Time run_window(std::uint64_t window, Time end) override {
    mail_.begin(window, end);
    fabric.take_in(owner_.room_, window - 1);
    simulator.run_until(end - Duration::from_ps(1));
    return std::min(simulator.next_time(), mail_.earliest());
  }

  // Starts or expects those of all flows that are its own.
  void prepare(const PartFlows& flows) {
    fabric.join_flows(flows);
    for (std::size_t tag = 0; tag < owner_.posted_.size(); ++tag) {
      const auto& [start, transfer] = owner_.posted_[tag];
      const Footprint& footprint = owner_.footprints_[transfer.footprint.index()];
      const bool from_here = owner_.partition_.of(footprint.paths[0].source) == self_;
      const bool to_here = owner_.partition_.of(footprint.paths[0].destination) == self_;
      if (from_here) simulator.schedule(start, Phase::kAction, posts_, *this, tag);
      if (to_here && !from_here) fabric.expect(transfer, *this);
    }
  }

 private:
  void on_event(std::uint64_t tag) override { fabric.post(owner_.posted_[tag].transfer, *this); }
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t tag) override { owner_.ends_[tag] = simulator.now(); }
  void on_aborted(TransferId, std::uint64_t) override { throw CannotRunInParts("a flow was aborted"); }

  PartedFabric& owner_;
  std::size_t self_;
  Router router_;
  PartMail mail_;

 public:
  Simulator simulator;

 private:
  ComponentId posts_;

 public:
  PacketFabric fabric;
};

PartedFabric::PartedFabric(Simulator& clock, const Router& router, std::string_view routing, const PacketSettings& settings,
                           std::uint64_t seed, const Partition& partition, int threads)
    : clock_{clock},
      router_{router},
      settings_{settings},
      seed_{seed},
      topology_{router.topology()},
      partition_{partition},
      threads_{threads},
      lookahead_{lookahead(topology_, partition, settings)},
      room_{partition.parts},
      parts_(partition.parts) {
  if (partition.parts < 2) throw CannotRunInParts("the fabric does not come apart");
  if (lookahead_ == Duration::max()) throw CannotRunInParts("the parts have no links between them");
  if (lookahead_ <= Duration{}) throw CannotRunInParts("a link between the parts has no latency");
  router.find_all_distances(threads);
  on_threads(parts_.size(), threads,
             [&](std::size_t part) { parts_[part] = std::make_unique<Part>(*this, router, routing, settings, seed, part); });
}

PartedFabric::~PartedFabric() {
  const std::array<HeldMemory, kMemoryKinds> all = held();
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
    if (all[kind].count > 0) note_memory(static_cast<MemoryKind>(kind), all[kind]);
  }
}

std::array<HeldMemory, kMemoryKinds> PartedFabric::held() const {
  std::array<HeldMemory, kMemoryKinds> held;
  for (const auto& part : parts_) {
    if (part != nullptr) part->fabric.add_held(held);
  }
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
  flows_ = std::make_unique<PartFlows>(router_, settings_, seed_, footprints_);
  on_threads(parts_.size(), threads_, [&](std::size_t part) { parts_[part]->prepare(*flows_); });
  std::vector<WindowedPart*> parts;
  for (const auto& part : parts_) parts.push_back(part.get());
  Time first = Time::max();
  for (const auto& part : parts_) first = std::min(first, part->simulator.next_time());
  WindowedRun windows{std::move(parts), first, lookahead_, threads_};
  const auto go_on = [&](Time begin) {
    std::uint64_t events = 0;
    for (const auto& part : parts_) events += part->simulator.events();
    clock_.count_elsewhere(events - std::exchange(counted_, events));
    if (begin > clock_.now() + Duration::from_ps(1)) clock_.run_until(begin - Duration::from_ps(1));
    return !clock_.stopped();
  };
  while (true) {
    const Time pause = clock_.next_time();
    windows.run_until(pause, go_on);
    if (pause == Time::max() || clock_.stopped()) break;
    for (const auto& part : parts_) part->simulator.run_until(pause);
    clock_.run_until(pause);
  }
  static_cast<void>(go_on(Time{}));  // the last window's events
  windows_ = windows.windows();
  close();
}

void PartedFabric::close() {
  if (!clock_.stopped()) {
    if (std::ranges::find(ends_, Time::max()) != ends_.end()) throw CannotRunInParts("a flow did not end");
    for (const auto& part : parts_) {
      if (part->fabric.any_paused()) throw CannotRunInParts("a link stays paused");
    }
  }
  for (const auto& part : parts_) {
    const std::vector<PauseRecord>& more = part->fabric.pauses();
    pauses_.insert(pauses_.end(), more.begin(), more.end());
  }
  std::ranges::stable_sort(pauses_, {}, &PauseRecord::start);
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

PartedFabric::Part& PartedFabric::begin_of(LinkId link) const { return *parts_[partition_.of(topology_.link(link).from)]; }
PartedFabric::Part& PartedFabric::end_of(LinkId link) const { return *parts_[partition_.of(topology_.link(link).to)]; }
PartedFabric::Part& PartedFabric::source_of(FootprintId flow) const {
  return *parts_[partition_.of(footprints_[flow.index()].paths[0].source)];
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

PacketShape PartedFabric::packet_shape() const { return parts_[0]->fabric.packet_shape(); }

TransferId PartedFabric::post(const Transfer&, TransferListener&) {
  throw InternalError("what moves in parts is posted before the run");
}

void PartedFabric::fail(ResourceId) { throw InternalError("links in parts do not fail"); }
void PartedFabric::restore(ResourceId) { throw InternalError("links in parts do not fail"); }

ResourceCounters PartedFabric::counters(ResourceId resource) const {
  return begin_of(LinkId{resource.value()}).fabric.counters(resource);
}

const FabricTotals& PartedFabric::totals() const {
  totals_.posted = totals_.delivered = totals_.aborted = 0;
  for (const auto& part : parts_) {
    const FabricTotals& its = part->fabric.totals();
    totals_.posted += its.posted;
    totals_.delivered += its.delivered;
    totals_.aborted += its.aborted;
  }
  return totals_;
}

void PartedFabric::check_conservation() const {
  const FabricTotals& all = totals();
  if (all.posted == all.delivered + all.aborted) return;
  throw InternalError(
      fmt::format("{} transfers were posted, {} delivered, {} aborted", all.posted, all.delivered, all.aborted));
}

double PartedFabric::utilization(LinkId link, double bytes, Duration busy, Duration window) const {
  return begin_of(link).fabric.utilization(link, bytes, busy, window);
}

void PartedFabric::reset_peaks() {
  for (const auto& part : parts_) part->fabric.reset_peaks();
}

PortCounters PartedFabric::port(LinkId link) const {
  Part& begin = begin_of(link);
  Part& end = end_of(link);
  PortCounters out = begin.fabric.port(link);
  if (&begin == &end) return out;
  const PortCounters there = end.fabric.port(link);
  out.peak_ingress_bytes = there.peak_ingress_bytes;
  out.drops += there.drops;
  return out;
}

std::int64_t PartedFabric::queued_bytes(LinkId link) const { return begin_of(link).fabric.queued_bytes(link); }
std::int64_t PartedFabric::queued_bytes(LinkId link, int priority) const {
  return begin_of(link).fabric.queued_bytes(link, priority);
}
std::int64_t PartedFabric::ingress_bytes(LinkId link) const { return end_of(link).fabric.ingress_bytes(link); }

FlowCounters PartedFabric::flow(FootprintId flow) const {
  FlowCounters out = source_of(flow).fabric.flow(flow);
  const Part& there = *parts_[partition_.of(footprints_[flow.index()].paths[0].destination)];
  out.delivered_wire_bytes = there.fabric.flow(flow).delivered_wire_bytes;
  return out;
}

double PartedFabric::flow_state(FootprintId flow, std::string_view name) const {
  return source_of(flow).fabric.flow_state(flow, name);
}

std::uint64_t PartedFabric::packet_hops() const {
  std::uint64_t hops = 0;
  for (const auto& part : parts_) hops += part->fabric.packet_hops();
  return hops;
}

}  // namespace weft::net
