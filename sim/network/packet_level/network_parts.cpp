// A packet network and its transport as one part of a fabric (parted_fabric.h).
#include <algorithm>
#include <bit>

#include "sim/core/error.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {

// By digits from the last to the first (radix sort): the times of a window lie near each other, so that few digits differ.
void sort_due(std::vector<DuePacket>& due, std::vector<DuePacket>& room) {
  constexpr unsigned kDigit = 11;  // bits
  constexpr std::size_t kFew = 64;
  if (due.size() < kFew) {
    std::ranges::stable_sort(due, {}, &DuePacket::at);
    return;
  }
  const auto [least, most] = std::ranges::minmax(due, {}, &DuePacket::at);
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>((most.at - least.at).ps())));
  room.resize(due.size());
  for (unsigned shift = 0; shift < bits; shift += kDigit) {
    std::array<std::uint32_t, std::size_t{1} << kDigit> places{};
    const auto digit = [&, from = least.at](const DuePacket& one) {
      return static_cast<std::uint64_t>((one.at - from).ps()) >> shift & (places.size() - 1);
    };
    for (const DuePacket& one : due) ++places[digit(one)];
    std::uint32_t place = 0;
    for (std::uint32_t& count : places) place += std::exchange(count, place);
    for (const DuePacket& one : due) room[places[digit(one)]++] = one;
    due.swap(room);
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
      due_.push_back({letter.at, id});
    }
  }
  for (const SignalLetter& letter : box.signals) {
    simulator_.schedule(letter.at, letter.pause ? Phase::kCompletion : Phase::kDelivery,
                        letter.pause ? pause_frames_ : component_, *this, letter.payload);
  }
  box.clear();
}

// The last packets of a window and the first ones of the next may come in another order than they were sent. Those of every
// other window do not: so two series hold nearly all of them.
void PacketNetwork::take_in(MailRoom& room, std::uint64_t window) {
  due_.clear();
  for (std::size_t from = 0; from < room.parts(); ++from) {
    if (from != own_.part) take_in(room.box(window, from, own_.part));
  }
  sort_due(due_, sorted_);
  for (const DuePacket& one : due_) {
    simulator_.schedule_in_series(window & 1, one.at, Phase::kDelivery, component_, *this,
                                  static_cast<std::uint64_t>(EventKind::kArrival) << 56 | one.packet);
  }
}

bool PacketNetwork::any_paused() const {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (begins_here(LinkId{i}) && (links_[i].port.paused | links_[i].port.forced) != 0) return true;
  }
  return false;
}

// Queue pairs have the numbers of their flows in every part, so that a packet's numbers mean the same in all of them.
void Transport::join_flows(const PartFlows& flows) {
  WEFT_CHECK(own_footprints_.empty());
  footprints_ = &flows.footprints();
  ends_ = flows.ends().data();
  routes_.read_those_of(flows.routes());
  const std::size_t count = flows.ends().size();
  pairs_.resize(count);
  pairs_of_.assign(count, {});
  expected_.assign(count, kNone);
  const PartView here = network_.mail()->part();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!here.has(ends_[i].to[0]) && !here.has(ends_[i].to[1])) continue;
    pairs_[i] = make_queue_pair(FootprintId{i}, ends_[i].route[1], flows.way(i));
    choose_links(*pairs_[i], flows.path(i));
    set_up(*pairs_[i], flows.path(i), i);
    pairs_of_[i] = {i, 1};
  }
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
