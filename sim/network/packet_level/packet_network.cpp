#include "sim/network/packet_level/packet_network.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/core/error.h"
#include "sim/network/packet_level/transport.h"

// Not under sanitizers: with their checks in every call, one such function takes the compiler over half an hour.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define WEFT_SINGLE_PIECE
#else
#define WEFT_SINGLE_PIECE [[gnu::flatten]]
#endif

namespace weft::net {
namespace {

constexpr std::ptrdiff_t kKindsLookedAt = 64;
constexpr std::size_t kFarAhead = 8;  // events of one lane
constexpr std::size_t kNearAhead = 4;
constexpr std::size_t kNextAhead = 2;

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
      pause_frames_{simulator.add_component("pauses")},
      component_{simulator.add_component("packets")},
      buffers_{topology, settings},
      links_(topology.link_count()),
      to_(topology.link_count()),
      incidents_(topology.link_count()) {
  for (std::size_t i = 0; i < links_.size(); ++i) add_wire(LinkId::from_index(i));
  const auto take = [&](const SwitchSettings& switches, const PfcSettings& pfc, const EcnSettings& ecn) {
    marks_at_enqueue_ |= ecn.priorities != 0 && ecn.at_enqueue;
    marks_at_start_ |= ecn.priorities != 0 && !ecn.at_enqueue;
    if (switches.scheduling == Scheduling::kDwrr) deficits_.resize(links_.size());
    if (switches.scheduling == Scheduling::kLanes) lane_turns_.resize(links_.size());
    if (ecn.fecn) unmarked_.resize(links_.size());
    if (pfc.priorities != 0 && pfc.quanta > 0) expiries_.resize(links_.size() * kPriorities);
    const double least = *std::ranges::min_element(switches.weights);
    auto& shares = shares_.emplace_back();
    std::ranges::transform(switches.weights, shares.begin(), [&](double weight) { return weight / least; });
  };
  take(settings.switches, settings.pfc, settings.ecn);
  for (const DeviceSettings& own : settings.own) take(own.switches, own.pfc, own.ecn);
  refreshes_.resize(expiries_.size());
  shared_wires_ = wires_.size();
  if (std::ranges::any_of(wires_, &Wire::credits)) make_credits();
}

void PacketNetwork::add_wire(LinkId id) {
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
  wire.full_payload = static_cast<std::int32_t>(spec.packet.count());
  wire.full_size = other_wire_size(id, wire.full_payload);
  // Links of one kind come near each other, so that a few of the latest kinds are looked at only.
  const auto latest = wires_.rbegin();
  const auto end = latest + std::min<std::ptrdiff_t>(std::ssize(wires_), kKindsLookedAt);
  const auto same = std::find(latest, end, wire);
  Port& port = links_[id.index()].port;
  to_[id.index()] = link.to.value();
  port.weighted = settings_.switches_of(link.from).scheduling != Scheduling::kStrict;
  if (same == end) wires_.push_back(wire);
  port.kind = static_cast<std::uint32_t>(wires_.size() - 1 - static_cast<std::size_t>(same == end ? 0 : same - latest));
}

void PacketNetwork::make_credits() {
  // Packets are those of the fabric inside hosts too, however small the TLPs and flits are that they stand for.
  const auto largest = static_cast<std::int32_t>(settings_.transport.payload.value_or(Bytes{kDefaultPayload}).count());
  credits_.resize(links_.size());
  inputs_.resize(links_.size());
  input_.resize(links_.size());
  std::vector<std::uint32_t> inputs(topology_.device_count(), 0);
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    input_[i] = ++inputs[to_[i]];
    const Wire& wire = wire_of(i);
    if (!wire.credits) continue;
    // Enough for the link's full rate: what is on the way until a packet that begins now has left the far device and its credit
    // is back, and two packets more (network-models §4).
    const LinkId id{i};
    const std::int32_t packet = wire_size(id, std::max(wire.full_payload, largest));
    const double packet_ps = static_cast<double>(packet) * 8e12 / static_cast<double>(wire.rate);
    const double loop = 2 * static_cast<double>(wire.latency) + static_cast<double>(wire.forward + wire.header) + 4 * packet_ps;
    const auto packets = static_cast<std::int64_t>(std::ceil(loop / packet_ps));
    const std::int64_t automatic = (packets + 2) * blocks_of(packet);
    credits_[i].total = is_inside_host(topology_, id) ? automatic : settings_.credits.credits.value_or(automatic);
    credits_[i].blocks.fill(credits_[i].total);
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

void PacketNetwork::schedule(Time at, Phase phase, EventKind kind, std::uint32_t index, std::uint32_t extra) {
  simulator_.schedule(at, phase, kind == EventKind::kPause ? pause_frames_ : component_, *this,
                      static_cast<std::uint64_t>(kind) << 56 | static_cast<std::uint64_t>(extra) << 32 | index);
}

void PacketNetwork::schedule_regular(Time at, Phase phase, EventKind kind, std::uint32_t index) {
  simulator_.schedule_regular(at, phase, component_, *this, static_cast<std::uint64_t>(kind) << 56 | index);
}

// Of events to come soon, a few dozen of which are ahead of this one: first the links' own lines, then, when those are there,
// the packets and the memory behind them.
[[gnu::always_inline]] inline void PacketNetwork::prefetch_for_port_free() const {
  if (const std::uint64_t* far = simulator_.ahead(kFarAhead)) {
    const auto link = static_cast<std::uint32_t>(*far);
    __builtin_prefetch(&links_[link].port);
    __builtin_prefetch(&links_[link].queues);
    __builtin_prefetch(&links_[link].traffic);
  }
  if (const std::uint64_t* near = simulator_.ahead(kNearAhead)) {
    const auto link = static_cast<std::uint32_t>(*near);
    const Port& port = links_[link].port;
    buffers_.prefetch(port.release_ingress.valid() ? port.release_ingress : LinkId{link});
    packets_.prefetch(links_[link].queues[static_cast<int>(std::bit_width(port.waiting | 1U)) - 1].head);
  }
}

[[gnu::always_inline]] inline void PacketNetwork::prefetch_for_arrival() const {
  if (const std::uint64_t* far = simulator_.ahead(kFarAhead)) packets_.prefetch(static_cast<PacketId>(*far));
  if (const std::uint64_t* near = simulator_.ahead(kNearAhead)) {
    const Packet& packet = packets_[static_cast<PacketId>(*near)];
    buffers_.prefetch(packet.ingress);
    endpoints_->prefetch(packet);
  }
  if (const std::uint64_t* next = simulator_.ahead(kNextAhead)) {
    const Packet& packet = packets_[static_cast<PacketId>(*next)];
    endpoints_->prefetch(packet, DeviceId{to_[packet.ingress.index()]});
  }
}

void PacketNetwork::on_event(std::uint64_t payload) {
  const auto index = static_cast<std::uint32_t>(payload);
  const auto extra = static_cast<std::uint32_t>(payload >> 32) & 0xFF'FFFF;
  switch (static_cast<EventKind>(payload >> 56)) {
    case EventKind::kPortFree:
      prefetch_for_port_free();
      port_free(index);
      break;
    case EventKind::kArrival:
      prefetch_for_arrival();
      arrival(index);
      break;
    case EventKind::kLate:
      pass_on(index, packets_[index], packets_[index].ingress.value());
      break;
    case EventKind::kPause:
      set_paused(index, static_cast<int>(extra >> 1), (extra & 1) != 0);
      break;
    case EventKind::kExpiry:
      expire(index, static_cast<int>(extra));
      break;
    case EventKind::kRefresh:
      refresh(index, static_cast<int>(extra));
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
  Port& port = links_[link.index()].port;
  port.offered |= priority_bit(priority);
  port.offered_again = true;
  if (!port.busy && !port.choosing) try_start(link.value());
}

const std::vector<std::int64_t>& PacketNetwork::loads() {
  if (loads_.empty()) loads_.resize(links_.size(), 0);
  return loads_;
}

void PacketNetwork::enqueue(LinkId id, PacketId packet, Packet& p) {
  const std::uint32_t link = id.value();
  Port& port = links_[link].port;
  if (port.failed) {
    if (p.ingress.valid()) release(p);
    drop(packet, link, true);
    return;
  }
  append(link, packet, p);
  if (!port.busy) try_start(link);
}

void PacketNetwork::append(std::uint32_t link, PacketId packet, Packet& p) {
  Port& port = links_[link].port;
  p.at = simulator_.now();
  p.next = kNoPacket;
  Queue& queue = links_[link].queues[p.priority];
  port.waiting |= priority_bit(p.priority);
  if (wires_[port.kind].credits) {
    InputQueues& inputs = inputs_[link][p.priority];
    inputs.push(packets_, p.ingress.valid() ? input_[p.ingress.index()] : 0, packet);
    queue.head = inputs.head();
  } else {
    (queue.head == kNoPacket ? queue.head : packets_[queue.tail].next) = packet;
    queue.tail = packet;
  }
  change_queue(link, queue, p.size);
  if (marks_at_enqueue_) mark(link, p, queue.bytes, true);
}

PacketId PacketNetwork::take(std::uint32_t link, int priority) {
  Port& port = links_[link].port;
  Queue& queue = links_[link].queues[priority];
  const PacketId packet = queue.head;
  if (wires_[port.kind].credits) {
    InputQueues& inputs = inputs_[link][static_cast<std::size_t>(priority)];
    inputs.pop(packets_);
    queue.head = inputs.head();
  } else {
    queue.head = packets_[packet].next;
  }
  const unsigned is_empty = queue.head == kNoPacket ? 1 : 0;
  port.waiting &= static_cast<PriorityMask>(~(is_empty << static_cast<unsigned>(priority)));
  return packet;
}

[[gnu::noinline]] bool PacketNetwork::prefetch(std::uint32_t link, int priority) {
  const PacketId packet = endpoints_->pull(LinkId{link}, priority);
  if (packet == kNoPacket) {
    links_[link].port.offered &= static_cast<PriorityMask>(~priority_bit(priority));
    return false;
  }
  append(link, packet, packets_[packet]);
  return true;
}

bool PacketNetwork::has_credit(std::uint32_t link, int priority, const Packet& packet) const {
  if (!wire_of(link).credits || links_[link].port.failed) return true;
  return credits_[link].blocks[static_cast<std::size_t>(priority)] >= blocks_of(packet.size);
}

// The highest priority that may send, has a packet, and has the credits for it.
int PacketNetwork::choose(std::uint32_t link, PriorityMask able) {
  const bool credits = wire_of(link).credits;
  while (able != 0) {
    const int priority = std::bit_width(able) - 1;
    able &= static_cast<PriorityMask>(~priority_bit(priority));
    const Queue& queue = links_[link].queues[priority];
    if (queue.head == kNoPacket && !prefetch(link, priority)) continue;
    if (!credits || has_credit(link, priority, packets_[queue.head])) return priority;
  }
  return -1;
}

// Of those that have a packet and the credits for it, by the port's scheduler.
[[gnu::noinline]] int PacketNetwork::choose_weighted(Port& port, std::uint32_t link, PriorityMask able) {
  for (int priority = 0; priority < kPriorities; ++priority) {
    if ((able & priority_bit(priority)) == 0) continue;
    const Queue& queue = links_[link].queues[priority];
    if ((queue.head == kNoPacket && !prefetch(link, priority)) || !has_credit(link, priority, packets_[queue.head])) {
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

void PacketNetwork::try_start(std::uint32_t link) {
  Port& port = links_[link].port;
  if (port.busy || port.choosing) return;
  int priority = -1;
  port.choosing = true;
  do {
    port.offered_again = false;
    const auto able = static_cast<PriorityMask>((port.waiting | port.offered) & ~(port.paused | port.forced));
    if (able == 0) break;
    priority = !port.weighted ? choose(link, able) : choose_weighted(port, link, able);
  } while (priority < 0 && port.offered_again);
  port.choosing = false;
  if (priority >= 0) start(link, priority);
}

void PacketNetwork::start(std::uint32_t link, int priority) {
  Port& port = links_[link].port;
  const Wire& wire = wires_[port.kind];
  Traffic& traffic = links_[link].traffic;
  const PacketId packet = take(link, priority);
  Packet& p = packets_[packet];
  const Time now = simulator_.now();
  traffic.wait_ps += static_cast<double>((now - p.at).ps());
  if (marks_at_start_) mark(link, p, links_[link].queues[priority].bytes, false);
  if (stamps_ && wire.switch_behind && p.kind == PacketKind::kData && p.stamps < kMaxTelemetryHops) {
    const std::size_t at = packet * kMaxTelemetryHops + p.stamps++;
    if (telemetry_.size() <= at) telemetry_.resize(packets_.size() * kMaxTelemetryHops);
    telemetry_[at] = {traffic.bytes + p.size, traffic.queued - p.size, now,
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
  port.release_owed = owed(p);
  port.release_counted = p.counted;
  port.release_priority = static_cast<std::uint8_t>(priority);
  port.left_message = kNoPacket;
  if (p.last && !p.ingress.valid() && p.kind == PacketKind::kData) {
    port.left_flow = p.flow;
    port.left_message = p.message;
  }
  traffic.bytes += p.size;
  ++traffic.packets;
  traffic.busy += (end - now).ps();
  ++hops_;
  schedule_regular(end, Phase::kCompletion, EventKind::kPortFree, link);
  if (port.failed) {
    drop(packet, link, true);
  } else {
    put_on_wire(link, packet, p, now, end);
  }
}

void PacketNetwork::put_on_wire(std::uint32_t link, PacketId packet, Packet& p, Time begin, Time end) {
  Port& port = links_[link].port;
  const Wire& wire = wires_[port.kind];
  p.tail = end + Duration::from_ps(wire.latency);
  p.at = p.tail;
  if ((wire.cut_through || wire.forward != 0) && endpoints_->destination(p).value() != to_[link]) {
    const std::int64_t head = begin.ps() + wire.latency + std::min(wire.header, (end - begin).ps());
    p.at = Time::from_ps((wire.cut_through ? head : p.tail.ps()) + wire.forward);
  }
  p.at = port.last_at = std::max(p.at, port.last_at);
  p.ingress = LinkId{link};
  p.counted = wire.switch_ahead;
  p.credited = wire.credits;
  p.on_wire = true;
  if (p.at >= end) {
    port.sending = packet;
  } else {
    schedule_regular(p.at, Phase::kDelivery, EventKind::kArrival, packet);
  }
}

// RED on the instantaneous queue, the packet itself included (network-models §2.6).
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

// All of a hop is in the next two, each a single piece of code: calls between the steps took a fifth of its instructions.
WEFT_SINGLE_PIECE void PacketNetwork::port_free(std::uint32_t link) {
  Port& port = links_[link].port;
  port.busy = false;
  const LinkId ingress = port.release_ingress;
  const int priority = port.release_priority;
  const std::int64_t size = port.release_size;
  const std::int64_t owed = port.release_owed;
  const bool counted = port.release_counted;
  const std::uint32_t left = port.left_message;
  const std::uint32_t flow = port.left_flow;
  if (port.sending != kNoPacket) {
    schedule_regular(port.last_at, Phase::kDelivery, EventKind::kArrival, port.sending);
    port.sending = kNoPacket;
  }
  change_queue(link, links_[link].queues[priority], -size);
  if (ingress.valid()) release(ingress, priority, size, owed, counted);
  if (!port.busy) try_start(link);
  if (left != kNoPacket) endpoints_->message_left(flow, left);
}

WEFT_SINGLE_PIECE void PacketNetwork::arrival(PacketId packet) {
  Packet& p = packets_[packet];
  p.on_wire = false;
  if (p.lost) {
    packets_.destroy(packet);
    return;
  }
  const std::uint32_t link = p.ingress.value();
  const DeviceId device{to_[link]};
  ++p.hop;
  const bool at_end = endpoints_->destination(p) == device;
  if (!rules_.empty() && ruled_out(p, link, at_end)) {
    return_credit(p, p.size);
    drop(packet, link);
    return;
  }
  if (at_end) {
    return_credit(p, p.size);
    endpoints_->receive(packet);
    return;
  }
  if (is_of_group(p.kind)) {
    return_credit(p, p.size);
    endpoints_->in_switch(packet, device);
    return;
  }
  pass_on(packet, p, link);
}

void PacketNetwork::pass_on(PacketId packet, Packet& p, std::uint32_t link) {
  const LinkId out = endpoints_->route(p, DeviceId{to_[link]});
  if (!out.valid()) {  // no way from here any more
    return_credit(p, p.size);
    drop(packet, link, true);
    return;
  }
  // A faster link must not run dry in the middle of a packet: it is stored first (network-models §2.2).
  if (p.tail > simulator_.now() && wire_of(out.value()).rate > wire_of(link).rate) {
    schedule(p.tail, Phase::kDelivery, EventKind::kLate, packet);
    return;
  }
  join(out, packet, p);
}

void PacketNetwork::join(LinkId out, PacketId packet, Packet& p) {
  const LinkId in = p.ingress;
  __builtin_prefetch(&links_[out.index()].port);
  __builtin_prefetch(&links_[out.index()].queues);
  __builtin_prefetch(&links_[out.index()].traffic);
  const std::int32_t came = p.size;
  if (p.kind == PacketKind::kData) p.size = wire_size(out, p.payload);
  if (p.counted) {
    const Buffers::Admission admission = buffers_.admit(in, p.priority, p.size, links_[out.index()].queues[p.priority].bytes);
    if (admission.pause) send_pause(in, p.priority, true);
    if (!admission.accepted) {
      return_credit(p, came);
      drop(packet, in.value());
      return;
    }
  }
  enqueue(out, packet, p);
}

// A packet that came over `ingress` has left the device, or was lost there. Its credits are those of the bytes that it took on
// the way in, which links with other headers do not share.
void PacketNetwork::release(LinkId ingress, int priority, std::int64_t size, std::int64_t owed, bool counted) {
  if (counted && buffers_.release(ingress, priority, size)) send_pause(ingress, priority, false);
  if (owed != 0) send_credit(ingress, priority, owed);
}

[[gnu::noinline]] void PacketNetwork::send_credit(LinkId link, int priority, std::int64_t size) {
  const Wire& back = wire_of(topology_.link(link).twin.value());
  const auto bits = static_cast<std::uint64_t>(settings_.credits.update.count()) * kBitPicoseconds;
  const Duration travel = Duration::from_ps(static_cast<std::int64_t>(bits / back.rate) + back.latency);
  const auto blocks = static_cast<std::uint32_t>(blocks_of(size));
  schedule(simulator_.now() + travel, Phase::kDelivery, EventKind::kCredit, link.value(),
           static_cast<std::uint32_t>(priority) << 21 | blocks);
}

[[gnu::noinline]] void PacketNetwork::drop(PacketId packet, std::uint32_t link, bool to_failure) {
  ++incidents_[link].drops;
  endpoints_->lost(packets_[packet], to_failure);
  packets_.destroy(packet);
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
    // What of the packet in transmission has not left yet.
    const std::int64_t left = port.free_at.ps() - now;
    const auto bits = static_cast<Int128>(left) * static_cast<Int128>(wires_[port.kind].rate);
    const auto bytes = static_cast<std::int64_t>((bits + kBitPicoseconds - 1) / kBitPicoseconds);
    out.bytes -= std::min<std::int64_t>(bytes, port.release_size);
    out.busy -= Duration::from_ps(left);
  }
  out.paused = Duration::from_ps(incidents.paused + (paused(link) != 0 ? now - incidents.paused_since : 0));
  return out;
}

void PacketNetwork::set_share(LinkId id, double share) {
  Port& port = links_[id.index()].port;
  const std::int64_t full = topology_.spec(id).rate.bits_per_second();
  const auto bits = std::clamp<std::int64_t>(std::llround(share * static_cast<double>(full)), 1, full);
  if (wires_[port.kind].rate == static_cast<std::uint64_t>(bits)) return;
  if (port.kind < shared_wires_) {
    const Wire own = wires_[port.kind];
    port.kind = static_cast<std::uint32_t>(wires_.size());
    wires_.push_back(own);
  }
  Wire& wire = wires_[port.kind];
  wire.rate = static_cast<std::uint64_t>(bits);
  const Bytes header = topology_.forwarding(topology_.link(id).to).header;
  wire.header = transmission_time(header, Bandwidth::from_bits_per_second(bits)).ps();
  port.bits_left = 0;
}

void PacketNetwork::reset_peaks() {
  for (LinkState& link : links_) link.traffic.peak = link.traffic.queued;
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
  if (!stream) stream.emplace(seed_, topology_.name(LinkId{link}) + "/chance");
  return *stream;
}

}  // namespace weft::net
