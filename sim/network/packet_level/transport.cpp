#include "sim/network/packet_level/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/core/error.h"

namespace weft::net {
namespace {

constexpr std::int32_t kDefaultPayload = 4096;  // where no link of the fabric says otherwise
constexpr int kMostTimeouts = 7;
constexpr std::int32_t kNoSack = -1;

}  // namespace

Transport::Transport(Simulator& simulator, PacketNetwork& network, const Router& router, const PacketSettings& settings,
                     std::uint64_t seed)
    : simulator_{simulator},
      network_{network},
      topology_{router.topology()},
      settings_{settings},
      component_{simulator.add_component("transport")},
      routes_{router, seed, network.queued()},
      groups_{simulator, network, router},
      rings_(topology_.link_count()) {
  groups_.set_owner(*this);
}

void Transport::schedule(Time at, EventKind kind, std::uint32_t index) {
  simulator_.schedule(at, Phase::kAction, component_, *this, static_cast<std::uint64_t>(kind) << 32 | index);
}

FootprintId Transport::add_footprint(Footprint footprint) {
  footprints_.push_back(std::move(footprint));
  pair_of_.push_back(kNone);
  return FootprintId::from_index(footprints_.size() - 1);
}

void Transport::set_transport(FootprintId flow, const FlowTransport& transport) {
  WEFT_CHECK(pair_of_[flow.index()] == kNone);
  overrides_.emplace_back(flow, transport);
}

std::uint32_t Transport::queue_pair(FootprintId flow) {
  if (pair_of_[flow.index()] == kNone) {
    const Footprint& footprint = footprints_[flow.index()];
    if (footprint.paths.size() != 1) throw InternalError("packets cannot be sent over a coupled footprint");
    const std::uint64_t entropy = footprint.paths[0].key.entropy;
    const std::uint32_t count = pairs_per_footprint(footprint);
    const std::uint32_t first = make_queue_pair(flow, entropy);
    // Their own entropy, so that a hash may send each another way.
    for (std::uint32_t i = 1; i < count; ++i) make_queue_pair(flow, entropy + (std::uint64_t{i} << 48));
    pair_of_[flow.index()] = first;
  }
  return pair_of_[flow.index()];
}

std::uint32_t Transport::pairs_per_footprint(const Footprint& footprint) const {
  const PathEnds& ends = footprint.paths[0];
  if (topology_.host_of(ends.source) == topology_.host_of(ends.destination)) return 1;
  return static_cast<std::uint32_t>(std::max(settings_.transport.queue_pairs, 1));
}

// A link has failed or is back: queue pairs that leave by another link now move there.
void Transport::routes_changed() {
  routes_.forget();
  for (std::uint32_t flow = 0; flow < pairs_.size(); ++flow) {
    QueuePair& pair = *pairs_[flow];
    if (routes_.broken(pair.route)) continue;
    if (routes_.first_links(pair.route) != pair.first_links) choose_links(pair);
    offer(flow);
  }
}

std::uint32_t Transport::make_queue_pair(FootprintId id, std::uint64_t entropy) {
  const Footprint& footprint = footprints_[id.index()];
  auto made = std::make_unique<QueuePair>();
  QueuePair& pair = *made;
  pair.footprint = id;
  pair.route = routes_.add({footprint.paths[0].source, footprint.paths[0].destination, {entropy}});
  const FlowTransport* own = nullptr;
  for (const auto& [flow, transport] : overrides_) {
    if (flow == id) own = &transport;
  }
  choose_links(pair);
  const std::vector<LinkId> path = routes_.sample(pair.route);
  std::int64_t payload = std::numeric_limits<std::int32_t>::max();
  for (const LinkId link : path) {
    pair.back_propagation += topology_.spec(topology_.link(link).twin).latency;
    const Link& ends = topology_.link(link);
    const bool inside = topology_.host_of(ends.from) >= 0 && topology_.host_of(ends.from) == topology_.host_of(ends.to);
    if (!inside) payload = std::min(payload, topology_.spec(link).packet.count());
  }
  if (payload == std::numeric_limits<std::int32_t>::max()) payload = kDefaultPayload;
  if (settings_.transport.payload) payload = settings_.transport.payload->count();
  if (own != nullptr && own->payload) payload = own->payload->count();
  pair.payload = static_cast<std::int32_t>(payload);
  pair.full_size = network_.wire_size(pair.reference, pair.payload);

  const bool over_fabric = topology_.host_of(footprint.paths[0].source) != topology_.host_of(footprint.paths[0].destination);
  std::shared_ptr<const CongestionFactory> congestion;
  if (over_fabric) {
    if (settings_.transport.window) pair.window = settings_.transport.window->count();
    congestion = settings_.transport.congestion;
    pair.acks = settings_.transport.acks != AckMode::kNone;
  }
  if (own != nullptr) {
    if (own->window) pair.window = own->window->count();
    if (own->rate) pair.rate = own->rate->bytes_per_ps();
    if (own->override_congestion) congestion = own->congestion;
    pair.open_loop = own->open_loop;
  }
  if (congestion != nullptr) {
    pair.cnps = congestion->needs().cnps && settings_.transport.cnps != AckMode::kNone;
    pair.congestion = congestion->make({.line_rate = topology_.spec(pair.reference).rate,
                                        .base_rtt = round_trip(path, pair),
                                        .packet = Bytes{pair.full_size},
                                        .hops = static_cast<int>(path.size())});
  }
  if (pair.acks && settings_.transport.reliability == Reliability::kSelectiveRepeat)
    pair.selective = std::make_unique<SelectiveRepeat>();
  pairs_.push_back(std::move(made));
  ends_.push_back({footprint.paths[0].source, footprint.paths[0].destination});
  return static_cast<std::uint32_t>(pairs_.size() - 1);
}

// First links, and the one whose bytes count: where the path enters the fabric, or its first.
void Transport::choose_links(QueuePair& pair) {
  pair.first_links = routes_.first_links(pair.route);
  WEFT_CHECK(!pair.first_links.empty());
  pair.listed.assign(pair.first_links.size(), false);
  for (const LinkId link : pair.first_links) {
    if (rings_[link.index()] == nullptr) rings_[link.index()] = std::make_unique<Ring>();
  }
  pair.reference = pair.first_links.front();
  for (const LinkId link : routes_.sample(pair.route)) {
    if (topology_.host_of(topology_.link(link).to) >= 0) continue;
    pair.reference = link;
    break;
  }
}

// Of a full packet and its acknowledgement where nothing queues.
Duration Transport::round_trip(const std::vector<LinkId>& path, const QueuePair& pair) const {
  Duration total;
  const bool real_acks = settings_.transport.acks == AckMode::kPackets;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const LinkId link = path[i];
    const LinkSpec& spec = topology_.spec(link);
    const LinkSpec& back = topology_.spec(topology_.link(link).twin);
    total += spec.latency + back.latency;
    const Forwarding& device = topology_.forwarding(topology_.link(link).to);
    const bool last = i + 1 == path.size();
    const bool whole = last || device.store_and_forward;
    total += transmission_time(whole ? Bytes{network_.wire_size(link, pair.payload)} : device.header, spec.rate);
    if (!last) total += device.latency;
    if (real_acks) {
      const bool ack_whole = i == 0 || topology_.forwarding(topology_.link(link).from).store_and_forward;
      total += transmission_time(
          ack_whole ? settings_.transport.ack_size : std::min(device.header, settings_.transport.ack_size), back.rate);
      if (!last) total += device.latency;
    }
  }
  return total;
}

