#include "sim/network/packet_level/packet_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/core/error.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {
namespace {

constexpr std::ptrdiff_t kKindsLookedAt = 64;
constexpr std::size_t kOwnCache = std::size_t{1} << 20;  // processors have 1 or 2 MiB

bool is_fabric_switch(const Topology& topology, DeviceId device) { return topology.kind(device) == DeviceKind::kSwitch; }

// Where a lost packet is not the switches' doing, flow control is by credits: inside hosts, and on InfiniBand.
bool has_credits(const Topology& topology, LinkId link, const CreditSettings& settings) {
  return is_inside_host(topology, link) || settings.enabled || topology.spec(link).type == "infiniband";
}

}  // namespace

PacketNetwork::PacketNetwork(Simulator& simulator, const Topology& topology, const PacketSettings& settings, std::uint64_t seed,
                             PartMail* mail)
    : simulator_{simulator},
      topology_{topology},
      settings_{settings},
      seed_{seed},
      pause_frames_{simulator.add_component("pauses")},
      component_{simulator.add_component("packets")},
      mail_{mail},
      own_{mail == nullptr ? PartView{} : mail->part()},
      buffers_{topology, settings, own_},
      links_{topology.link_count()},
      to_{topology.link_count()},
      incidents_{topology.link_count()} {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const LinkId id = LinkId::from_index(i);
    if (begins_here(id) || ends_here(id)) add_wire(id, make_wire(id));
  }
  const auto take = [&](const SwitchSettings& switches, const PfcSettings& pfc, const EcnSettings& ecn) {
    marks_at_enqueue_ |= ecn.priorities != 0 && ecn.at_enqueue;
    marks_at_start_ |= ecn.priorities != 0 && !ecn.at_enqueue;
    if (switches.scheduling == Scheduling::kDwrr) deficits_.resize(links_.size());
    if (switches.scheduling == Scheduling::kLanes) lane_turns_.resize(links_.size());
    if (ecn.fecn) unmarked_.resize(links_.size());
    if (pfc.priorities != 0 && pfc.quanta > 0) expiries_ = LazyArray<Time>{links_.size() * kPriorities};
    if (pfc.priorities != 0 && pfc.watchdog) watches_ = LazyArray<Watch>{links_.size()};
    const double least = *std::ranges::min_element(switches.weights);
    auto& shares = shares_.emplace_back();
    std::ranges::transform(switches.weights, shares.begin(), [&](double weight) { return weight / least; });
  };
  take(settings.switches, settings.pfc, settings.ecn);
  for (const DeviceSettings& own : settings.own) take(own.switches, own.pfc, own.ecn);
  refreshes_ = LazyArray<Time>{expiries_.size()};
  is_large_ = links_.size() * sizeof(LinkState) > kOwnCache;
  if (std::ranges::any_of(wires_, &Wire::credits)) make_credits();
}

PacketNetwork::Wire PacketNetwork::make_wire(LinkId id) const {
  const Link& link = topology_.link(id);
  const LinkSpec& spec = topology_.spec(id);
  const Forwarding& forwarding = topology_.forwarding(link.to);
  Wire wire;
  wire.rate = static_cast<std::uint64_t>(spec.rate.bits_per_second());
  wire.latency = spec.latency.ps();
  wire.forward = forwarding.latency.ps();
  wire.header = transmission_time(forwarding.header, spec.rate).ps();
  wire.cut_through = !forwarding.store_and_forward;
  wire.switch_ahead = is_fabric_switch(topology_, link.to) ||
                      (topology_.kind(link.to) == DeviceKind::kNic && is_fabric_switch(topology_, link.from));
  wire.switch_behind = is_fabric_switch(topology_, link.from);
  wire.credits = has_credits(topology_, id, settings_.credits);
  wire.memory_behind = topology_.kind(link.to) == DeviceKind::kGpu;
  wire.from_memory = topology_.kind(link.from) == DeviceKind::kGpu;
  wire.full_payload = static_cast<std::int32_t>(spec.packet.count());
  wire.full_size = other_wire_size(id, wire.full_payload);
  wire.leaves_part = begins_here(id) && !ends_here(id);
  set_usual(wire);
  return wire;
}

