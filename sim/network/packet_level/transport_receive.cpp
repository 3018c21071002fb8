// The receiving side of queue pairs, and what comes back from it: acknowledgements, losses, notifications, timeouts.
#include "sim/network/packet_level/transport.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/core/error.h"

namespace weft::net {
namespace {

constexpr std::int32_t kNoSack = -1;

}  // namespace

void Transport::receive(PacketId id) {
  const PacketKind kind = network_.packets()[id].kind;
  if (is_of_group(kind)) {
    groups_.receive(id);
  } else if (kind == PacketKind::kData) {
    receive_data(id);
  } else {
    receive_control(id);
  }
}

void Transport::receive_data(PacketId id) {
  const Packet packet = network_.packets()[id];
  QueuePair& pair = *pairs_[packet.flow];
  if (packet.marked) notify(packet);
  if (pair.credits != nullptr) hear_demand(packet);
  if (packet.trimmed && !pair.in_order) {
    answer(id, PacketKind::kNak, packet.sequence, kNoSack);
    return;
  }
  if (pair.in_order && (packet.sequence != pair.expected || packet.trimmed)) {
    const Time now = simulator_.now();
    const bool ahead = packet.sequence >= pair.expected;
    if (!ahead) {
      answer(id, PacketKind::kAck, pair.expected, kNoSack);
    } else if (!pair.nak_sent || now >= pair.last_nak + pair.how->nak_interval) {
      pair.nak_sent = true;
      pair.last_nak = now;
      answer(id, PacketKind::kNak, pair.expected, kNoSack);
    } else {
      network_.packets().destroy(id);
    }
    return;
  }
  std::int32_t sack = kNoSack;
  bool is_new = true;
  if (pair.selective != nullptr) {
    is_new = pair.selective->receive(packet.sequence);
    pair.expected = pair.selective->expected();
    sack = packet.sequence >= pair.expected ? static_cast<std::int32_t>(packet.sequence - pair.expected) : kNoSack;
  } else {
    // In order; without retransmission what was lost on the way is no longer waited for.
    pair.expected = std::max(pair.expected, packet.sequence + 1);
  }
  pair.nak_sent = false;
  ++pair.unacked;
  const bool due = pair.unacked >= pair.how->ack_every || packet.last || packet.asks || sack != kNoSack || !is_new;
  if (pair.acks && due) {
    pair.unacked = 0;
    answer(id, PacketKind::kAck, pair.expected, sack);
  } else {
    network_.packets().destroy(id);
  }
  if (is_new) accept(packet);
}

void Transport::accept(const Packet& packet) {
  QueuePair& pair = *pairs_[packet.flow];
  pair.counters.delivered_wire_bytes += packet.size;
  ++messages_[packet.message].arrived;
  complete(packet.message);
}

// Once all packets of a message have arrived or are lost for good. A loss that nobody repairs ends it.
void Transport::complete(std::uint32_t index) {
  const Message& message = messages_[index];
  if (message.arrived + message.missing < message.count || message.delivered) return;  // delivered: given up before
  if (message.missing > 0 && !message.cut) {
    abort(index);
  } else if (message.extra_latency > Duration{}) {
    schedule(simulator_.now() + message.extra_latency, EventKind::kDeliver, index);
  } else {
    tell_delivered(index);
  }
}

// The data packet becomes its own answer. `sequence`: all below have arrived; `sack`: and so has the one so far above it.
void Transport::answer(PacketId id, PacketKind kind, std::int64_t sequence, std::int32_t sack) {
  Packet& packet = network_.packets()[id];
  packet.kind = kind;
  packet.sequence = sequence & kMostSequence;
  packet.payload = sack;
  const QueuePair& pair = *pairs_[packet.flow];
  if (pair.credits != nullptr) packet.credit = static_cast<std::uint16_t>(pair.credits->granted);
  const TransportSettings& how = *pair.how;
  send_control(id, how.acks, static_cast<std::int32_t>(how.ack_size.count()));
}

// A mark is answered with a notification, at most one in an interval.
void Transport::notify(const Packet& packet) {
  QueuePair& pair = *pairs_[packet.flow];
  const TransportSettings& transport = *pair.how;
  if (!pair.cnps) return;
  const Time now = simulator_.now();
  if (pair.any_cnp && now < pair.last_cnp + transport.cnp_interval) return;
  pair.any_cnp = true;
  pair.last_cnp = now;
  const PacketId id = network_.packets().create();
  Packet& cnp = network_.packets()[id];
  cnp = {};
  cnp.kind = PacketKind::kCnp;
  cnp.flow = packet.flow;
  cnp.sent = packet.sent;
  send_control(id, transport.cnps, static_cast<std::int32_t>(transport.cnp_size.count()));
}

void Transport::send_control(PacketId id, AckMode mode, std::int32_t size) {
  Packet& packet = network_.packets()[id];
  QueuePair& pair = *pairs_[packet.flow];
  if (mode == AckMode::kFree) {
    if (network_.loses_free(packet, pair.reference)) {
      network_.packets().destroy(id);
      return;
    }
    const Time at = simulator_.now() + pair.back_propagation;
    if (PartMail* mail = network_.mail(); mail != nullptr && !mail->is_here(ends_[packet.flow].to[0])) {
      mail->send(ends_[packet.flow].to[0], at, packet, network_.telemetry(id), true);
      network_.packets().destroy(id);
      return;
    }
    schedule(at, EventKind::kControl, id);
    return;
  }
  packet.size = size;
  packet.priority = static_cast<std::uint8_t>(pair.how->ack_priority);
  packet.ingress = {};
  packet.counted = packet.credited = false;
  packet.hop = 0;
  packet.last = false;
  packet.tail = simulator_.now();
  const FlowEnds& ends = ends_[packet.flow];
  if (!ends.fixed && ends.back == kNoRoute) add_way_back(packet.flow);
  const LinkId out = route(packet, ends.to[1]);
  if (out.valid()) {
    network_.enqueue(out, id);
  } else {
    network_.packets().destroy(id);
  }
}

void Transport::receive_control(PacketId id) {
  const Packet packet = network_.packets()[id];
  QueuePair& pair = *pairs_[packet.flow];
  const Time now = simulator_.now();
  if (pair.credits != nullptr && packet.kind != PacketKind::kCnp) {
    pair.credits->timeouts = 0;
    pair.congestion->on_credit(now, packet.credit);
  }
  switch (packet.kind) {
    case PacketKind::kAck:
      acknowledge(packet.flow, packet.sequence, packet, id);
      break;
    case PacketKind::kNak:
      if (pair.in_flight != nullptr) {
        receive_trim(pair, packet);
        break;
      }
      acknowledge(packet.flow, packet.sequence, packet, id);
      if (pair.congestion != nullptr) pair.congestion->on_loss(now);
      rewind(packet.flow);
      break;
    case PacketKind::kCnp:
      receive_cnp(pair);
      break;
    case PacketKind::kCredit:
      break;
    case PacketKind::kData:
    case PacketKind::kReduce:
    case PacketKind::kCopy:
      WEFT_CHECK(false);
  }
  network_.packets().destroy(id);
  offer(packet.flow);
}

void Transport::receive_cnp(QueuePair& pair) {
  ++pair.counters.cnps;
  if (pair.congestion == nullptr) return;
  pair.congestion->advance(simulator_.now());
  pair.congestion->on_cnp(simulator_.now());
}

void Transport::acknowledge(std::uint32_t flow, std::int64_t below, const Packet& packet, PacketId id) {
  QueuePair& pair = *pairs_[flow];
  if (pair.dead) return;
  const Time now = simulator_.now();
  const std::int64_t before = pair.outstanding;
  if (pair.selective != nullptr) {
    const std::int64_t arrived = packet.payload == kNoSack ? below - 1 : below + packet.payload;
    if (pair.selective->acknowledge(below, arrived)) {
      pair.timeouts = 0;  // the way is open, whatever is missing
      if (pair.in_flight != nullptr) pair.deadline = now + pair.timeout;
    }
    if (pair.in_flight != nullptr) pair.outstanding -= pair.in_flight->arrived(below, arrived);
  }
  if (below > pair.acked) {
    pair.timeouts = 0;
    pair.deadline = now + pair.timeout;
    advance_acked(pair, below);
  }
  if (pair.entropies != nullptr)
    pair.entropies->feedback(packet.by, packet.marked ? PathFeedback::kMarked : PathFeedback::kGood);
  if (pair.congestion == nullptr) return;
  pair.congestion->advance(now);
  pair.congestion->on_ack({.now = now,
                           .rtt = now - packet.sent,
                           .marked = packet.marked,
                           .newly_acked = Bytes{before - pair.outstanding},
                           .in_flight = Bytes{pair.outstanding},
                           .acked = pair.acked,
                           .next = pair.next,
                           .hops = packet.hop,
                           .telemetry = network_.telemetry(id)});
}

void Transport::advance_acked(QueuePair& pair, std::int64_t below) {
  while (pair.acked < below) {
    const std::uint32_t index = pair.oldest;
    WEFT_CHECK(index != kNone);
    const Message& message = messages_[index];
    const std::int64_t end = message.first + message.count;
    const std::int64_t upto = std::min(below, end);
    if (pair.in_flight == nullptr) {
      const std::int64_t full = std::min(upto, end - 1) - pair.acked;
      if (full > 0) pair.outstanding -= full * pair.full_size;
      if (upto == end) pair.outstanding -= network_.wire_size(pair.reference, payload_of(message, end - 1));
    }
    pair.acked = upto;
    if (upto < end) break;
    pair.oldest = message.next;
    if (pair.oldest == kNone) pair.newest = kNone;
    tell_sent(index);
  }
  // After a rewind, what had arrived all the same needs no second sending.
  if (pair.next < pair.acked) {
    pair.next = pair.acked;
    pair.sending = pair.oldest;
    pair.outstanding = 0;
  }
}

// The header of a packet has reached its receiver, which says so. The rest is sent again, within the window.
void Transport::receive_trim(QueuePair& pair, const Packet& trimmed) {
  if (pair.dead) return;
  const Time now = simulator_.now();
  pair.entropies->feedback(trimmed.by, PathFeedback::kTrimmed);
  pair.timeouts = 0;
  pair.deadline = now + pair.timeout;
  const std::int64_t size = pair.in_flight->lost(trimmed.sequence);
  if (size == 0) return;  // it is on the way again, or there
  pair.outstanding -= size;
  pair.selective->lose(trimmed.sequence);
  if (pair.congestion == nullptr) return;
  pair.congestion->advance(now);
  pair.congestion->on_trim(now, Bytes{size}, Bytes{pair.outstanding});
}

// Go-back-N: everything from the first unacknowledged packet on goes out again.
void Transport::rewind(std::uint32_t flow) {
  QueuePair& pair = *pairs_[flow];
  if (pair.selective != nullptr) {
    pair.selective->lose_all(pair.next);
    if (pair.in_flight != nullptr) {
      pair.in_flight->all_lost();
      pair.outstanding = 0;
    }
    return;
  }
  pair.next = pair.acked;
  pair.outstanding = 0;
  pair.sending = pair.oldest;
}

void Transport::arm_timeout(std::uint32_t flow) {
  QueuePair& pair = *pairs_[flow];
  if (!pair.repeats || pair.timer_queued) return;
  pair.deadline = simulator_.now() + pair.timeout;
  pair.timer_queued = true;
  schedule(pair.deadline, EventKind::kTimeout, flow);
}

void Transport::timeout(std::uint32_t flow) {
  QueuePair& pair = *pairs_[flow];
  pair.timer_queued = false;
  const bool waits = pair.credits != nullptr && pair.credits->unsent > 0 && waits_for_credit(pair);
  if ((pair.acked == pair.most_sent && !waits) || pair.dead) return;
  if (simulator_.now() < pair.deadline) {
    pair.timer_queued = true;
    schedule(pair.deadline, EventKind::kTimeout, flow);
    return;
  }
  if (pair.credits != nullptr && waits_for_credit(pair)) {
    ask_for_credit(pair);
    arm_timeout(flow);
    offer(flow);
    return;
  }
  ++pair.counters.timeouts;
  pair.counters.timeout_wait += pair.timeout;
  if (++pair.timeouts > pair.how->retries) {
    pair.counters.gave_up_after = pair.timeouts;
    give_up(flow);
    return;
  }
  if (pair.congestion != nullptr) pair.congestion->on_loss(simulator_.now());
  rewind(flow);
  arm_timeout(flow);
  offer(flow);
}

void Transport::give_up(std::uint32_t flow) {
  if (network_.mail() != nullptr) throw CannotRunInParts("a queue pair gave up");
  QueuePair& pair = *pairs_[flow];
  pair.dead = true;
  while (pair.oldest != kNone) {
    const std::uint32_t index = pair.oldest;
    pair.oldest = messages_[index].next;
    if (messages_[index].delivered) {
      tell_sent(index);  // only its acknowledgement is lost
    } else {
      abort(index);
    }
  }
  pair.newest = pair.sending = kNone;
  if (pair.credits != nullptr) pair.credits->unsent = 0;
  pair.next = pair.acked = pair.most_sent = pair.end;
}

void Transport::lost(const Packet& packet, bool to_failure) {
  if (!carries_data(packet.kind)) return;
  if (is_of_group(packet.kind)) {
    const std::uint32_t message = groups_.lost(packet.message);
    if (message != kNone) resend_later({message, 0});
    return;
  }
  // One that only passes this part repeats as all of its fabric do.
  const QueuePair* const pair = pairs_[packet.flow].get();
  const TransportSettings& how = settings_.transport;
  const bool repeats = pair != nullptr ? pair->repeats : how.acks != AckMode::kNone && how.reliability != Reliability::kNone;
  if (repeats) return;
  if (network_.mail() != nullptr) throw CannotRunInParts("a packet was lost for good");
  if (to_failure && messages_[packet.message].resend) {
    resend_later({packet.message, packet.payload});
  } else {
    schedule(simulator_.now(), EventKind::kLost, packet.message);
  }
}

void Transport::resend_later(const Resend& lost) {
  if (resends_.empty()) schedule(simulator_.now(), EventKind::kResend, 0);
  resends_.push_back(lost);
}

void Transport::resend_all() {
  const std::vector<Resend> all = std::exchange(resends_, {});
  for (const Resend& each : all) resend(each);
}

// As a message of its own behind what is posted, which completes the other; of a group, all of it. Where there is no way and
// none will be back, the packet is lost for good.
void Transport::resend(const Resend& lost) {
  const std::uint32_t flow = messages_[lost.message].flow;
  const bool joined = flow == kNone ? groups_.restart(lost.message, *footprints_) : !routes_.broken(pairs_[flow]->route);
  if (!joined && failures_pass_) {
    cut_off_.push_back(lost);
  } else if (!joined) {
    ++messages_[lost.message].missing;
    complete(lost.message);
  } else if (flow != kNone) {
    const std::uint32_t index = take_message();
    const Message& whole = messages_[lost.message];
    Transfer transfer;
    transfer.priority = whole.priority;
    transfer.rate_cap = Bandwidth::from_bits_per_second(std::llround(whole.rate_cap * 8e12));
    Message& repair = messages_[index];
    repair.in_use = repair.resend = true;
    repair.repairs = lost.message;
    repair.bytes = lost.payload;
    ++pairs_[flow]->counters.retransmitted;
    post_message(flow, index, transfer);
  }
}

void Transport::tell_sent(std::uint32_t index) {
  Message& message = messages_[index];
  if (message.sent) return;
  message.sent = true;
  TransferListener* const listener = message.listener;
  const std::uint64_t tag = message.tag;
  const std::uint32_t parent = message.parent;
  const bool repairs = message.repairs != kNone;
  free_if_done(index);
  if (repairs) return;
  if (parent == kNone) {
    listener->on_source_free(TransferId{index}, tag);
  } else if (--messages_[parent].parts_unsent == 0) {
    tell_sent(parent);
  }
}

void Transport::tell_delivered(std::uint32_t index) {
  Message& message = messages_[index];
  message.delivered = true;
  TransferListener* const listener = message.listener;
  const std::uint64_t tag = message.tag;
  const std::uint32_t parent = message.parent;
  if (const std::uint32_t whole = message.repairs; whole != kNone) {
    free_if_done(index);
    ++messages_[whole].arrived;
    complete(whole);
    return;
  }
  if (parent != kNone) {
    free_if_done(index);
    if (--messages_[parent].parts_left == 0) tell_delivered(parent);
    return;
  }
  ++totals_.delivered;
  --live_;
  free_if_done(index);
  listener->on_delivered(TransferId{index}, tag);
}

void Transport::abort(std::uint32_t index) {
  Message& message = messages_[index];
  if (message.delivered) return;
  if (const std::uint32_t whole = message.repairs; whole != kNone) {
    message.sent = message.delivered = true;
    ++messages_[whole].missing;
    complete(whole);
    return;
  }
  if (message.parent != kNone) {
    message.sent = message.delivered = true;
    abort(message.parent);
    return;
  }
  TransferListener* const listener = message.listener;
  const std::uint64_t tag = message.tag;
  message.sent = message.delivered = true;
  ++totals_.aborted;
  --live_;
  listener->on_aborted(TransferId{index}, tag);  // the slot is kept: its packets may still be on the way
}

void Transport::free_if_done(std::uint32_t index) {
  Message& message = messages_[index];
  if (!message.sent || !message.delivered) return;
  message.in_use = false;
  message.next = free_message_;
  free_message_ = index;
}

}  // namespace weft::net
