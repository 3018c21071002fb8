// A packet takes two events on every link: the end of a transmission with the start of the next, and the arrival.
#include <algorithm>
#include <bit>

#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/transport.h"

// Each of the two events of a hop is one piece of code that holds what every hop does. Work that few packets meet is called
// instead. Inlined as well it made pieces of 250 kB, of which each line fetched its operands from the stack again, and took
// three hops for two.
#define WEFT_EVERY_HOP [[gnu::always_inline]] inline
#define WEFT_RARE [[gnu::noinline]]

namespace weft::net {
namespace {

constexpr std::size_t kFarAhead = 8;  // events of one lane
constexpr std::size_t kNearAhead = 4;
constexpr std::size_t kNextAhead = 2;

}  // namespace

void PacketNetwork::schedule(Time at, Phase phase, EventKind kind, std::uint32_t index, std::uint32_t extra) {
  simulator_.schedule(at, phase, kind == EventKind::kPause ? pause_frames_ : component_, *this,
                      static_cast<std::uint64_t>(kind) << 56 | static_cast<std::uint64_t>(extra) << 32 | index);
}

WEFT_EVERY_HOP void PacketNetwork::schedule_regular(Time at, Phase phase, EventKind kind, std::uint32_t index) {
  simulator_.schedule_regular(at, phase, component_, *this, static_cast<std::uint64_t>(kind) << 56 | index);
}

// Fetches ahead for events to come soon, of which a few dozen are ahead of this one. The links' own lines come first, then,
// when those are there, the packets and the memory behind them.
WEFT_EVERY_HOP void PacketNetwork::prefetch_for_port_free() const {
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

WEFT_EVERY_HOP void PacketNetwork::prefetch_for_arrival() const {
  if (const std::uint64_t* far = simulator_.ahead(kFarAhead)) packets_.prefetch(static_cast<PacketId>(*far));
  if (const std::uint64_t* near = simulator_.ahead(kNearAhead)) {
    const Packet& packet = packets_[static_cast<PacketId>(*near)];
    buffers_.prefetch(packet.ingress);
    endpoints_->prefetch(packet);
  }
  if (!is_large_) return;
  if (const std::uint64_t* next = simulator_.ahead(kNextAhead)) {
    const Packet& packet = packets_[static_cast<PacketId>(*next)];
    endpoints_->prefetch(packet, DeviceId{to_[packet.ingress.index()]});
  }
}

void PacketNetwork::on_event(std::uint64_t payload) {
  const auto kind = static_cast<EventKind>(payload >> 56);
  const auto index = static_cast<std::uint32_t>(payload);
  if (kind == EventKind::kPortFree) {
    prefetch_for_port_free();
    port_free(index);
  } else if (kind == EventKind::kArrival) {
    prefetch_for_arrival();
    arrival(index);
  } else {
    on_rare_event(kind, index, static_cast<std::uint32_t>(payload >> 32) & 0xFF'FFFF);
  }
}

WEFT_RARE void PacketNetwork::on_rare_event(EventKind kind, std::uint32_t index, std::uint32_t extra) {
  switch (kind) {
    case EventKind::kPortFree:
    case EventKind::kArrival:
      break;
    case EventKind::kLate:
      stored(index);
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
    case EventKind::kHeld:
      links_[index].port.held = false;
      try_start(index);
      break;
    case EventKind::kWatch:
      watch(index, static_cast<int>(extra));
      break;
    case EventKind::kForced:
      set_forced(index);
      break;
    case EventKind::kRetry:
      hold_for_retry(index, extra != 0);
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

// A packet that `link` has failed under.
WEFT_RARE void PacketNetwork::lose(std::uint32_t link, PacketId packet, const Packet& p) {
  if (p.ingress.valid()) release(p);
  drop(packet, link, true);
}

WEFT_EVERY_HOP void PacketNetwork::change_queue(LinkState& state, std::uint32_t link, Queue& queue, std::int64_t by, Time now) {
  queue.bytes += by;
  if (wires_[state.port.kind].from_memory) return;
  Traffic& traffic = state.traffic;
  traffic.queue_byte_ps += static_cast<double>(traffic.queued) * static_cast<double>(now.ps() - traffic.changed);
  traffic.changed = now.ps();
  traffic.queued += by;
  traffic.peak = std::max(traffic.peak, traffic.queued);
  if (!loads_.empty()) loads_[link] = traffic.queued;
}

WEFT_RARE void PacketNetwork::push_input(std::uint32_t link, Queue& queue, PacketId packet, const Packet& p) {
  InputQueues& inputs = (*inputs_[link])[p.priority];
  std::uint32_t input = p.ingress.valid() ? input_[p.ingress.index()] : 0;
  if (RelayTurns* const turns = turns_of(link, p); turns != nullptr) {
    input = turns->input_of(p);
    turns->add(p);
  }
  inputs.push(packets_, input, packet);
  queue.head = inputs.head();
}

// Made with the first packet that a GPU relays over the link.
RelayTurns* PacketNetwork::turns_of(std::uint32_t link, const Packet& p) {
  std::unique_ptr<RelayTurns>& turns = turns_[link];
  if (turns == nullptr && p.ingress.valid() && wire_of(link).from_memory) {
    turns = std::make_unique<RelayTurns>();
    for (InputQueues& queue : *inputs_[link]) queue.for_each(packets_, [&](const Packet& waits) { turns->add(waits); });
  }
  return turns.get();
}

WEFT_RARE void PacketNetwork::pop_input(std::uint32_t link, Queue& queue, int priority) {
  InputQueues& inputs = (*inputs_[link])[static_cast<std::size_t>(priority)];
  if (turns_[link] != nullptr) turns_[link]->remove(packets_[queue.head]);
  inputs.pop(packets_);
  queue.head = inputs.head();
}

WEFT_EVERY_HOP void PacketNetwork::append(LinkState& state, std::uint32_t link, PacketId packet, Packet& p, Time now) {
  Queue& queue = state.queues[p.priority];
  p.at = now;
  p.next = kNoPacket;
  if (wires_[state.port.kind].credits) {
    push_input(link, queue, packet, p);
  } else {
    (queue.head == kNoPacket ? queue.head : packets_[queue.tail].next) = packet;
    queue.tail = packet;
  }
  state.port.waiting |= priority_bit(p.priority);
  change_queue(state, link, queue, p.size, now);
  if (marks_at_enqueue_) mark(link, p, queue.bytes, true);
}

WEFT_EVERY_HOP PacketId PacketNetwork::take(LinkState& state, std::uint32_t link, int priority) {
  Queue& queue = state.queues[priority];
  const PacketId packet = queue.head;
  if (wires_[state.port.kind].credits) {
    pop_input(link, queue, priority);
  } else {
    queue.head = packets_[packet].next;
  }
  const unsigned is_empty = queue.head == kNoPacket ? 1 : 0;
  state.port.waiting &= static_cast<PriorityMask>(~(is_empty << static_cast<unsigned>(priority)));
  return packet;
}

void PacketNetwork::enqueue(LinkId id, PacketId packet) {
  LinkState& state = links_[id.index()];
  enqueue(state, id.value(), packet, packets_[packet], simulator_.now());
}

WEFT_EVERY_HOP void PacketNetwork::enqueue(LinkState& state, std::uint32_t link, PacketId packet, Packet& p, Time now) {
  if (state.port.guarded && turn_away(link, packet, p)) return;
  append(state, link, packet, p, now);
  try_start(state, link, now);
}

PacketId PacketNetwork::take_head(std::uint32_t link, int priority) {
  const PacketId packet = take(links_[link], link, priority);
  change_queue(links_[link], link, links_[link].queues[priority], -packets_[packet].size, simulator_.now());
  return packet;
}

WEFT_RARE bool PacketNetwork::pull(std::uint32_t link, int priority) {
  const PacketId packet = endpoints_->pull(LinkId{link}, priority);
  if (packet == kNoPacket) {
    links_[link].port.offered &= static_cast<PriorityMask>(~priority_bit(priority));
    return false;
  }
  append(links_[link], link, packet, packets_[packet], simulator_.now());
  return true;
}

WEFT_RARE bool PacketNetwork::line_up(std::uint32_t link, int priority) {
  const bool any = links_[link].queues[priority].head != kNoPacket;
  if (!any) return pull(link, priority);
  if (turns_.empty() || turns_[link] == nullptr || !turns_[link]->any_relayed(priority)) return true;
  const RelayTurns& turns = *turns_[link];
  while ((links_[link].port.offered & priority_bit(priority)) != 0 &&
         turns.own(priority) < endpoints_->ready(LinkId{link}, priority)) {
    if (!pull(link, priority)) break;
  }
  return true;
}

void PacketNetwork::try_start(std::uint32_t link) { try_start(links_[link], link, simulator_.now()); }

// Mostly the highest priority has a packet, and nothing keeps it back.
WEFT_EVERY_HOP void PacketNetwork::try_start(LinkState& state, std::uint32_t link, Time now) {
  const Port& port = state.port;
  if (port.busy || port.choosing || port.retries) return;
  const auto able = static_cast<PriorityMask>((port.waiting | port.offered) & ~(port.paused | port.forced));
  if (able == 0) return;
  const int priority = std::bit_width(able) - 1;
  const Wire& wire = wires_[port.kind];
  if (port.special || wire.credits || state.queues[priority].head == kNoPacket) return choose_and_start(link);
  start(state, wire, link, priority, now);
}

WEFT_RARE void PacketNetwork::choose_and_start(std::uint32_t link) {
  Port& port = links_[link].port;
  int priority = -1;
  port.choosing = true;
  do {
    port.offered_again = false;
    const auto able = static_cast<PriorityMask>((port.waiting | port.offered) & ~(port.paused | port.forced));
    if (able == 0) break;
    priority = !port.weighted ? choose(link, able) : choose_weighted(port, link, able);
  } while (priority < 0 && port.offered_again);
  port.choosing = false;
  if (wires_[port.kind].credits) note_starvation(link, priority < 0 && (port.waiting & ~(port.paused | port.forced)) != 0);
  if (priority >= 0 && (!port.shared || is_let_begin(link, priority)))
    start(links_[link], wires_[port.kind], link, priority, simulator_.now());
}

WEFT_RARE bool PacketNetwork::is_let_begin(std::uint32_t link, int priority) {
  const Packet& p = packets_[links_[link].queues[priority].head];
  if (p.kind != PacketKind::kData && !is_of_group(p.kind)) return true;
  const Time now = simulator_.now();
  const Time at = sharer_->begin(LinkId{link}, endpoints_->footprint_of(p), p.again ? Bytes{} : Bytes{p.payload}, p.at);
  if (at <= now) return true;
  Port& port = links_[link].port;
  if (!port.held) schedule(at, Phase::kCompletion, EventKind::kHeld, link);
  port.held = true;
  return false;
}

WEFT_RARE void PacketNetwork::stamp(LinkState& state, const Wire& wire, PacketId packet, Packet& p, Time now) {
  const std::size_t at = packet * kMaxTelemetryHops + p.stamps++;
  if (telemetry_.size() <= at) telemetry_.resize(packets_.size() * kMaxTelemetryHops);
  telemetry_[at] = {state.traffic.bytes + p.size, state.traffic.queued - p.size, now,
                    Bandwidth::from_bits_per_second(static_cast<std::int64_t>(wire.rate))};
}

WEFT_EVERY_HOP void PacketNetwork::start(LinkState& state, const Wire& wire, std::uint32_t link, int priority, Time now) {
  Port& port = state.port;
  Traffic& traffic = state.traffic;
  const PacketId packet = take(state, link, priority);
  Packet& p = packets_[packet];
  const std::int32_t size = p.size;
  if (!wire.from_memory) traffic.wait_ps += static_cast<double>((now - p.at).ps());
  if (marks_at_start_) mark(link, p, state.queues[priority].bytes, false);
  if (stamps_ && wire.switch_behind && p.kind == PacketKind::kData && p.stamps < kMaxTelemetryHops) {
    stamp(state, wire, packet, p, now);
  }
  if (wire.credits && !port.failed) credits_[link].blocks[static_cast<std::size_t>(priority)] -= blocks_of(size);

  // Bits are counted from the start of a burst and rounded down once, so that errors do not add up packet by packet.
  const std::uint64_t left_before = port.free_at == now ? port.bits_left : 0;
  Transmission takes = wire.usual[size == wire.full_size ? 0 : 1];
  if (takes.size != size) takes = transmission(size, wire.rate);
  const std::uint64_t left = takes.left + left_before;
  const bool is_whole = left >= wire.rate;
  port.bits_left = left - (is_whole ? wire.rate : 0);
  const Time end = std::max(now + Duration::from_ps(takes.ps + (is_whole ? 1 : 0)), p.tail);

  port.busy = true;
  port.free_at = end;
  port.release_ingress = p.ingress;
  port.release_size = size;
  port.release_owed = owed(p);
  port.release_counted = p.counted;
  port.release_priority = static_cast<std::uint8_t>(priority);
  port.left_message = kNoPacket;
  if (p.last && !p.ingress.valid()) {
    port.left_flow = is_of_group(p.kind) ? kNoPacket : p.flow;
    port.left_message = p.message;
  }
  traffic.bytes += size;
  ++traffic.packets;
  traffic.busy += (end - now).ps();
  ++hops_;
  schedule_regular(end, Phase::kCompletion, EventKind::kPortFree, link);
  if (port.failed) {
    drop(packet, link, true);
  } else {
    put_on_wire(port, wire, link, packet, p, now, end);
  }
}

WEFT_EVERY_HOP void PacketNetwork::put_on_wire(Port& port, const Wire& wire, std::uint32_t link, PacketId packet, Packet& p,
                                               Time begin, Time end) {
  Time at = end + Duration::from_ps(wire.latency);
  p.tail = at + Duration::from_ps(wire.forward);
  if ((wire.cut_through || wire.forward != 0) && endpoints_->destination(p).value() != to_[link]) {
    const std::int64_t head = begin.ps() + wire.latency + std::min(wire.header, (end - begin).ps());
    at = wire.cut_through ? Time::from_ps(head + wire.forward) : p.tail;
  }
  p.at = port.last_at = at = std::max(at, port.last_at);
  p.ingress = LinkId{link};
  p.counted = wire.switch_ahead;
  p.credited = wire.credits;
  p.on_wire = true;
  p.retried = false;
  if (wire.leaves_part) [[unlikely]]
    return send_off(packet, p, link, at);
  if (at >= end) {
    port.sending = packet;
  } else {
    schedule_regular(at, Phase::kDelivery, EventKind::kArrival, packet);
  }
}

WEFT_EVERY_HOP void PacketNetwork::port_free(std::uint32_t link) {
  const Time now = simulator_.now();
  LinkState& state = links_[link];
  Port& port = state.port;
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
  change_queue(state, link, state.queues[priority], -size, now);
  if (ingress.valid()) release(ingress, priority, size, owed, counted);
  try_start(state, link, now);
  if (left != kNoPacket) endpoints_->message_left(flow, left);
}

WEFT_EVERY_HOP void PacketNetwork::arrival(PacketId packet) {
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
  if (!retries_.empty() && comes_later(packet, p, link)) return;
  if (!rules_.empty() && ruled_out(p, link, at_end)) {
    if (is_retried(LinkId{link})) {
      retry(packet, p, link);
      return;
    }
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
  pass_on(packet, p, link, simulator_.now());
}

WEFT_EVERY_HOP void PacketNetwork::pass_on(PacketId packet, Packet& p, std::uint32_t link, Time now) {
  const LinkId out = endpoints_->route(p, DeviceId{to_[link]});
  if (!out.valid()) {  // no way from here any more
    return_credit(p, p.size);
    drop(packet, link, true);
    return;
  }
  // A GPU that relays has it in its memory, where it waits for its turn without a hold on the link that it came over.
  if (p.credited && wire_of(link).memory_behind) {
    return_credit(p, p.size);
    p.credited = false;
  }
  LinkState& state = links_[out.index()];
  const Wire& wire = wires_[state.port.kind];
  if (p.tail > now && wire.rate > wire_of(link).rate) {
    // A faster link must not run dry in the middle of a packet: it is stored first, and passes the device as a whole
    // (models/network §2.2). Where the link's own packets are smaller, they follow one another as this one comes in.
    if (p.payload <= wire.full_payload) {
      p.next = out.value();
      schedule(p.tail, Phase::kDelivery, EventKind::kLate, packet);
      return;
    }
    p.tail += Duration::from_ps(wire.usual[0].ps);
  }
  join(state, out.value(), packet, p, now);
}

// It takes the link that it was stored for: one that drew again would leave fast links to slow ones.
WEFT_RARE void PacketNetwork::stored(PacketId packet) {
  Packet& p = packets_[packet];
  const std::uint32_t out = p.next;
  if (links_[out].port.failed) {
    pass_on(packet, p, p.ingress.value(), simulator_.now());
  } else {
    join(links_[out], out, packet, p, simulator_.now());
  }
}

WEFT_EVERY_HOP void PacketNetwork::join(LinkState& state, std::uint32_t out, PacketId packet, Packet& p, Time now) {
  __builtin_prefetch(&state.port);
  __builtin_prefetch(&state.queues);
  __builtin_prefetch(&state.traffic);
  const LinkId in = p.ingress;
  const std::int32_t came = p.size;
  if (p.kind == PacketKind::kData) {
    const Wire& wire = wires_[state.port.kind];
    p.size = p.payload == wire.full_payload ? wire.full_size : p.trimmed ? p.size : other_wire_size(LinkId{out}, p.payload);
  }
  if (p.counted) {
    if (!buffers_.admits_plainly(in, p.priority, p.size) && !admit_any(state, packet, p, came)) return;
  }
  enqueue(state, out, packet, p, now);
}

// Where there is no memory for it, it is lost: false.
WEFT_RARE bool PacketNetwork::admit_any(const LinkState& state, PacketId packet, Packet& p, std::int32_t came) {
  const LinkId in = p.ingress;
  Buffers::Admission admission = buffers_.admit(in, p.priority, p.size, state.queues[p.priority].bytes);
  if (!admission.accepted && trim(p)) admission = buffers_.admit_header(in, p.priority, p.size, state.queues[p.priority].bytes);
  if (admission.pause) send_pause(in, p.priority, true);
  if (admission.accepted) return true;
  return_credit(p, came);
  drop(packet, in.value());
  return false;
}

// A packet that came over `ingress` has left the device, or was lost there. Its credits are those of the bytes that it took on
// the way in, which links with other headers do not share.
WEFT_EVERY_HOP void PacketNetwork::release(LinkId ingress, int priority, std::int64_t size, std::int64_t owed, bool counted) {
  if (counted && buffers_.release(ingress, priority, size)) send_pause(ingress, priority, false);
  if (owed != 0) send_credit(ingress, priority, owed);
}

void PacketNetwork::release(const Packet& p) { release(p.ingress, p.priority, p.size, owed(p), p.counted); }

WEFT_RARE void PacketNetwork::send_credit(LinkId link, int priority, std::int64_t size) {
  const Wire& back = wire_of(topology_.link(link).twin.value());
  const auto bits = static_cast<std::uint64_t>(settings_.credits.update.count()) * kBitPicoseconds;
  const Duration travel = Duration::from_ps(static_cast<std::int64_t>(bits / back.rate) + back.latency);
  const auto blocks = static_cast<std::uint32_t>(blocks_of(size));
  schedule_at_port(simulator_.now() + travel, Phase::kDelivery, EventKind::kCredit, link.value(),
                   static_cast<std::uint32_t>(priority) << 21 | blocks);
}

WEFT_RARE void PacketNetwork::drop(PacketId packet, std::uint32_t link, bool to_failure) {
  ++incidents_[link].drops;
  endpoints_->lost(packets_[packet], to_failure);
  packets_.destroy(packet);
}

}  // namespace weft::net
