#include "sim/network/packet_level/packet_network.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/core/error.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {
namespace {

bool is_fabric_switch(const Topology& topology, DeviceId device) { return topology.kind(device) == DeviceKind::kSwitch; }

// Where a lost packet is not the switches' doing, flow control is by credits: inside hosts, and on InfiniBand.
bool has_credits(const Topology& topology, LinkId link, const CreditSettings& settings) {
  return is_inside_host(topology, link) || settings.enabled || topology.spec(link).type == "infiniband";
}

}  // namespace

PacketNetwork::PacketNetwork(Simulator& simulator, const Topology& topology, const PacketSettings& settings, std::uint64_t seed)
    : simulator_{simulator},
      topology_{topology},
      settings_{settings},
      seed_{seed},
      component_{simulator.add_component("packets")},
      buffers_{topology, settings},
      ports_(topology.link_count()),
      wires_(topology.link_count()),
      counters_(topology.link_count()),
      queued_(topology.link_count(), 0) {
  bool any_credits = false;
  std::vector<std::uint32_t> inputs(topology.device_count(), 0);
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const Link& link = topology.link(id);
    const LinkSpec& spec = topology.spec(id);
    const Forwarding& forwarding = topology.forwarding(link.to);
    Wire& wire = wires_[i];
    wire.rate = static_cast<std::uint64_t>(spec.rate.bits_per_second());
    wire.latency = spec.latency.ps();
    wire.forward = forwarding.latency.ps();
    wire.header = transmission_time(forwarding.header, spec.rate).ps();
    wire.cut_through = !forwarding.store_and_forward;
    wire.to = link.to.value();
    wire.input = ++inputs[link.to.index()];
    wire.switch_ahead = is_fabric_switch(topology, link.to) ||
                        (topology.kind(link.to) == DeviceKind::kNic && is_fabric_switch(topology, link.from));
    wire.switch_behind = is_fabric_switch(topology, link.from);
    wire.credits = has_credits(topology, id, settings.credits);
    any_credits |= wire.credits;
    wire.full_payload = static_cast<std::int32_t>(spec.packet.count());
    wire.full_size = 0;
    wire.full_size = wire_size(id, wire.full_payload);
  }
  if (settings.switches.scheduling == Scheduling::kDwrr) {
    deficits_.resize(wires_.size());
    const double least = *std::ranges::min_element(settings.switches.weights);
    std::ranges::transform(settings.switches.weights, shares_.begin(), [&](double weight) { return weight / least; });
  }
  if (!any_credits) return;
  // Packets are those of the fabric inside hosts too, however small the TLPs and flits are that they stand for.
  const auto largest = static_cast<std::int32_t>(settings.transport.payload.value_or(Bytes{kDefaultPayload}).count());
  credits_.resize(wires_.size());
  inputs_.resize(wires_.size());
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    const Wire& wire = wires_[i];
    if (!wire.credits) continue;
    // Enough for the link's full rate: what is on the way until a packet that begins now has left the far device and its credit
    // is back, and two packets more (network-models §4).
    const LinkId id = LinkId::from_index(i);
    const std::int32_t packet = wire_size(id, std::max(wire.full_payload, largest));
    const double packet_ps = static_cast<double>(packet) * 8e12 / static_cast<double>(wire.rate);
    const double loop = 2 * static_cast<double>(wire.latency) + static_cast<double>(wire.forward + wire.header) + 4 * packet_ps;
    const auto packets = static_cast<std::int64_t>(std::ceil(loop / packet_ps));
    const std::int64_t automatic = (packets + 2) * blocks_of(packet);
    credits_[i].total = is_inside_host(topology, id) ? automatic : settings.credits.credits.value_or(automatic);
    credits_[i].blocks.fill(credits_[i].total);
  }
}

std::int64_t PacketNetwork::blocks_of(std::int64_t size) const {
  const std::int64_t block = settings_.credits.block.count();
  return (size + block - 1) / block;
}

