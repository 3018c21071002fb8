// A packet network and its transport as one part of a fabric (parted_fabric.h).
#include <algorithm>

#include "sim/core/error.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {

void PacketNetwork::join_parts(const Partition& partition, PartMail& mail) {
  mail_ = &mail;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Link& link = topology_.link(LinkId{i});
    if (partition.of(link.from) != mail.self() || !partition.is_cut(link)) continue;
    Wire wire = wire_of(i);
    wire.leaves_part = true;
    const auto same = std::ranges::find(wires_, wire);
    links_[i].port.kind = static_cast<std::uint32_t>(same - wires_.begin());
    if (same == wires_.end()) wires_.push_back(wire);
  }
}

// Its arrival is another part's. The port keeps what it needs to know of the packet.
[[gnu::noinline]] void PacketNetwork::send_off(PacketId packet, const Packet& p, std::uint32_t link, Time at) {
  mail_->send(DeviceId{to_[link]}, at, p, telemetry(packet), false);
  packets_.destroy(packet);
}

void PacketNetwork::schedule_at_port(Time at, Phase phase, EventKind kind, std::uint32_t link, std::uint32_t extra) {
  const DeviceId begin = topology_.link(LinkId{link}).from;
  if (mail_ == nullptr || mail_->is_here(begin)) return schedule(at, phase, kind, link, extra);
  mail_->send(begin, at, static_cast<std::uint64_t>(kind) << 56 | static_cast<std::uint64_t>(extra) << 32 | link,
              kind == EventKind::kPause);
}

void PacketNetwork::take_in(MailBox& box) {
  auto stamp = box.stamps.cbegin();
  for (const PacketLetter& letter : box.packets) {
    const PacketId id = packets_.create();
    Packet& p = packets_[id];
    p = letter.packet;
    if (p.stamps > 0 && stamps_) {
      const std::size_t first = id * kMaxTelemetryHops;
      if (telemetry_.size() < first + kMaxTelemetryHops) telemetry_.resize(packets_.size() * kMaxTelemetryHops);
      std::copy_n(stamp, p.stamps, telemetry_.begin() + static_cast<std::ptrdiff_t>(first));
      stamp += p.stamps;
    }
    endpoints_->adopt(p);
    if (letter.free_control) {
      endpoints_->take_control(id, letter.at);
    } else {
      schedule(letter.at, Phase::kDelivery, EventKind::kArrival, id);
    }
  }
  for (const SignalLetter& letter : box.signals) {
    simulator_.schedule(letter.at, letter.pause ? Phase::kCompletion : Phase::kDelivery,
                        letter.pause ? pause_frames_ : component_, *this, letter.payload);
  }
  box.clear();
}

bool PacketNetwork::any_paused() const {
  return std::ranges::any_of(links_, [](const LinkState& link) { return (link.port.paused | link.port.forced) != 0; });
}

// In the order of footprints in every part, so that a packet's numbers mean the same in all of them.
void Transport::make_queue_pairs() {
  for (std::size_t i = 0; i < footprints_.size(); ++i) {
    if (footprints_[i].paths.empty()) continue;
    static_cast<void>(queue_pair(FootprintId::from_index(i)));
    if (pairs_of_[i].count != 1) throw CannotRunInParts("a flow has several queue pairs");
  }
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    Ends& ends = ends_[i];
    const QueuePair& pair = *pairs_[i];
    if (ends.fixed || !(pair.acks || pair.cnps)) continue;
    ends.back = ends.route[0] = routes_.add(routes_.back(pair.route, footprints_[pair.footprint.index()].paths[0].key.entropy));
  }
  expected_.assign(pairs_.size(), kNone);
}

void Transport::expect(const Transfer& transfer, TransferListener& listener) {
  const std::uint32_t flow = pairs_of_[transfer.footprint.index()].first;
  const std::uint32_t index = take_message();
  const QueuePair& pair = *pairs_[flow];
  Message& message = messages_[index];
  message.in_use = message.sent = true;
  message.listener = &listener;
  message.tag = transfer.tag;
  message.bytes = transfer.bytes.count();
  message.count = std::max<std::int64_t>((message.bytes + pair.payload - 1) / pair.payload, 1);
  message.extra_latency = transfer.extra_latency;
  message.flow = flow;
  ++live_;
  expected_[flow] = index;
}

void Transport::adopt(Packet& packet) {
  if (packet.kind == PacketKind::kData && expected_[packet.flow] != kNone) packet.message = expected_[packet.flow];
}

}  // namespace weft::net
