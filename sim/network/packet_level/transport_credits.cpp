// Credits of destinations (RCCC): what sources state, and what is granted to them. congestion/rccc.cpp has the source's law.
#include <algorithm>

#include "sim/core/error.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {

void Transport::set_up_credits(QueuePair& pair, std::span<const LinkId> path, const CreditGrants& grants) {
  pair.credits = std::make_unique<Credits>();
  Credits& credits = *pair.credits;
  credits.link = path.back();
  for (const LinkId link : path) {
    if (topology_.host_of(topology_.link(link).from) < 0) credits.link = link;
  }
  credits.turn = grants.packets;
  const double bits = 8.0 * network_.wire_size_anywhere(credits.link, pair.payload);
  credits.takes = Duration::nearest_ps(bits / (topology_.spec(credits.link).rate.bytes_per_ps() * 8 * grants.share));
}

std::int64_t Transport::wire_bytes(const QueuePair& pair, const Message& message) const {
  const std::int64_t last = message.first + message.count - 1;
  return (message.count - 1) * pair.full_size + network_.wire_size(pair.reference, payload_of(message, last));
}

// A message joins those that the queue pair has to send.
void Transport::add_demand(QueuePair& pair, const Message& message) {
  if (pair.outstanding == 0 && pair.credits->unsent == 0 && pair.selective->lost() == 0)
    pair.congestion->restart(simulator_.now());
  pair.credits->unsent += wire_bytes(pair, message);
}

void Transport::state_demand(QueuePair& pair, Packet& packet) {
  const std::int64_t backlog = pair.credits->unsent + pair.selective->lost() * pair.full_size;
  packet.credit = pair.congestion->credit_target(Bytes{backlog});
}

// The destination hears of it, of a packet that was trimmed too.
void Transport::hear_demand(const Packet& packet) {
  Credits& credits = *pairs_[packet.flow]->credits;
  const auto more = static_cast<std::int16_t>(packet.credit - static_cast<std::uint16_t>(credits.asked));
  if (more > 0) credits.asked += more;
  if (packet.trimmed) ++credits.trimmed;
  if (credits.waits || credits.granted >= credits.asked + credits.trimmed) return;
  credits.waits = true;
  if (pacers_.empty()) pacers_.resize(topology_.link_count());
  std::unique_ptr<CreditPacer>& pacer = pacers_[credits.link.index()];
  if (pacer == nullptr) pacer = std::make_unique<CreditPacer>();
  pacer->add(packet.flow);
  grant(credits.link.value());
}

void Transport::grant(std::uint32_t link) {
  CreditPacer& pacer = *pacers_[link];
  const Time now = simulator_.now();
  if (const auto flow = pacer.next(now)) {
    Credits& credits = *pairs_[*flow]->credits;
    const std::int64_t wanted = credits.asked + credits.trimmed - credits.granted;
    const std::int64_t packets = std::min<std::int64_t>(wanted, credits.turn);
    credits.granted += packets;
    credits.waits = packets < wanted;
    if (credits.waits) pacer.add(*flow);
    pacer.spend(now, packets * credits.takes);
    send_credit(*flow);
  }
  if (const auto at = pacer.alarm()) schedule(*at, EventKind::kCredit, link);
}

void Transport::send_credit(std::uint32_t flow) {
  const QueuePair& pair = *pairs_[flow];
  const PacketId id = network_.packets().create();
  Packet& packet = network_.packets()[id];
  packet = {};
  packet.kind = PacketKind::kCredit;
  packet.flow = flow;
  packet.sent = simulator_.now();
  packet.credit = static_cast<std::uint16_t>(pair.credits->granted);
  packet.by = static_cast<std::uint16_t>(pair.credits->granted);  // its entropy value: each goes its own way
  send_control(id, pair.how->acks, static_cast<std::int32_t>(pair.how->ack_size.count()));
}

// A source with nothing on its way waits for its turn, which is no loss.
bool Transport::waits_for_credit(const QueuePair& pair) { return pair.outstanding == 0 && !pair.congestion->has_credit(); }

// After a few timeouts it asks again, since the credits that it waits for may be lost.
void Transport::ask_for_credit(QueuePair& pair) {
  if (++pair.credits->timeouts <= pair.how->retries) return;
  pair.credits->timeouts = 0;
  pair.congestion->on_loss(simulator_.now());
}

}  // namespace weft::net