void PacketNetwork::add_wire(LinkId id, const Wire& wire) {
  // Links of one kind come near each other, so that a few of the latest kinds are looked at only.
  const auto latest = wires_.rbegin();
  const auto end = latest + std::min<std::ptrdiff_t>(std::ssize(wires_), kKindsLookedAt);
  const auto same = std::find(latest, end, wire);
  const Link& link = topology_.link(id);
  Port& port = links_.make(id.index()).port;
  to_[id.index()] = link.to.value();
  port.weighted = port.special = settings_.switches_of(link.from).scheduling != Scheduling::kStrict;
  if (same == end) wires_.push_back(wire);
  port.kind = static_cast<std::uint32_t>(wires_.size() - 1 - static_cast<std::size_t>(same == end ? 0 : same - latest));
}

void PacketNetwork::set_usual(Wire& wire) const {
  wire.usual[0] = transmission(wire.full_size, wire.rate);
  wire.usual[1] = transmission(static_cast<std::int32_t>(settings_.transport.ack_size.count()), wire.rate);
}

// Enough for the link's full rate: what is on the way until a packet that begins now has left the far device and its credit is
// back, and two packets more (models/network §4). Packets are those of the fabric inside hosts too, however small the TLPs and
// flits are that they stand for.
std::int64_t PacketNetwork::total_credits(LinkId id, const Wire& wire) const {
  const auto largest = static_cast<std::int32_t>(settings_.transport.payload.value_or(Bytes{kDefaultPayload}).count());
  const std::int32_t packet = wire_size_anywhere(id, std::max(wire.full_payload, largest));
  const double packet_ps = static_cast<double>(packet) * 8e12 / static_cast<double>(wire.rate);
  const double loop = 2 * static_cast<double>(wire.latency) + static_cast<double>(wire.forward + wire.header) + 4 * packet_ps;
  const auto packets = static_cast<std::int64_t>(std::ceil(loop / packet_ps));
  const std::int64_t automatic = (packets + 2) * blocks_of(packet);
  return is_inside_host(topology_, id) ? automatic : settings_.credits.credits.value_or(automatic);
}

bool PacketNetwork::takes(LinkId link, std::int32_t size) const {
  if (own_.is_whole()) return !wire_of(link.value()).credits || blocks_of(size) <= credits_[link.index()].total;
  const Wire wire = make_wire(link);
  return !wire.credits || blocks_of(size) <= total_credits(link, wire);
}

void PacketNetwork::make_credits() {
  credits_ = LazyArray<Credits>{links_.size()};
  inputs_.resize(links_.size());
  turns_.resize(links_.size());
  input_.resize(links_.size());
  std::vector<std::uint32_t> inputs(topology_.device_count(), 0);
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const LinkId id{i};
    input_[i] = ++inputs[topology_.link(id).to.index()];
    if (!begins_here(id) || !wire_of(i).credits) continue;
    inputs_[i] = std::make_unique<Inputs>();
    Credits& credits = credits_.make(i);
    credits.total = total_credits(id, wire_of(i));
    credits.blocks.fill(credits.total);
  }
}

// Payload with the headers of the link's own packets, and what the protocol loses besides (or gains, where it was measured with
// larger packets): for a full packet just payload / efficiency, as in flow fidelity.
[[gnu::noinline]] std::int32_t PacketNetwork::other_wire_size(LinkId link, std::int32_t payload) const {
  const LinkSpec& spec = topology_.spec(link);
  const std::int64_t unit = std::max<std::int64_t>(spec.packet.count(), 1);
  const std::int64_t pieces = std::max<std::int64_t>((payload + unit - 1) / unit, 1);
  const std::int64_t with_headers = payload + pieces * spec.overhead.count() + settings_.transport.telemetry.count();
  const double packet = static_cast<double>(unit);
  const double rest = spec.efficiency * (packet + static_cast<double>(spec.overhead.count())) / packet;
  if (std::abs(rest - 1.0) < 1e-12) return static_cast<std::int32_t>(with_headers);
  return static_cast<std::int32_t>(std::ceil(static_cast<double>(with_headers) / rest));
}