// Payload with the headers of the link's own packets, and what the protocol loses besides (or gains, where it was measured with
// larger packets): for a full packet just payload / efficiency, as in flow fidelity.
std::int32_t PacketNetwork::wire_size(LinkId link, std::int32_t payload) const {
  const Wire& wire = wires_[link.index()];
  if (payload == wire.full_payload && wire.full_size != 0) return wire.full_size;
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

void PacketNetwork::schedule(Time at, Phase phase, EventKind kind, std::uint32_t index, std::uint32_t extra) {
  simulator_.schedule(at, phase, component_, *this,
                      static_cast<std::uint64_t>(kind) << 56 | static_cast<std::uint64_t>(extra) << 32 | index);
}

void PacketNetwork::on_event(std::uint64_t payload) {
  const auto index = static_cast<std::uint32_t>(payload);
  const auto extra = static_cast<std::uint32_t>(payload >> 32) & 0xFF'FFFF;
  switch (static_cast<EventKind>(payload >> 56)) {
    case EventKind::kPortFree:
      port_free(index);
      break;
    case EventKind::kArrival:
      arrival(index);
      break;
    case EventKind::kLate:
      pass_on(index, packets_[index].ingress.value());
      break;
    case EventKind::kPause:
      set_paused(index, static_cast<int>(extra >> 1), (extra & 1) != 0);
      break;
    case EventKind::kForced:
      set_forced(index);
      break;
    case EventKind::kCredit:
      credits_[index].blocks[extra >> 21] += extra & 0x1F'FFFF;
      try_start(index);
      break;
    case EventKind::kDeadlockCheck:
      check_for_deadlock();
      break;
  }
}

void PacketNetwork::offer(LinkId link, int priority) {
  Port& port = ports_[link.index()];
  port.offered |= priority_bit(priority);
  port.offered_again = true;
  if (!port.busy && !port.choosing) try_start(link.value());
}

void PacketNetwork::change_queue(std::uint32_t link, int priority, std::int64_t by) {
  Counters& counters = counters_[link];
  const std::int64_t now = simulator_.now().ps();
  counters.queue_byte_ps += static_cast<double>(queued_[link]) * static_cast<double>(now - counters.changed);
  counters.changed = now;
  queued_[link] += by;
  ports_[link].queues[static_cast<std::size_t>(priority)].bytes += by;
  counters.peak = std::max(counters.peak, queued_[link]);
}

void PacketNetwork::enqueue(LinkId id, PacketId packet) {
  const std::uint32_t link = id.value();
  Port& port = ports_[link];
  Packet& p = packets_[packet];
  if (port.failed) {
    if (p.ingress.valid()) release(p.ingress, p.priority, p.size, size_over(p.ingress, p));
    drop(packet, link);
    return;
  }
  append(link, packet);
  if (!port.busy) try_start(link);
}

void PacketNetwork::append(std::uint32_t link, PacketId packet) {
  Port& port = ports_[link];
  Packet& p = packets_[packet];
  p.at = simulator_.now();
  p.next = kNoPacket;
  Queue& queue = port.queues[p.priority];
  port.waiting |= priority_bit(p.priority);
  if (wires_[link].credits) {
    InputQueues& inputs = inputs_[link][p.priority];
    inputs.push(packets_, p.ingress.valid() ? wires_[p.ingress.index()].input : 0, packet);
    queue.head = inputs.head();
  } else {
    (queue.head == kNoPacket ? queue.head : packets_[queue.tail].next) = packet;
    queue.tail = packet;
  }
  change_queue(link, p.priority, p.size);
  if (settings_.ecn.at_enqueue) mark(link, p, queue.bytes);
}

PacketId PacketNetwork::take(std::uint32_t link, int priority) {
  Port& port = ports_[link];
  Queue& queue = port.queues[static_cast<std::size_t>(priority)];
  const PacketId packet = queue.head;
  if (wires_[link].credits) {
    InputQueues& inputs = inputs_[link][static_cast<std::size_t>(priority)];
    inputs.pop(packets_);
    queue.head = inputs.head();
  } else {
    queue.head = packets_[packet].next;
  }
  if (queue.head == kNoPacket) port.waiting &= static_cast<PriorityMask>(~priority_bit(priority));
  return packet;
}

bool PacketNetwork::prefetch(std::uint32_t link, int priority) {
  const PacketId packet = endpoints_->pull(LinkId{link}, priority);
  if (packet == kNoPacket) {
    ports_[link].offered &= static_cast<PriorityMask>(~priority_bit(priority));
    return false;
  }
  append(link, packet);
  return true;
}

bool PacketNetwork::has_credit(std::uint32_t link, int priority, const Packet& packet) const {
  if (!wires_[link].credits || ports_[link].failed) return true;
  return credits_[link].blocks[static_cast<std::size_t>(priority)] >= blocks_of(packet.size);
}

// The highest priority that may send, has a packet, and has the credits for it.
int PacketNetwork::choose(Port& port, std::uint32_t link, PriorityMask able) {
  while (able != 0) {
    const int priority = std::bit_width(able) - 1;
    able &= static_cast<PriorityMask>(~priority_bit(priority));
    const Queue& queue = port.queues[static_cast<std::size_t>(priority)];
    if (queue.head == kNoPacket && !prefetch(link, priority)) continue;
    if (has_credit(link, priority, packets_[queue.head])) return priority;
  }
  return -1;
}

// Deficit round robin (Shreedhar and Varghese 1995), deficits in bytes. A priority's turn adds its weight's share of a full
// packet, scaled so that the smallest weight gets one whole packet; it sends as long as its deficit lasts.
int PacketNetwork::choose_dwrr(Port& port, std::uint32_t link, PriorityMask able) {
  for (int priority = 0; priority < kPriorities; ++priority) {
    if ((able & priority_bit(priority)) == 0) continue;
    const Queue& queue = port.queues[static_cast<std::size_t>(priority)];
    if ((queue.head == kNoPacket && !prefetch(link, priority)) || !has_credit(link, priority, packets_[queue.head])) {
      able &= static_cast<PriorityMask>(~priority_bit(priority));
    }
  }
  if (able == 0) return -1;
  auto& deficits = deficits_[link];
  while (true) {
    const auto turn = static_cast<std::size_t>(port.turn);
    if ((able & priority_bit(port.turn)) != 0) {
      const double size = packets_[port.queues[turn].head].size;
      if (deficits[turn] >= size) {
        deficits[turn] -= size;
        return port.turn;
      }
    } else if (port.queues[turn].head == kNoPacket) {
      deficits[turn] = 0;
    }
    port.turn = static_cast<std::uint8_t>((port.turn + 1) % kPriorities);
    if ((able & priority_bit(port.turn)) != 0) deficits[port.turn] += shares_[port.turn] * wires_[link].full_size;
  }
}

void PacketNetwork::try_start(std::uint32_t link) {
  Port& port = ports_[link];
  if (port.busy || port.choosing) return;
  int priority = -1;
  port.choosing = true;
  do {
    port.offered_again = false;
    const auto able = static_cast<PriorityMask>((port.waiting | port.offered) & ~(port.paused | port.forced));
    if (able == 0) break;
    priority = deficits_.empty() ? choose(port, link, able) : choose_dwrr(port, link, able);
  } while (priority < 0 && port.offered_again);
  port.choosing = false;
  if (priority >= 0) start(link, priority);
}

void PacketNetwork::start(std::uint32_t link, int priority) {
  Port& port = ports_[link];
  const Wire& wire = wires_[link];
  Counters& counters = counters_[link];
  const PacketId packet = take(link, priority);
  Packet& p = packets_[packet];
  const Time now = simulator_.now();
  counters.wait_ps += static_cast<double>((now - p.at).ps());
  if (!settings_.ecn.at_enqueue) mark(link, p, port.queues[static_cast<std::size_t>(priority)].bytes);
  if (stamps_ && wire.switch_behind && p.kind == PacketKind::kData && p.stamps < kMaxTelemetryHops) {
    const std::size_t at = packet * kMaxTelemetryHops + p.stamps++;
    if (telemetry_.size() <= at) telemetry_.resize(packets_.capacity() * kMaxTelemetryHops);
    telemetry_[at] = {counters.bytes + p.size, queued_[link] - p.size, now,
                      Bandwidth::from_bits_per_second(static_cast<std::int64_t>(wire.rate))};
  }
  if (wire.credits && !port.failed) credits_[link].blocks[static_cast<std::size_t>(priority)] -= blocks_of(p.size);

  // Bits are counted from the start of a burst and rounded down once, so that errors do not add up packet by packet.
  if (port.free_at != now) port.bits_left = 0;
  const std::uint64_t bits = static_cast<std::uint64_t>(p.size) * kBitPicoseconds + port.bits_left;
  port.bits_left = bits % wire.rate;
  const std::int64_t taken = static_cast<std::int64_t>(bits / wire.rate);
  const Time end = std::max(now + Duration::from_ps(taken), p.tail);

  port.busy = true;
  port.free_at = end;
  port.release_ingress = p.ingress;
  port.release_size = p.size;
  port.release_came = p.ingress.valid() && wires_[p.ingress.index()].credits ? size_over(p.ingress, p) : 0;
  port.release_priority = static_cast<std::uint8_t>(priority);
  port.left_message = kNoPacket;
  if (p.last && !p.ingress.valid() && p.kind == PacketKind::kData) {
    port.left_flow = p.flow;
    port.left_message = p.message;
  }
  counters.bytes += p.size;
  ++counters.packets;
  counters.busy += (end - now).ps();
  ++hops_;
  schedule(end, Phase::kCompletion, EventKind::kPortFree, link);
  if (port.failed) {
    drop(packet, link);
  } else {
    put_on_wire(link, packet, now, end);
  }
}

void PacketNetwork::put_on_wire(std::uint32_t link, PacketId packet, Time begin, Time end) {
  Port& port = ports_[link];
  const Wire& wire = wires_[link];
  Packet& p = packets_[packet];
  p.tail = end + Duration::from_ps(wire.latency);
  p.at = p.tail;
  if (endpoints_->destination(p).value() != wire.to) {
    const std::int64_t head = begin.ps() + wire.latency + std::min(wire.header, (end - begin).ps());
    p.at = Time::from_ps((wire.cut_through ? head : p.tail.ps()) + wire.forward);
  }
  p.ingress = LinkId{link};
  p.next = kNoPacket;
  if (port.wire_head == kNoPacket) {
    port.wire_head = packet;
    schedule(p.at, Phase::kDelivery, EventKind::kArrival, link);
  } else {
    p.at = std::max(p.at, packets_[port.wire_tail].at);
    packets_[port.wire_tail].next = packet;
  }
  port.wire_tail = packet;
}

// RED on the instantaneous queue, the packet itself included (network-models §2.6).
void PacketNetwork::mark(std::uint32_t link, Packet& packet, std::int64_t queued) {
  const EcnSettings& ecn = settings_.ecn;
  if ((ecn.priorities & priority_bit(packet.priority)) == 0 || !wires_[link].switch_behind) return;
  if (packet.kind != PacketKind::kData || queued <= ecn.kmin.count()) return;
  if (queued <= ecn.kmax.count()) {
    const double share = static_cast<double>(queued - ecn.kmin.count()) / static_cast<double>((ecn.kmax - ecn.kmin).count());
    if (!random(link).chance(ecn.pmax * share)) return;
  }
  packet.marked = true;
  ++counters_[link].marks;
}

void PacketNetwork::port_free(std::uint32_t link) {
  Port& port = ports_[link];
  port.busy = false;
  const LinkId ingress = port.release_ingress;
  const int priority = port.release_priority;
  const std::int64_t size = port.release_size;
  const std::int64_t came = port.release_came;
  const std::uint32_t left = port.left_message;
  const std::uint32_t flow = port.left_flow;
  change_queue(link, priority, -size);
  if (ingress.valid()) release(ingress, priority, size, came);
  if (!port.busy) try_start(link);
  if (left != kNoPacket) endpoints_->message_left(flow, left);
}

void PacketNetwork::arrival(std::uint32_t link) {
  Port& port = ports_[link];
  const PacketId packet = port.wire_head;
  if (packet == kNoPacket) return;  // lost with the link
  Packet& p = packets_[packet];
  if (p.at > simulator_.now()) return;  // so was what this event was for; the link is back
  port.wire_head = p.next;
  if (port.wire_head == kNoPacket) {
    port.wire_tail = kNoPacket;
  } else {
    schedule(packets_[port.wire_head].at, Phase::kDelivery, EventKind::kArrival, link);
    packets_.prefetch(packets_[port.wire_head].next);  // it comes a packet's time after the one after this
  }
  ++p.hop;
  const bool at_end = endpoints_->destination(p).value() == wires_[link].to;
  if (!rules_.empty() && ruled_out(p, link, at_end)) {
    return_credit(LinkId{link}, p.priority, p.size);
    drop(packet, link);
    return;
  }
  if (at_end) {
    return_credit(LinkId{link}, p.priority, p.size);
    endpoints_->receive(packet);
    return;
  }
  if (is_of_group(p.kind)) {
    return_credit(LinkId{link}, p.priority, p.size);
    endpoints_->in_switch(packet, DeviceId{wires_[link].to});
    return;
  }
  pass_on(packet, link);
}

void PacketNetwork::pass_on(PacketId packet, std::uint32_t link) {
  Packet& p = packets_[packet];
  const LinkId out = endpoints_->route(p, DeviceId{wires_[link].to});
  if (!out.valid()) {  // no way from here any more
    return_credit(LinkId{link}, p.priority, p.size);
    drop(packet, link);
    return;
  }
  // A faster link must not run dry in the middle of a packet: it is stored first (network-models §2.2).
  if (p.tail > simulator_.now() && wires_[out.index()].rate > wires_[link].rate) {
    schedule(p.tail, Phase::kDelivery, EventKind::kLate, packet);
    return;
  }
  join(out, packet);
}

void PacketNetwork::join(LinkId out, PacketId packet) {
  Packet& p = packets_[packet];
  const LinkId in = p.ingress;
  const std::int32_t came = p.size;
  if (p.kind == PacketKind::kData) p.size = wire_size(out, p.payload);
  if (wires_[in.index()].switch_ahead) {
    const Buffers::Admission admission = buffers_.admit(in, p.priority, p.size, ports_[out.index()].queues[p.priority].bytes);
    if (admission.pause) send_pause(in, p.priority, true);
    if (!admission.accepted) {
      return_credit(in, p.priority, came);
      drop(packet, in.value());
      return;
    }
  }
  enqueue(out, packet);
}

// A packet that came over `ingress` has left the device, or was lost there. Its credits are those of the bytes that it took on
// the way in, which links with other headers do not share.
void PacketNetwork::release(LinkId ingress, int priority, std::int64_t size, std::int64_t came) {
  if (wires_[ingress.index()].switch_ahead && buffers_.release(ingress, priority, size)) send_pause(ingress, priority, false);
  return_credit(ingress, priority, came);
}

void PacketNetwork::return_credit(LinkId link, int priority, std::int64_t size) {
  if (!wires_[link.index()].credits) return;
  const Wire& back = wires_[topology_.link(link).twin.index()];
  const auto bits = static_cast<std::uint64_t>(settings_.credits.update.count()) * kBitPicoseconds;
  const Duration travel = Duration::from_ps(static_cast<std::int64_t>(bits / back.rate) + back.latency);
  const auto blocks = static_cast<std::uint32_t>(blocks_of(size));
  schedule(simulator_.now() + travel, Phase::kDelivery, EventKind::kCredit, link.value(),
           static_cast<std::uint32_t>(priority) << 21 | blocks);
}

void PacketNetwork::drop(PacketId packet, std::uint32_t link) {
  ++counters_[link].drops;
  endpoints_->lost(packets_[packet]);
  packets_.destroy(packet);
}

PortCounters PacketNetwork::counters(LinkId link) const {
  const Counters& counted = counters_[link.index()];
  const std::int64_t now = simulator_.now().ps();
  PortCounters out;
  out.bytes = counted.bytes;
  out.packets = counted.packets;
  out.busy = Duration::from_ps(counted.busy);
  out.peak_queue_bytes = counted.peak;
  out.queue_byte_ps =
      counted.queue_byte_ps + static_cast<double>(queued_[link.index()]) * static_cast<double>(now - counted.changed);
  out.wait_ps = counted.wait_ps;
  out.peak_ingress_bytes = buffers_.peak_ingress_bytes(link);
  out.marks = counted.marks;
  out.drops = counted.drops;
  if (const Port& port = ports_[link.index()]; port.busy && port.free_at.ps() > now) {
    // What of the packet in transmission has not left yet.
    const std::int64_t left = port.free_at.ps() - now;
    const auto bits = static_cast<Int128>(left) * static_cast<Int128>(wires_[link.index()].rate);
    const auto bytes = static_cast<std::int64_t>((bits + kBitPicoseconds - 1) / kBitPicoseconds);
    out.bytes -= std::min<std::int64_t>(bytes, port.release_size);
    out.busy -= Duration::from_ps(left);
  }
  out.paused = Duration::from_ps(counted.paused + (paused(link) != 0 ? now - counted.paused_since : 0));
  return out;
}

void PacketNetwork::reset_peaks() {
  for (std::size_t i = 0; i < counters_.size(); ++i) counters_[i].peak = queued_[i];
  buffers_.reset_peaks();
}

std::span<const HopTelemetry> PacketNetwork::telemetry(PacketId packet) const {
  const std::size_t first = packet * kMaxTelemetryHops;
  if (!stamps_ || packets_[packet].stamps == 0) return {};
  return {telemetry_.data() + first, packets_[packet].stamps};
}

RandomStream& PacketNetwork::random(std::uint32_t link) {
  if (random_.empty()) random_.resize(ports_.size());
  std::optional<RandomStream>& stream = random_[link];
  if (!stream) stream.emplace(seed_, topology_.name(LinkId{link}) + "/chance");
  return *stream;
}

}  // namespace weft::net