std::uint32_t Transport::take_message() {
  if (free_message_ == kNone) {
    messages_.emplace_back();
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  const std::uint32_t index = free_message_;
  free_message_ = messages_[index].next;
  messages_[index] = {};
  return index;
}

TransferId Transport::post(const Transfer& transfer, TransferListener& listener) {
  const bool here = footprints_[transfer.footprint.index()].paths.empty();  // from a device to itself
  const bool group = transfer.kind == TransferKind::kMulticast || transfer.kind == TransferKind::kReduce;
  const std::uint32_t flow = here || group ? kNone : queue_pair(transfer.footprint);
  const std::uint32_t index = take_message();
  Message& message = messages_[index];
  message.in_use = true;
  message.listener = &listener;
  message.tag = transfer.tag;
  message.bytes = transfer.bytes.count();
  ++totals_.posted;
  totals_.peak_live = std::max(totals_.peak_live, ++live_);
  if (here) {
    schedule(simulator_.now() + transfer.extra_latency, EventKind::kDeliver, index);
    return TransferId{index};
  }
  if (group) {
    groups_.post(index, transfer.footprint, footprints_[transfer.footprint.index()], transfer);
    return TransferId{index};
  }
  const std::uint32_t pairs = pairs_per_footprint(footprints_[transfer.footprint.index()]);
  if (pairs == 1) {
    post_message(flow, index, transfer);
    return TransferId{index};
  }
  // In parts of whole packets, one for each queue pair that gets any.
  const std::int64_t payload = pairs_[flow]->payload;
  const std::int64_t packets = std::max<std::int64_t>((message.bytes + payload - 1) / payload, 1);
  const std::int64_t share = (packets + pairs - 1) / pairs * payload;
  std::int64_t left = message.bytes;
  std::vector<std::uint32_t> parts;
  do {
    const std::uint32_t part = take_message();
    messages_[part].in_use = true;
    messages_[part].parent = index;
    messages_[part].bytes = std::min(share, left);
    left -= messages_[part].bytes;
    parts.push_back(part);
  } while (left > 0);
  messages_[index].parts_left = messages_[index].parts_unsent = static_cast<std::uint32_t>(parts.size());
  for (std::uint32_t i = 0; i < parts.size(); ++i) post_message(flow + i, parts[i], transfer);
  return TransferId{index};
}

void Transport::post_message(std::uint32_t flow, std::uint32_t index, const Transfer& transfer) {
  QueuePair& pair = *pairs_[flow];
  Message& message = messages_[index];
  message.first = pair.end;
  message.count = std::max<std::int64_t>((message.bytes + pair.payload - 1) / pair.payload, 1);
  message.extra_latency = transfer.extra_latency;
  message.rate_cap = transfer.rate_cap.bytes_per_ps();
  message.priority = std::min<std::uint8_t>(transfer.priority, kPriorities - 1);
  message.flow = flow;
  message.ready = simulator_.now() + settings_.transport.post_latency;
  if (settings_.transport.message_rate) {
    message.ready = std::max(message.ready, pair.ready_after);
    pair.ready_after = message.ready + Duration::from_ps(static_cast<std::int64_t>(1e12 / *settings_.transport.message_rate));
  }
  pair.end += message.count;
  if (pair.newest == kNone) {
    pair.oldest = index;
  } else {
    messages_[pair.newest].next = index;
  }
  pair.newest = index;
  if (pair.sending == kNone) pair.sending = index;
  if (pair.dead) {
    give_up(flow);
  } else if (pair.open_loop) {
    send_open_loop(flow, index);
  } else {
    offer(flow);
  }
}

std::int32_t Transport::payload_of(const Message& message, std::int64_t sequence) const {
  const std::int64_t payload = pairs_[message.flow]->payload;
  const std::int64_t before = (sequence - message.first) * payload;
  return static_cast<std::int32_t>(std::min(payload, message.bytes - before));
}

PacketId Transport::build(std::uint32_t flow, std::int64_t sequence, LinkId link) {
  QueuePair& pair = *pairs_[flow];
  const std::uint32_t index = message_of(pair, sequence);
  const Message& message = messages_[index];
  const PacketId id = network_.packets().create();
  Packet& packet = network_.packets()[id];
  packet = {};
  packet.flow = flow;
  packet.sequence = sequence;
  packet.message = index;
  packet.payload = payload_of(message, sequence);
  packet.size = network_.wire_size(link, packet.payload);
  packet.priority = message.priority;
  packet.sent = simulator_.now();
  packet.last = sequence == message.first + message.count - 1;
  ++pair.counters.packets_sent;
  return id;
}

void Transport::send_open_loop(std::uint32_t flow, std::uint32_t index) {
  QueuePair& pair = *pairs_[flow];
  for (std::int64_t i = 0; i < messages_[index].count; ++i) {
    const LinkId link = pair.first_links.front();
    const PacketId packet = build(flow, pair.next++, link);
    network_.enqueue(link, packet);
  }
  pair.sending = messages_[index].next;
}

void Transport::on_event(std::uint64_t payload) {
  const auto index = static_cast<std::uint32_t>(payload);
  switch (static_cast<EventKind>(payload >> 32)) {
    case EventKind::kWake:
      if (pairs_[index]->wake_at == simulator_.now()) {
        pairs_[index]->wake_at = Time::max();
        offer(index);
      }
      break;
    case EventKind::kControl:
      receive_control(index);
      break;
    case EventKind::kDeliver:
      if (!messages_[index].sent && messages_[index].flow == kNone) tell_sent(index);
      if (!messages_[index].delivered) tell_delivered(index);
      break;
    case EventKind::kLost:
      if (messages_[index].in_use && !messages_[index].delivered) abort(index);
      break;
    case EventKind::kTimeout:
      timeout(index);
      break;
    case EventKind::kCnp:
      ++pairs_[index]->counters.cnps;
      if (pairs_[index]->congestion != nullptr) {
        pairs_[index]->congestion->advance(simulator_.now());
        pairs_[index]->congestion->on_cnp(simulator_.now());
      }
      break;
  }
}

void Transport::inject_cnp(FootprintId flow, Time at) { schedule(at, EventKind::kCnp, queue_pair(flow)); }

// Sending.

std::int64_t Transport::next_packet(const QueuePair& pair) {
  return pair.selective == nullptr ? pair.next : pair.selective->peek_lost().value_or(pair.next);
}

// The message of a packet that is posted and not acknowledged.
std::uint32_t Transport::message_of(const QueuePair& pair, std::int64_t sequence) const {
  std::uint32_t index = pair.sending != kNone && sequence >= messages_[pair.sending].first ? pair.sending : pair.oldest;
  while (sequence >= messages_[index].first + messages_[index].count) index = messages_[index].next;
  return index;
}

Time Transport::may_send(QueuePair& pair) {
  const Time now = simulator_.now();
  const bool again = pair.selective != nullptr && pair.selective->peek_lost().has_value();
  if (pair.dead || (!again && pair.next == pair.end)) return Time::max();
  // A fixed window holds whole packets; one that a control law moves lets the packet through that crosses it, so that it is
  // used up. One packet may always be on the way.
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  if (pair.window > 0) room = pair.window - pair.full_size + 1;
  if (pair.congestion != nullptr) {
    pair.congestion->advance(now);
    room = std::min(room, pair.congestion->window().count());
  }
  if (!again && pair.outstanding > 0 && pair.outstanding >= room) return Time::max();
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
  for (const LinkId link : pair.first_links) network_.offer(link, priority);
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
    if (again) {
      pair.selective->pop_lost(pair.next);
    } else {
      pair.most_sent = std::max(pair.most_sent, ++pair.next);
      if (pair.acks && (pair.outstanding += counted) == counted) pair.deadline = simulator_.now() + settings_.transport.timeout;
    }
    pace(pair, counted, packet.payload, messages_[packet.message].rate_cap);
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
  return pair.paced_from + Duration::from_ps(static_cast<std::int64_t>(static_cast<double>(pair.paced_size) / rate + 0.5));
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

LinkId Transport::route(const Packet& packet, DeviceId device) {
  QueuePair& pair = *pairs_[packet.flow];
  if (packet.kind == PacketKind::kData) return routes_.next(pair.route, device, packet.hop);
  if (routes_.fixed(pair.route)) return routes_.next_back(pair.route, device, packet.hop);
  return routes_.next(pair.back, device, packet.hop);
}

void Transport::message_left(std::uint32_t flow, std::uint32_t message) {
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

// Receiving.

void Transport::receive(PacketId id, LinkId over) {
  const PacketKind kind = network_.packets()[id].kind;
  if (is_of_group(kind)) {
    groups_.receive(id);
  } else if (kind == PacketKind::kData) {
    receive_data(id, over);
  } else {
    receive_control(id);
  }
}

void Transport::receive_data(PacketId id, LinkId over) {
  const Packet packet = network_.packets()[id];
  QueuePair& pair = *pairs_[packet.flow];
  if (packet.marked) notify(packet);
  const Reliability reliability = settings_.transport.reliability;
  const bool in_order = reliability == Reliability::kGoBackN && pair.acks;
  if (in_order && packet.sequence != pair.expected) {
    const Time now = simulator_.now();
    const bool ahead = packet.sequence > pair.expected;
    if (!ahead) {
      answer(id, PacketKind::kAck, pair.expected, kNoSack);
    } else if (!pair.nak_sent || now >= pair.last_nak + settings_.transport.nak_interval) {
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
  const bool due = pair.unacked >= settings_.transport.ack_every || packet.last || sack != kNoSack || !is_new;
  if (pair.acks && due) {
    pair.unacked = 0;
    answer(id, PacketKind::kAck, pair.expected, sack);
  } else {
    network_.packets().destroy(id);
  }
  if (is_new) accept(packet, over);
}

void Transport::accept(const Packet& packet, LinkId /*over*/) {
  QueuePair& pair = *pairs_[packet.flow];
  pair.counters.delivered_wire_bytes += packet.size;
  Message& message = messages_[packet.message];
  if (++message.arrived < message.count || message.delivered) return;  // delivered: given up before it all came
  if (message.extra_latency > Duration{}) {
    schedule(simulator_.now() + message.extra_latency, EventKind::kDeliver, packet.message);
  } else {
    tell_delivered(packet.message);
  }
}

// The data packet becomes its own answer. `sequence`: all below have arrived; `sack`: and so has the one so far above it.
void Transport::answer(PacketId id, PacketKind kind, std::int64_t sequence, std::int32_t sack) {
  Packet& packet = network_.packets()[id];
  packet.kind = kind;
  packet.sequence = sequence;
  packet.payload = sack;
  send_control(id, settings_.transport.acks, static_cast<std::int32_t>(settings_.transport.ack_size.count()));
}

// A mark is answered with a notification, at most one in an interval.
void Transport::notify(const Packet& packet) {
  QueuePair& pair = *pairs_[packet.flow];
  const TransportSettings& transport = settings_.transport;
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
    schedule(simulator_.now() + pair.back_propagation, EventKind::kControl, id);
    return;
  }
  packet.size = size;
  packet.priority = static_cast<std::uint8_t>(settings_.transport.ack_priority);
  packet.ingress = {};
  packet.hop = 0;
  packet.last = false;
  packet.tail = simulator_.now();
  if (!routes_.fixed(pair.route) && pair.back == kNone) {
    const Ends& ends = ends_[packet.flow];
    pair.back = routes_.add({ends.destination, ends.source, footprints_[pair.footprint.index()].paths[0].key});
  }
  const LinkId out = route(packet, ends_[packet.flow].destination);
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
  switch (packet.kind) {
    case PacketKind::kAck:
      acknowledge(packet.flow, packet.sequence, packet, id);
      break;
    case PacketKind::kNak:
      acknowledge(packet.flow, packet.sequence, packet, id);
      if (pair.congestion != nullptr) pair.congestion->on_loss(now);
      rewind(packet.flow);
      break;
    case PacketKind::kCnp:
      ++pair.counters.cnps;
      if (pair.congestion != nullptr) {
        pair.congestion->advance(now);
        pair.congestion->on_cnp(now);
      }
      break;
    case PacketKind::kData:
    case PacketKind::kReduce:
    case PacketKind::kCopy:
      WEFT_CHECK(false);
  }
  network_.packets().destroy(id);
  offer(packet.flow);
}

void Transport::acknowledge(std::uint32_t flow, std::int64_t below, const Packet& packet, PacketId id) {
  QueuePair& pair = *pairs_[flow];
  if (pair.dead) return;
  const Time now = simulator_.now();
  const std::int64_t before = pair.outstanding;
  if (pair.selective != nullptr) {
    pair.selective->acknowledge(below, packet.payload == kNoSack ? below - 1 : below + packet.payload);
  }
  if (below > pair.acked) {
    pair.timeouts = 0;
    pair.deadline = now + settings_.transport.timeout;
    advance_acked(pair, below);
  }
  if (pair.congestion == nullptr) return;
  pair.congestion->advance(now);
  pair.congestion->on_ack({.now = now,
                           .rtt = now - packet.sent,
                           .marked = packet.marked,
                           .newly_acked = Bytes{before - pair.outstanding},
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
    const std::int64_t full = std::min(upto, end - 1) - pair.acked;
    if (full > 0) pair.outstanding -= full * pair.full_size;
    if (upto == end) pair.outstanding -= network_.wire_size(pair.reference, payload_of(message, end - 1));
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

// Go-back-N: everything from the first unacknowledged packet on goes out again.
void Transport::rewind(std::uint32_t flow) {
  QueuePair& pair = *pairs_[flow];
  if (pair.selective != nullptr) {
    pair.selective->lose_all(pair.next);
    return;
  }
  pair.next = pair.acked;
  pair.outstanding = 0;
  pair.sending = pair.oldest;
}

void Transport::arm_timeout(std::uint32_t flow) {
  QueuePair& pair = *pairs_[flow];
  if (settings_.transport.reliability == Reliability::kNone || pair.timer_queued) return;
  pair.deadline = simulator_.now() + settings_.transport.timeout;
  pair.timer_queued = true;
  schedule(pair.deadline, EventKind::kTimeout, flow);
}

void Transport::timeout(std::uint32_t flow) {
  QueuePair& pair = *pairs_[flow];
  pair.timer_queued = false;
  if (pair.acked == pair.most_sent || pair.dead) return;
  if (simulator_.now() < pair.deadline) {
    pair.timer_queued = true;
    schedule(pair.deadline, EventKind::kTimeout, flow);
    return;
  }
  if (++pair.timeouts > kMostTimeouts) {
    give_up(flow);
    return;
  }
  if (pair.congestion != nullptr) pair.congestion->on_loss(simulator_.now());
  rewind(flow);
  arm_timeout(flow);
  offer(flow);
}

void Transport::give_up(std::uint32_t flow) {
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
  pair.next = pair.acked = pair.most_sent = pair.end;
}

// A loss that nobody repairs ends the message.
void Transport::lost(const Packet& packet) {
  if (packet.kind != PacketKind::kData) return;
  if (pairs_[packet.flow]->acks && settings_.transport.reliability != Reliability::kNone) return;
  schedule(simulator_.now(), EventKind::kLost, packet.message);
}

void Transport::tell_sent(std::uint32_t index) {
  Message& message = messages_[index];
  if (message.sent) return;
  message.sent = true;
  TransferListener* const listener = message.listener;
  const std::uint64_t tag = message.tag;
  const std::uint32_t parent = message.parent;
  free_if_done(index);
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

FlowCounters Transport::counters(FootprintId flow) const {
  const std::uint32_t index = pair_of_[flow.index()];
  if (index == kNone) return {};
  const QueuePair& pair = *pairs_[index];
  FlowCounters counters = pair.counters;
  for (std::uint32_t i = 1; i < pairs_per_footprint(footprints_[flow.index()]); ++i) {
    const FlowCounters& more = pairs_[index + i]->counters;
    counters.packets_sent += more.packets_sent;
    counters.retransmitted += more.retransmitted;
    counters.cnps += more.cnps;
    counters.delivered_wire_bytes += more.delivered_wire_bytes;
  }
  counters.outstanding_bytes = pair.outstanding;
  if (pair.congestion != nullptr) {
    pair.congestion->advance(simulator_.now());
    counters.rate = pair.congestion->rate();
    counters.window = pair.congestion->window();
  } else if (pair.rate > 0) {
    counters.rate = Bandwidth::from_bits_per_second(static_cast<std::int64_t>(pair.rate * 8e12));
  }
  return counters;
}

double Transport::state(FootprintId flow, std::string_view name) const {
  const std::uint32_t index = pair_of_[flow.index()];
  if (index == kNone || pairs_[index]->congestion == nullptr) return std::numeric_limits<double>::quiet_NaN();
  pairs_[index]->congestion->advance(simulator_.now());
  return pairs_[index]->congestion->state(name);
}

std::string Transport::blocked() const {
  std::string text;
  int named = 0;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Message& message = messages_[i];
    if (!message.in_use || message.delivered) continue;
    if (++named > 16) return text + "  ...\n";
    if (message.flow == kNone) {
      text += fmt::format("  a transfer of {} bytes in parts, by a group or inside a device\n", message.bytes);
      continue;
    }
    const QueuePair& pair = *pairs_[message.flow];
    text += fmt::format("  {} -> {}: {} of {} packets arrived, {} acknowledged of {} sent\n",
                        topology_.name(ends_[message.flow].source), topology_.name(ends_[message.flow].destination),
                        message.arrived, message.count, pair.acked, pair.next);
  }
  return text;
}

}  // namespace weft::net