std::int32_t PacketNetwork::size_over(LinkId link, const Packet& packet) const {
  return packet.kind == PacketKind::kData ? wire_size(link, packet.payload) : packet.size;
}

void PacketNetwork::offer(LinkId link, int priority) {
  Port& port = links_[link.index()].port;
  port.offered |= priority_bit(priority);
  port.offered_again = true;
  try_start(link.value());
}

const std::vector<std::int64_t>& PacketNetwork::loads() {
  if (loads_.empty()) loads_.resize(links_.size(), 0);
  return loads_;
}

bool PacketNetwork::has_credit(std::uint32_t link, int priority, const Packet& packet) const {
  if (!wire_of(link).credits || links_[link].port.failed) return true;
  return credits_[link].blocks[static_cast<std::size_t>(priority)] >= blocks_of(packet.size);
}

void PacketNetwork::note_starvation(std::uint32_t link, bool is_starved) {
  Credits& credits = credits_[link];
  const std::int64_t now = simulator_.now().ps();
  if (!is_starved && credits.starved_since >= 0) credits.starved += now - credits.starved_since;
  if (is_starved != (credits.starved_since >= 0)) credits.starved_since = is_starved ? now : -1;
}

// The highest priority that may send, has a packet, and has the credits for it.
int PacketNetwork::choose(std::uint32_t link, PriorityMask able) {
  const bool credits = wire_of(link).credits;
  while (able != 0) {
    const int priority = std::bit_width(able) - 1;
    able &= static_cast<PriorityMask>(~priority_bit(priority));
    const Queue& queue = links_[link].queues[priority];
    if (!line_up(link, priority)) continue;
    if (!credits || has_credit(link, priority, packets_[queue.head])) return priority;
  }
  return -1;
}

// Picks by the port's scheduler among the priorities that have a packet and the credits for it.
[[gnu::noinline]] int PacketNetwork::choose_weighted(Port& port, std::uint32_t link, PriorityMask able) {
  for (int priority = 0; priority < kPriorities; ++priority) {
    if ((able & priority_bit(priority)) == 0) continue;
    const Queue& queue = links_[link].queues[priority];
    if (!line_up(link, priority) || !has_credit(link, priority, packets_[queue.head])) {
      able &= static_cast<PriorityMask>(~priority_bit(priority));
    }
  }
  if (able == 0) return -1;
  const SwitchSettings& switches = settings_.switches_of(topology_.link(LinkId{link}).from);
  return switches.scheduling == Scheduling::kLanes ? choose_lane(link, switches.lanes, able) : choose_dwrr(port, link, able);
}

// Deficit round robin (Shreedhar and Varghese 1995), deficits in bytes. A priority's turn adds its weight's share of a full
// packet, scaled so that the smallest weight gets one whole packet; it sends as long as its deficit lasts.
int PacketNetwork::choose_dwrr(Port& port, std::uint32_t link, PriorityMask able) {
  auto& deficits = deficits_[link];
  const auto& shares = shares_[settings_.index_of(topology_.link(LinkId{link}).from)];
  while (true) {
    const auto turn = static_cast<std::size_t>(port.turn);
    if ((able & priority_bit(port.turn)) != 0) {
      const double size = packets_[links_[link].queues[port.turn].head].size;
      if (deficits[turn] >= size) {
        deficits[turn] -= size;
        return port.turn;
      }
    } else if (links_[link].queues[port.turn].head == kNoPacket) {
      deficits[turn] = 0;
    }
    port.turn = static_cast<std::uint8_t>((port.turn + 1) % kPriorities);
    if ((able & priority_bit(port.turn)) != 0) deficits[port.turn] += shares[port.turn] * wires_[port.kind].full_size;
  }
}

