#include "sim/network/packet_level/packet_fabric.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sim/core/error.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {
namespace {

bool wants_telemetry(const std::shared_ptr<const CongestionFactory>& congestion) {
  return congestion != nullptr && congestion->needs().telemetry;
}

FlowTransport datagrams(const TransportSettings& of_fabric) {
  auto plain = std::make_shared<TransportSettings>(of_fabric);
  plain->acks = AckMode::kNone;
  plain->reliability = Reliability::kNone;
  plain->window = std::nullopt;
  plain->queue_pairs = 1;
  plain->uec = std::nullopt;
  return {.settings = std::move(plain), .override_congestion = true};
}

}  // namespace

PacketFabric::PacketFabric(Simulator& simulator, const Router& router, const PacketSettings& settings, std::uint64_t seed,
                           PartMail* mail)
    : settings_{settings},
      network_{std::make_unique<PacketNetwork>(simulator, router.topology(), settings_, seed, mail)},
      transport_{std::make_unique<Transport>(simulator, *network_, router, settings_, seed)} {
  network_->set_endpoints(*transport_);
  if (wants_telemetry(settings_.transport.congestion)) network_->stamp_telemetry();
}

PacketFabric::~PacketFabric() {
  if (network_->mail() != nullptr) return;  // all parts together tell
  std::array<HeldMemory, kMemoryKinds> held;
  add_held(held);
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
    if (held[kind].count > 0) note_memory(static_cast<MemoryKind>(kind), held[kind]);
  }
}

void PacketFabric::add_held(std::span<HeldMemory, kMemoryKinds> held) const {
  network_->add_held(held);
  transport_->add_held(held);
}

ResourceId PacketFabric::add_resource(std::string name, double /*capacity*/) {
  throw InternalError(fmt::format("packets share links only, not '{}'", name));
}

std::string PacketFabric::resource_name(ResourceId resource) const {
  return network_->topology().name(LinkId{resource.value()});
}

double PacketFabric::capacity(ResourceId resource) const {
  return network_->topology().spec(LinkId{resource.value()}).capacity();
}

std::size_t PacketFabric::resource_count() const { return network_->topology().link_count(); }

FootprintId PacketFabric::add_footprint(Footprint footprint) { return transport_->add_footprint(std::move(footprint)); }

const Footprint& PacketFabric::footprint(FootprintId footprint) const { return transport_->footprint(footprint); }

TransferId PacketFabric::post(const Transfer& transfer, TransferListener& listener) {
  return transport_->post(transfer, listener);
}

void PacketFabric::cut_short(TransferId transfer) { transport_->cut_short(transfer); }

void PacketFabric::fail(ResourceId resource) {
  network_->fail(LinkId{resource.value()});
  transport_->routes_changed();
}

void PacketFabric::restore(ResourceId resource) {
  network_->restore(LinkId{resource.value()});
  transport_->routes_changed();
}

void PacketFabric::set_link_state(Router& router, std::span<const LinkId> links, bool up, bool returns) {
  if (returns) returning_ += up ? -1 : 1;
  transport_->set_failures_pass(returning_ > 0);
  Fabric::set_link_state(router, links, up, returns);
}

// Payload, as flow fidelity counts it: a link's share for headers is not in it.
ResourceCounters PacketFabric::counters(ResourceId resource) const {
  const LinkId link{resource.value()};
  const PortCounters port = network_->counters(link);
  const double efficiency = network_->topology().spec(link).efficiency;
  return {static_cast<double>(port.bytes) * efficiency, port.busy, static_cast<std::uint64_t>(port.packets)};
}

const FabricTotals& PacketFabric::totals() const { return transport_->totals(); }

void PacketFabric::check_conservation() const {
  const FabricTotals& totals = transport_->totals();
  if (totals.posted == totals.delivered + totals.aborted) return;
  throw InternalError(fmt::format("{} transfers were posted, {} delivered, {} aborted; not there yet:\n{}", totals.posted,
                                  totals.delivered, totals.aborted, transport_->blocked()));
}

void PacketFabric::share(LinkId link, LinkSharer& sharer) { network_->share(link, sharer); }

void PacketFabric::join_flows(const PartFlows& flows) { transport_->join_flows(flows); }

void PacketFabric::expect(const Transfer& transfer, TransferListener& listener) { transport_->expect(transfer, listener); }

void PacketFabric::take_in(MailRoom& room, std::uint64_t window) { network_->take_in(room, window); }

bool PacketFabric::any_paused() const { return network_->any_paused(); }

YetToCome PacketFabric::yet_to_come() const { return transport_->yet_to_come(); }

void PacketFabric::set_transport(FootprintId flow, const FlowTransport& transport) {
  if (wants_telemetry(transport.congestion)) network_->stamp_telemetry();
  transport_->set_transport(flow, transport.datagrams ? datagrams(settings_.transport) : transport);
}

void PacketFabric::set_up(FootprintId footprint) { transport_->set_up(footprint); }

PacketShape PacketFabric::packet_shape() const {
  return {.payload = settings_.transport.payload, .telemetry = settings_.transport.telemetry};
}

void PacketFabric::add_drop_rule(const DropRule& rule) {
  std::optional<std::uint32_t> pair;
  if (rule.flow) pair = transport_->queue_pair(*rule.flow);
  network_->add_drop_rule(rule, pair);
}

void PacketFabric::force_pause(const ForcedPause& pause) { network_->force_pause(pause); }

void PacketFabric::inject_cnp(FootprintId flow, Time at) { transport_->inject_cnp(flow, at); }

double PacketFabric::utilization(LinkId /*link*/, double /*bytes*/, Duration busy, Duration window) const {
  return static_cast<double>(busy.ps()) / static_cast<double>(window.ps());
}

PortCounters PacketFabric::port(LinkId link) const { return network_->counters(link); }

void PacketFabric::reset_peaks() { network_->reset_peaks(); }

std::int64_t PacketFabric::queued_bytes(LinkId link) const { return network_->queued_bytes(link); }

std::int64_t PacketFabric::queued_bytes(LinkId link, int priority) const { return network_->queued_bytes(link, priority); }

std::int64_t PacketFabric::ingress_bytes(LinkId link) const { return network_->buffers().ingress_bytes(link); }

FlowCounters PacketFabric::flow(FootprintId flow) const { return transport_->counters(flow); }

double PacketFabric::flow_state(FootprintId flow, std::string_view name) const { return transport_->state(flow, name); }

const std::vector<PauseRecord>& PacketFabric::pauses() const { return network_->pauses(); }
const std::vector<StormRecord>& PacketFabric::storms() const { return network_->storms(); }

std::uint64_t PacketFabric::packet_hops() const { return network_->hops(); }

std::optional<Deadlock> PacketFabric::deadlock() const {
  network_->look_for_deadlock();
  return network_->deadlock();
}

std::string PacketFabric::blocked() const { return transport_->blocked(); }

}  // namespace weft::net
