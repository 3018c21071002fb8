// The sending side of queue pairs: who may send now, and the next packet of each.
#include "sim/network/packet_level/transport.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/error.h"

namespace weft::net {

std::int64_t Transport::next_packet(const QueuePair& pair) {
  return pair.selective == nullptr ? pair.next : pair.selective->peek_lost().value_or(pair.next);
}

// The message of a packet that is posted and not acknowledged.
std::uint32_t Transport::message_of(const QueuePair& pair, std::int64_t sequence) const {
  std::uint32_t index = pair.sending != kNone && sequence >= messages_[pair.sending].first ? pair.sending : pair.oldest;
  while (sequence >= messages_[index].first + messages_[index].count) index = messages_[index].next;
  return index;
}

// A fixed window holds whole packets; one that a control law moves lets the packet through that crosses it, so that it is used
// up. One packet may always be on the way.
std::int64_t Transport::window_room(const QueuePair& pair) {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  if (pair.window > 0) room = pair.window - pair.full_size + 1;
  if (pair.congestion != nullptr) room = std::min(room, pair.congestion->window().count());
  return std::max<std::int64_t>(room, 1);
}

Time Transport::may_send(QueuePair& pair) {
  const Time now = simulator_.now();
  const bool again = pair.selective != nullptr && pair.selective->peek_lost().has_value();
  if (pair.dead || pair.waits_for_way || (!again && pair.next == pair.end)) return Time::max();
  if (pair.congestion != nullptr) pair.congestion->advance(now);
  const bool counts = !again || pair.in_flight != nullptr;
  if (counts && pair.outstanding >= window_room(pair)) return Time::max();
  if (pair.credits != nullptr && !pair.congestion->has_credit()) return Time::max();
  Time at = next_send(pair);
  if (!again) at = std::max(at, messages_[pair.sending].ready);
  if (at <= now) return now;
  return pair.congestion == nullptr ? at : std::min(at, std::max(pair.congestion->next_update(), now));
}

void Transport::wake(std::uint32_t flow, Time at) {
  QueuePair& pair = *pairs_[flow];
  if (pair.wake_at <= at) return;
  pair.wake_at = at;
  schedule(at, EventKind::kWake, flow);
}

void Transport::offer(std::uint32_t flow) {
  QueuePair& pair = *pairs_[flow];
  if (pair.open_loop) return;
  const Time at = may_send(pair);
  if (at == Time::max()) return;
  if (at > simulator_.now()) {
    wake(flow, at);
    return;
  }
  const int priority = messages_[message_of(pair, next_packet(pair))].priority;
  for (std::size_t i = 0; i < pair.first_links.size(); ++i) {
    if (!pair.listed[i]) {
      pair.listed[i] = true;
      rings_[pair.first_links[i].index()]->queue[static_cast<std::size_t>(priority)].push_back(flow);
    }
  }
  const std::size_t links = pair.first_links.size();
  // Idle links are taken in their order, as nothing else makes them differ. Of links that flows keep busy any may be free.
  std::size_t next = 0;
  if (links > 1 && network_.is_shared(pair.first_links[0])) next = (flow + static_cast<std::size_t>(pair.next)) % links;
  for (std::size_t i = 0; i < links; ++i) {
    network_.offer(pair.first_links[next], priority);
    if (++next == links) next = 0;
  }
}

PacketId Transport::pull(LinkId link, int priority) {
  Ring& ring = *rings_[link.index()];
  std::vector<std::uint32_t>& queue = ring.queue[static_cast<std::size_t>(priority)];
  std::size_t& head = ring.head[static_cast<std::size_t>(priority)];
  while (head < queue.size()) {
    const std::uint32_t flow = queue[head++];
    if (head > 64 && 2 * head > queue.size()) {
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
      head = 0;
    }
    QueuePair& pair = *pairs_[flow];
    const auto place = static_cast<std::size_t>(std::ranges::find(pair.first_links, link) - pair.first_links.begin());
    if (place == pair.first_links.size()) continue;  // it leaves by another link now
    const Time at = may_send(pair);
    if (at != simulator_.now()) {
      pair.listed[place] = false;
      if (at != Time::max()) wake(flow, at);
      continue;
    }
    const std::int64_t sequence = next_packet(pair);
    const bool again = sequence < pair.next;
    if (messages_[message_of(pair, sequence)].priority != priority) {  // the next message is of another class
      pair.listed[place] = false;
      offer(flow);
      continue;
    }
    const PacketId id = build(flow, sequence, link);
    Packet& packet = network_.packets()[id];
    const std::int32_t counted = network_.wire_size(pair.reference, packet.payload);
    packet.again = sequence < pair.most_sent;
    if (packet.again) ++pair.counters.retransmitted;
    if (pair.in_flight != nullptr) pair.outstanding += pair.in_flight->sent(sequence, counted);
    if (again) {
      pair.selective->pop_lost(pair.next);
      // It may have waited long for credit.
      if (pair.credits != nullptr && pair.outstanding == counted) pair.deadline = simulator_.now() + pair.timeout;
    } else {
      pair.most_sent = std::max(pair.most_sent, ++pair.next);
      if (pair.acks && pair.in_flight == nullptr) pair.outstanding += counted;
      if (pair.acks && pair.outstanding == counted) pair.deadline = simulator_.now() + pair.timeout;
    }
    // A receiver that waits for more packets than the window holds would wait for ever.
    const std::int64_t every = pair.how->ack_every;
    packet.asks = pair.acks && every > 1 && pair.next - pair.acked < every && pair.outstanding >= window_room(pair);
    pace(pair, counted, packet.payload, messages_[packet.message].rate_cap);
    if (pair.credits != nullptr) {
      if (!again) pair.credits->unsent -= counted;
      state_demand(pair, packet);
    }
    if (packet.last && !again) pair.sending = messages_[packet.message].next;
    if (pair.acks) arm_timeout(flow);
    queue.push_back(flow);
    return id;
  }
  queue.clear();
  head = 0;
  return kNoPacket;
}

// A packet's time at the present rate after the one before: where the rate has changed since, so has this.
Time Transport::next_send(const QueuePair& pair) {
  double rate = pair.rate;
  if (pair.paced_cap > 0) rate = rate > 0 ? std::min(rate, pair.paced_cap) : pair.paced_cap;
  if (pair.congestion != nullptr) {
    const double allowed = pair.congestion->rate().bytes_per_ps();
    if (allowed > 0) rate = rate > 0 ? std::min(rate, allowed) : allowed;
  }
  if (rate <= 0 || pair.paced_size == 0) return {};
  return pair.paced_from + Duration::nearest_ps(static_cast<double>(pair.paced_size) / rate);
}

// A source that is late by less than a packet's time keeps its beat, so that its mean rate is what was asked for.
void Transport::pace(QueuePair& pair, std::int32_t size, std::int32_t payload, double rate_cap) {
  const Time now = simulator_.now();
  const Time due = next_send(pair);
  if (pair.congestion != nullptr) pair.congestion->on_sent(now, Bytes{size});
  pair.paced_cap = rate_cap > 0 && payload > 0 ? rate_cap * static_cast<double>(size) / static_cast<double>(payload) : 0.0;
  const Duration gap = due - pair.paced_from;
  pair.paced_from = pair.paced_size > 0 && due > Time{} && due + gap > now ? due : now;
  pair.paced_size = size;
}

void Transport::cut_short(TransferId transfer) {
  const std::uint32_t index = transfer.value();
  if (!messages_[index].in_use || messages_[index].delivered) return;
  messages_[index].cut = true;
  if (messages_[index].flow != kNone) {
    cut_message(index);
    return;
  }
  WEFT_CHECK(messages_[index].parts_left > 0);  // no group's
  for (std::uint32_t part = 0; part < messages_.size(); ++part) {
    if (messages_[part].in_use && messages_[part].parent == index) cut_message(part);
  }
}

// One packet more: the receiver sees by it that the message has ended, and answers it at once.
void Transport::cut_message(std::uint32_t index) {
  Message& message = messages_[index];
  QueuePair& pair = *pairs_[message.flow];
  message.cut = true;
  const std::int64_t sent = std::max(pair.next, pair.most_sent) - message.first;
  const std::int64_t count = std::max<std::int64_t>(sent, 0) + 1;
  if (count >= message.count) return;
  const std::int64_t less = message.count - count;
  const std::int64_t before = pair.credits == nullptr ? 0 : wire_bytes(pair, message);
  message.count = count;
  message.bytes = count * pair.payload;
  if (pair.credits != nullptr) pair.credits->unsent -= before - wire_bytes(pair, message);
  for (std::uint32_t later = message.next; later != kNone; later = messages_[later].next) messages_[later].first -= less;
  pair.end -= less;
  offer(message.flow);
}

void Transport::message_left(std::uint32_t flow, std::uint32_t message) {
  if (flow == kNone) {
    groups_.left(message);
    return;
  }
  QueuePair& pair = *pairs_[flow];
  if (pair.acks) return;
  messages_[message].left = true;
  unlink_left(pair);
  tell_sent(message);
}

// Without acknowledgements a message is off the list when it has left; with several first links the order may differ.
void Transport::unlink_left(QueuePair& pair) {
  while (pair.oldest != kNone && messages_[pair.oldest].left) {
    const Message& message = messages_[pair.oldest];
    pair.acked = message.first + message.count;
    pair.oldest = message.next;
  }
  if (pair.oldest == kNone) pair.newest = kNone;
}

}  // namespace weft::net
