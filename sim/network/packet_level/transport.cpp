#include "sim/network/packet_level/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"
#include "sim/network/routing/path_cost.h"

namespace weft::net {
namespace {

constexpr std::int64_t kReordering = 256;  // packets, where each finds its own way

bool reads_loads(PerPacket choice) { return choice != PerPacket::kRandom && choice != PerPacket::kEntropy; }

}  // namespace

Transport::Transport(Simulator& simulator, PacketNetwork& network, const Router& router, const PacketSettings& settings,
                     std::uint64_t seed)
    : simulator_{simulator},
      network_{network},
      router_{router},
      topology_{router.topology()},
      settings_{settings},
      component_{simulator.add_component("transport")},
      routes_{router, seed, reads_loads(router.policy().per_packet()) ? &network.loads() : nullptr},
      groups_{simulator, network, router},
      rings_(topology_.link_count()) {
  if (const PartMail* mail = network.mail()) routes_.draw_from(fmt::format("part{}/paths", mail->part().part));
  groups_.set_owner(*this);
}

void Transport::schedule(Time at, EventKind kind, std::uint32_t index) {
  simulator_.schedule(at, Phase::kAction, component_, *this, static_cast<std::uint64_t>(kind) << 32 | index);
}

FootprintId Transport::add_footprint(Footprint footprint) {
  own_footprints_.push_back(std::move(footprint));
  pairs_of_.emplace_back();
  return FootprintId::from_index(own_footprints_.size() - 1);
}

void Transport::set_transport(FootprintId flow, const FlowTransport& transport) {
  WEFT_CHECK(pairs_of_[flow.index()].count == 0);
  overrides_.insert_or_assign(flow, transport);
}

std::uint32_t Transport::queue_pair(FootprintId flow) {
  Pairs& made = pairs_of_[flow.index()];
  if (made.count == 0) {
    const Footprint& footprint = (*footprints_)[flow.index()];
    if (footprint.paths.size() != 1) throw InternalError("packets cannot be sent over a coupled footprint");
    const auto& [source, destination, key] = footprint.paths[0];
    std::vector<NicWay> ways = router_.nic_ways(source, destination, key);
    if (ways.empty()) ways.emplace_back();  // inside a host
    made.first = static_cast<std::uint32_t>(pairs_.size());
    // Their own entropy, so that a hash may send each another way.
    for (const NicWay& way : ways) {
      for (std::uint32_t i = 0; i < pairs_per_way(flow); ++i) add_queue_pair(flow, way, key.entropy + (std::uint64_t{i} << 48));
    }
    made.count = static_cast<std::uint32_t>(pairs_.size()) - made.first;
  }
  return made.first;
}

void Transport::set_up(FootprintId flow) {
  if (footprint(flow).paths.size() != 1) return;
  const std::uint32_t first = queue_pair(flow);
  for (std::uint32_t i = first; i < first + pairs_of_[flow.index()].count; ++i) {
    if (FlowEnds& ends = own_ends_[i]; !ends.fixed && ends.back == kNoRoute && pairs_[i]->acks) add_way_back(i);
  }
}

void Transport::add_way_back(std::uint32_t flow) {
  FlowEnds& own = own_ends_[flow];  // of a part's flows it is made before the run
  const QueuePair& pair = *pairs_[flow];
  own.back = own.route[0] = routes_.add(routes_.back(pair.route, footprint(pair.footprint).paths[0].key.entropy));
}

const TransportSettings& Transport::settings_of(FootprintId footprint) const {
  const auto found = overrides_.find(footprint);
  return found == overrides_.end() || found->second.settings == nullptr ? settings_.transport : *found->second.settings;
}

std::uint32_t Transport::pairs_per_way(FootprintId footprint) const {
  const PathEnds& ends = (*footprints_)[footprint.index()].paths[0];
  if (topology_.host_of(ends.source) == topology_.host_of(ends.destination)) return 1;
  const int count = overrides_.empty() ? settings_.transport.queue_pairs : settings_of(footprint).queue_pairs;
  return static_cast<std::uint32_t>(std::max(count, 1));
}

// A link has failed or is back: queue pairs that leave by another link now move there.
void Transport::routes_changed() {
  routes_.forget();
  groups_.forget();
  for (std::uint32_t flow = 0; flow < pairs_.size(); ++flow) {
    QueuePair& pair = *pairs_[flow];
    choose_back(own_ends_[flow]);
    const bool waited = std::exchange(pair.waits_for_way, routes_.broken(pair.route) && failures_pass_);
    if (routes_.broken(pair.route)) {
      if (waited && !pair.waits_for_way) offer(flow);  // in vain
      continue;
    }
    if (routes_.first_links(pair.route) != pair.first_links) choose_links(pair, routes_.sample(pair.route));
    offer(flow);
  }
  for (const Resend& each : std::exchange(cut_off_, {})) resend_later(each);
}

std::uint32_t Transport::add_queue_pair(FootprintId id, const NicWay& way, std::uint64_t entropy) {
  const auto& [source, destination, key] = (*footprints_)[id.index()].paths[0];
  const RouteId route = routes_.add({source, destination, {entropy, way.nics, key.named_way}});
  std::unique_ptr<QueuePair> pair = make_queue_pair(id, route, way);
  choose_links(*pair, routes_.sample(route));
  set_up(*pair, routes_.sample(route), pairs_.size());
  pairs_.push_back(std::move(pair));
  own_ends_.push_back({.to = {source, destination}, .route = {kNoRoute, route}});
  choose_back(own_ends_.back());
  // Where answers cannot go back the way the packets came, whether there is another is told before the first is sent.
  FlowEnds& ends = own_ends_.back();
  const QueuePair& made = *pairs_.back();
  const bool answers = (made.acks && made.how->acks == AckMode::kPackets) || (made.cnps && made.how->cnps == AckMode::kPackets);
  if (topology_.has_one_way_links() && !ends.fixed && answers) {
    try {
      ends.back = ends.route[0] = routes_.add(routes_.back(route, entropy));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("answers to the flow from '{}' to '{}' need a way back: {}", topology_.name(source),
                                    topology_.name(destination), error.diagnostics().front().message));
    }
  }
  ends_ = own_ends_.data();
  return static_cast<std::uint32_t>(pairs_.size() - 1);
}