// RED on the instantaneous queue, the packet itself included (models/network §2.6).
[[gnu::noinline]] void PacketNetwork::mark(std::uint32_t link, Packet& packet, std::int64_t queued, bool at_enqueue) {
  const EcnSettings& ecn = settings_.ecn_of(topology_.link(LinkId{link}).from);
  if (ecn.at_enqueue != at_enqueue || (ecn.priorities & priority_bit(packet.priority)) == 0 || !wire_of(link).switch_behind)
    return;
  if (packet.kind != PacketKind::kData) return;
  if (ecn.fecn) {
    if (!marks_forward(link, packet, queued, *ecn.fecn)) return;
  } else if (queued <= ecn.kmin.count()) {
    return;
  } else if (queued <= ecn.kmax.count()) {
    const double share = static_cast<double>(queued - ecn.kmin.count()) / static_cast<double>((ecn.kmax - ecn.kmin).count());
    if (!random(link).chance(ecn.pmax * share)) return;
  }
  packet.marked = true;
  ++incidents_[link].marks;
}

PortCounters PacketNetwork::counters(LinkId link) const {
  const Traffic& traffic = links_[link.index()].traffic;
  const Incidents& incidents = incidents_[link.index()];
  const std::int64_t now = simulator_.now().ps();
  PortCounters out;
  out.bytes = traffic.bytes;
  out.packets = traffic.packets;
  out.busy = Duration::from_ps(traffic.busy);
  out.peak_queue_bytes = traffic.peak;
  out.queue_byte_ps = traffic.queue_byte_ps + static_cast<double>(traffic.queued) * static_cast<double>(now - traffic.changed);
  out.wait_ps = traffic.wait_ps;
  out.peak_ingress_bytes = buffers_.peak_ingress_bytes(link);
  out.marks = incidents.marks;
  out.drops = incidents.drops;
  if (const Port& port = links_[link.index()].port; port.busy && port.free_at.ps() > now) {
    // This much of the packet in transmission has not left yet.
    const std::int64_t left = port.free_at.ps() - now;
    const auto bits = static_cast<Int128>(left) * static_cast<Int128>(wires_[port.kind].rate);
    const auto bytes = static_cast<std::int64_t>((bits + kBitPicoseconds - 1) / kBitPicoseconds);
    out.bytes -= std::min<std::int64_t>(bytes, port.release_size);
    out.busy -= Duration::from_ps(left);
  }
  if (wire_of(link.value()).credits) {
    const Credits& credits = credits_[link.index()];
    out.xmit_wait = Duration::from_ps(credits.starved + (credits.starved_since >= 0 ? now - credits.starved_since : 0));
  }
  out.paused = Duration::from_ps(incidents.paused + (paused(link) != 0 ? now - incidents.paused_since : 0));
  return out;
}

void PacketNetwork::share(LinkId link, LinkSharer& sharer) {
  sharer_ = &sharer;
  Port& port = links_[link.index()].port;
  port.shared = port.special = true;
}

void PacketNetwork::reset_peaks() {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (begins_here(LinkId{i})) links_[i].traffic.peak = links_[i].traffic.queued;
  }
  buffers_.reset_peaks();
}

std::span<const HopTelemetry> PacketNetwork::telemetry(PacketId packet) const {
  const std::size_t first = packet * kMaxTelemetryHops;
  if (!stamps_ || packets_[packet].stamps == 0) return {};
  return {telemetry_.data() + first, packets_[packet].stamps};
}

RandomStream& PacketNetwork::random(std::uint32_t link) {
  if (random_.empty()) random_.resize(links_.size());
  std::optional<RandomStream>& stream = random_[link];
  if (!stream) {
    const std::uint32_t number = random_links_++;
    stream.emplace(seed_, mail_ == nullptr ? fmt::format("link{}/chance", number)
                                           : fmt::format("part{}/link{}/chance", own_.part, number));
  }
  return *stream;
}

}  // namespace weft::net