std::unique_ptr<Transport::QueuePair> Transport::make_queue_pair(FootprintId id, RouteId route, const NicWay& way) {
  auto made = std::make_unique<QueuePair>();
  QueuePair& pair = *made;
  pair.footprint = id;
  pair.route = route;
  constexpr double kUnits = 1 << 20;  // of all queue pairs together
  pair.share = way.share;
  pair.weight = std::max<std::int64_t>(std::llround(way.share * kUnits), 1);
  pair.how = &settings_of(id);
  return made;
}

void Transport::set_up(QueuePair& pair, std::span<const LinkId> path, std::uint64_t number) {
  const PathEnds& ends = (*footprints_)[pair.footprint.index()].paths[0];
  const auto found = overrides_.find(pair.footprint);
  const FlowTransport* own = found == overrides_.end() ? nullptr : &found->second;
  const TransportSettings& how = *pair.how;
  std::int64_t payload = std::numeric_limits<std::int32_t>::max();
  for (const LinkId link : path) {
    pair.back_propagation += topology_.spec(topology_.link(link).twin).latency;
    if (!is_inside_host(topology_, link)) payload = std::min(payload, topology_.spec(link).packet.count());
  }
  if (payload == std::numeric_limits<std::int32_t>::max()) payload = kDefaultPayload;
  if (how.payload) payload = how.payload->count();
  if (own != nullptr && own->payload) payload = own->payload->count();
  pair.payload = static_cast<std::int32_t>(payload);
  pair.full_size = network_.wire_size_anywhere(pair.reference, pair.payload);
  for (const LinkId link : path) {
    const std::int32_t size = network_.wire_size_anywhere(link, pair.payload);
    if (!network_.takes(link, size)) {
      throw ConfigError(
          fmt::format("link {} has credits for less than one packet of {} B; give it more, or send smaller packets",
                      topology_.name(link), size));
    }
  }

  const bool over_fabric = topology_.host_of(ends.source) != topology_.host_of(ends.destination);
  std::shared_ptr<const CongestionFactory> congestion;
  if (over_fabric) {
    if (how.window) pair.window = how.window->count();
    congestion = how.congestion;
    pair.acks = how.acks != AckMode::kNone;
  }
  // As long as nobody has said more: a round trip R and four times its first deviation, R / 2 (RFC 6298, 2.2).
  pair.timeout = how.timeout_stated || !pair.acks ? how.timeout : std::max(how.timeout, 3 * round_trip(path, pair));
  if (own != nullptr) {
    if (own->window) pair.window = own->window->count();
    if (own->rate) pair.rate = own->rate->bytes_per_ps() * pair.share;
    if (own->override_congestion) congestion = own->congestion;
    pair.open_loop = own->open_loop;
  }
  if (congestion != nullptr) {
    pair.cnps = congestion->needs().cnps && how.cnps != AckMode::kNone;
    pair.congestion = congestion->make({.line_rate = topology_.spec(pair.reference).rate,
                                        .base_rtt = round_trip(path, pair),
                                        .packet = Bytes{pair.full_size},
                                        .hops = static_cast<int>(path.size())});
  }
  // Where packets overtake each other a receiver that wants them in order would ask for all of them again and again.
  bool in_order = routes_.fixed(pair.route);
  if (how.uec && over_fabric) {
    const bool ordered = how.uec->mode == DeliveryMode::kRod;
    pair.entropies = std::make_unique<Entropies>(how.uec->spreading, ordered ? 1 : how.uec->entropy_values, number << 32);
    if (!ordered) pair.in_flight = std::make_unique<PacketsInFlight>();
    in_order |= ordered;
  }
  const Reliability reliability = how.reliability;
  pair.repeats = pair.acks && reliability != Reliability::kNone;
  if (pair.acks && (reliability == Reliability::kSelectiveRepeat || (reliability == Reliability::kGoBackN && !in_order)))
    pair.selective = std::make_unique<SelectiveRepeat>(in_order ? 0 : kReordering);
  pair.in_order = pair.repeats && pair.selective == nullptr;
  if (congestion != nullptr && congestion->needs().credits && pair.in_flight != nullptr && pair.selective != nullptr &&
      !pair.open_loop)
    set_up_credits(pair, path, congestion->grants());
}

void Transport::choose_back(FlowEnds& ends) {
  ends.fixed = routes_.goes_back(ends.route[1]);
  ends.route[0] = ends.fixed || ends.back == kNoRoute ? ends.route[1] : ends.back;
}

// First links, and the one whose bytes count: where the path enters the fabric, or its first.
void Transport::choose_links(QueuePair& pair, std::span<const LinkId> path) {
  pair.first_links = routes_.first_links(pair.route);
  WEFT_CHECK(!pair.first_links.empty());
  pair.listed.assign(pair.first_links.size(), false);
  for (const LinkId link : pair.first_links) {
    if (rings_[link.index()] == nullptr) rings_[link.index()] = std::make_unique<Ring>();
  }
  pair.reference = pair.first_links.front();
  for (const LinkId link : path) {
    if (topology_.host_of(topology_.link(link).to) >= 0) continue;
    pair.reference = link;
    break;
  }
}

// Returns the time of a full packet and its acknowledgement where nothing queues.
Duration Transport::round_trip(std::span<const LinkId> path, const QueuePair& pair) const {
  Duration total;
  const bool real_acks = pair.how->acks == AckMode::kPackets;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const LinkId link = path[i];
    const LinkSpec& spec = topology_.spec(link);
    const LinkSpec& back = topology_.spec(topology_.link(link).twin);
    total += spec.latency + back.latency;
    const Forwarding& device = topology_.forwarding(topology_.link(link).to);
    const bool last = i + 1 == path.size();
    const bool whole = last || is_stored(device, spec.rate, topology_.spec(path[i + 1]).rate);
    total += transmission_time(whole ? Bytes{network_.wire_size_anywhere(link, pair.payload)} : device.header, spec.rate);
    if (!last) total += device.latency;
    if (real_acks) {
      const bool ack_whole = i == 0 || is_stored(topology_.forwarding(topology_.link(link).from), back.rate,
                                                 topology_.spec(topology_.link(path[i - 1]).twin).rate);
      total += transmission_time(ack_whole ? pair.how->ack_size : std::min(device.header, pair.how->ack_size), back.rate);
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
  const bool here = footprint(transfer.footprint).paths.empty();  // from a device to itself
  const bool group = transfer.kind == TransferKind::kMulticast || transfer.kind == TransferKind::kReduce;
  const std::uint32_t flow = here || group ? kNone : queue_pair(transfer.footprint);
  const std::uint32_t index = take_message();
  Message& message = messages_[index];
  message.in_use = true;
  message.listener = &listener;
  message.tag = transfer.tag;
  message.bytes = transfer.bytes.count();
  message.resend = transfer.resend;
  ++totals_.posted;
  totals_.peak_live = std::max(totals_.peak_live, ++live_);
  if (here) {
    schedule(simulator_.now() + transfer.extra_latency, EventKind::kDeliver, index);
    return TransferId{index};
  }
  if (group) {
    groups_.post(index, footprint(transfer.footprint), transfer);
    return TransferId{index};
  }
  const std::uint32_t pairs = pairs_of_[transfer.footprint.index()].count;
  if (pairs == 1) {
    // Another part counts what arrives.
    if (PartMail* mail = network_.mail(); mail != nullptr && !mail->is_here(ends_[flow].to[1]))
      messages_[index].delivered = true;
    post_message(flow, index, transfer);
    return TransferId{index};
  }
  // In parts of whole packets, one for each queue pair that gets any.
  const std::int64_t payload = pairs_[flow]->payload;
  const std::int64_t packets = std::max<std::int64_t>((message.bytes + payload - 1) / payload, 1);
  std::int64_t weights = 0;
  for (std::uint32_t i = 0; i < pairs; ++i) weights += pairs_[flow + i]->weight;
  std::int64_t left = message.bytes;
  std::vector<std::uint32_t> parts;
  do {
    const std::int64_t weight = pairs_[flow + static_cast<std::uint32_t>(parts.size())]->weight;
    const std::uint32_t part = take_message();
    messages_[part].in_use = true;
    messages_[part].parent = index;
    messages_[part].resend = transfer.resend;
    messages_[part].bytes = std::min(ceil_div(packets * weight, weights) * payload, left);
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
  message.rate_cap = transfer.rate_cap.bytes_per_ps() * pair.share;
  message.priority = std::min<std::uint8_t>(transfer.priority, kPriorities - 1);
  message.flow = flow;
  message.ready = simulator_.now() + pair.how->post_latency;
  if (pair.how->message_rate) {
    message.ready = std::max(message.ready, pair.ready_after);
    pair.ready_after = message.ready + Duration::whole_ps(1e12 / *pair.how->message_rate);
  }
  pair.end += message.count;
  if (pair.credits != nullptr) add_demand(pair, message);
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
  packet.sequence = sequence & kMostSequence;
  packet.message = index;
  packet.payload = payload_of(message, sequence);
  packet.size = network_.wire_size(link, packet.payload);
  packet.priority = message.priority;
  packet.sent = simulator_.now();
  if (pair.entropies != nullptr) packet.by = pair.entropies->next();
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
      ++messages_[index].missing;
      complete(index);
      break;
    case EventKind::kResend:
      resend_all();
      break;
    case EventKind::kTimeout:
      timeout(index);
      break;
    case EventKind::kCnp:
      receive_cnp(*pairs_[index]);
      break;
    case EventKind::kCredit:
      pacers_[index]->rang();
      grant(index);
      break;
  }
}

YetToCome Transport::yet_to_come() const {
  YetToCome all;
  all.unsent.resize(messages_.size());
  const auto transfer_of = [&](std::uint32_t index) {
    return messages_[index].parent == kNone ? index : messages_[index].parent;
  };
  for (std::uint32_t index = 0; index < messages_.size(); ++index) {
    const Message& message = messages_[index];
    if (!message.in_use || message.parts_left > 0) continue;
    std::int64_t sent = 0;
    if (message.flow != kNone) {
      const QueuePair& pair = *pairs_[message.flow];
      sent = std::clamp<std::int64_t>((pair.next - message.first) * pair.payload, 0, message.bytes);
    }
    all.unsent[transfer_of(index)] += Bytes{message.bytes - sent};
  }
  network_.for_each_waiting([&](LinkId link, const Packet& packet) {
    if (packet.kind != PacketKind::kData) return;
    // One that is sent again may be of a message that is through, and whose place another has.
    const Message& message = messages_[packet.message];
    if (!message.in_use || message.flow != packet.flow || packet.sequence < message.first) return;
    const TransferId transfer{transfer_of(packet.message)};
    if (!all.waiting.empty() && all.waiting.back().transfer == transfer && all.waiting.back().link == link) {
      all.waiting.back().bytes += Bytes{packet.payload};
    } else {
      all.waiting.push_back({transfer, link, Bytes{packet.payload}});
    }
  });
  return all;
}

void Transport::inject_cnp(FootprintId flow, Time at) { schedule(at, EventKind::kCnp, queue_pair(flow)); }

FlowCounters Transport::counters(FootprintId flow) const {
  const auto [index, count] = pairs_of_[flow.index()];
  if (count == 0) return {};
  const QueuePair& pair = *pairs_[index];
  FlowCounters counters = pair.counters;
  for (std::uint32_t i = 1; i < count; ++i) {
    const FlowCounters& more = pairs_[index + i]->counters;
    counters.packets_sent += more.packets_sent;
    counters.retransmitted += more.retransmitted;
    counters.cnps += more.cnps;
    counters.timeouts += more.timeouts;
    counters.timeout_wait += more.timeout_wait;
    counters.gave_up_after = std::max(counters.gave_up_after, more.gave_up_after);
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
  const std::uint32_t index = pairs_of_[flow.index()].first;
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
                        topology_.name(ends_[message.flow].to[0]), topology_.name(ends_[message.flow].to[1]), message.arrived,
                        message.count, pair.acked, pair.next);
  }
  return text;
}

}  // namespace weft::net
