// The endpoints of packet fidelity: queue pairs turn messages into packets, paced and windowed by their congestion control, and
// recover what is lost (models/network §3.6). A queue pair belongs to a footprint; its messages share one sequence of packets.
// A footprint over several NICs has queue pairs on each, and its messages are cut into their shares.
//
// A NIC serves its queue pairs round robin, those that may send now: neither paced, nor at their window, nor paused.
//
// Model: a receiver takes packets at line rate and answers at once; a packet asks for its acknowledgement where the window lets
// no other follow and the receiver would wait for more; windows and rates count bytes as on the first link of the
// fabric that the queue pair uses. An ACK stands for all packets below its number. Free acknowledgements and notifications take
// the propagation of the way back. A queue pair gives up where nothing has come back after `retries` more attempts. While it
// has no way, and a failure that will pass may be why, it sends nothing; its timeouts count all the same.
// A failing link may take bytes of transfers that ask for it (Transfer::resend). These are sent again without acknowledgements
// too, at once or when there is a way, as if the source had been told.
// Where packets find their way one by one (spray, adaptive) the receiver takes them in any order under go-back-N too. Only what
// 256 later packets have overtaken counts as lost, and only that is sent again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/core/memory.h"
#include "sim/core/simulator.h"
#include "sim/network/fabric.h"
#include "sim/network/packet_level/credit_pacer.h"
#include "sim/network/packet_level/entropies.h"
#include "sim/network/packet_level/group_transfers.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/packet_routes.h"
#include "sim/network/packet_level/packets_in_flight.h"
#include "sim/network/packet_level/part_flows.h"
#include "sim/network/packet_level/selective_repeat.h"

namespace weft::net {

class Transport final : private GroupTransfers::Owner, private EventTarget {
 public:
  Transport(Simulator& simulator, PacketNetwork& network, const Router& router, const PacketSettings& settings,
            std::uint64_t seed);

  FootprintId add_footprint(Footprint footprint);
  [[nodiscard]] const Footprint& footprint(FootprintId id) const { return (*footprints_)[id.index()]; }
  void set_transport(FootprintId flow, const FlowTransport& transport);
  // Makes its queue pairs and their ways there and back. Of a group, or from a device to itself, there are none.
  void set_up(FootprintId flow);
  TransferId post(const Transfer& transfer, TransferListener& listener);
  // Its queue pair's number, made if need be.
  std::uint32_t queue_pair(FootprintId flow);
  // The message ends with the packet that is sent next. What of it is lost does not abort it.
  void cut_short(TransferId transfer);
  [[nodiscard]] YetToCome yet_to_come() const;
  void inject_cnp(FootprintId flow, Time at);
  // For one part of a fabric (parted_fabric.h), before the run: queue pairs of the flows that begin or end in it. A flow that
  // comes from another part has one message, which this part expects.
  void join_flows(const PartFlows& flows);
  void expect(const Transfer& transfer, TransferListener& listener);
  // A packet has come from another part, or has its queue pair here at once.
  void adopt(Packet& packet);
  void take_control(PacketId packet, Time at) { schedule(at, EventKind::kControl, packet); }
  void routes_changed();
  void set_failures_pass(bool pass) { failures_pass_ = pass; }

  [[nodiscard]] const FabricTotals& totals() const { return totals_; }
  [[nodiscard]] FlowCounters counters(FootprintId flow) const;
  [[nodiscard]] double state(FootprintId flow, std::string_view name) const;
  [[nodiscard]] std::string blocked() const;
  void add_held(std::span<HeldMemory, kMemoryKinds> held) const;  // what it holds

  // The network's side.
  // The next packet that a queue pair has for `link` at `priority`, ready to send; kNoPacket: none is ready.
  PacketId pull(LinkId link, int priority);
  // How many of its queue pairs are in line for `link` at `priority`.
  [[nodiscard]] std::size_t ready(LinkId link, int priority) const {
    const auto place = static_cast<std::size_t>(priority);
    const Ring* const ring = rings_[link.index()].get();
    return ring == nullptr ? 0 : ring->queue[place].size() - ring->head[place];
  }
  // Where a packet goes that is at `device`, which is not its end.
  LinkId route(Packet& packet, DeviceId device) {
    const RouteId way = route_of(packet);
    const bool back = packet.kind != PacketKind::kData && ends_[packet.flow].fixed;
    return back ? routes_.next_back(way, device, packet.hop) : routes_.next(way, device, packet.hop, packet.by);
  }
  [[nodiscard]] DeviceId destination(const Packet& packet) const {
    if (is_of_group(packet.kind)) return DeviceId{packet.flow};
    const FlowEnds& ends = ends_[packet.flow];
    return ends.to[packet.kind == PacketKind::kData ? 1 : 0];
  }
  // Invalid: of a group.
  [[nodiscard]] FootprintId footprint_of(const Packet& packet) const {
    return is_of_group(packet.kind) ? FootprintId{} : pairs_[packet.flow]->footprint;
  }
  // Only Ultra Ethernet's are; one that only passes this part is as all of its fabric are.
  [[nodiscard]] bool may_be_trimmed(const Packet& packet) const {
    const QueuePair* const pair = pairs_[packet.flow].get();
    return pair != nullptr ? pair->entropies != nullptr : settings_.transport.uec.has_value();
  }
  // Asks for what route() and receive() will read of a packet that arrives at `device`: soon, and at once.
  [[gnu::always_inline]] void prefetch(const Packet& packet) const {
    if (!is_of_group(packet.kind)) routes_.prefetch(route_of(packet));
  }
  [[gnu::always_inline]] void prefetch(const Packet& packet, DeviceId device) const {
    if (is_of_group(packet.kind)) return;
    const void* const pair = pairs_[packet.flow].get();
    const void* const links = routes_.read_by_next(route_of(packet), device);
    __builtin_prefetch(destination(packet) == device ? pair : links);
  }
  // A packet of a group is at a switch of its tree. It is the transport's now.
  void in_switch(PacketId packet, DeviceId device) { groups_.in_switch(packet, device); }
  // A packet has reached its end. It is the transport's now.
  void receive(PacketId packet);
  // The last bit of a message's last packet has left its source; `flow` kNone: of a group's.
  void message_left(std::uint32_t flow, std::uint32_t message);
  // A packet is lost, to a link that failed or otherwise; it is destroyed afterwards.
  void lost(const Packet& packet, bool to_failure);

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  enum class EventKind : std::uint8_t { kWake, kControl, kDeliver, kTimeout, kCnp, kLost, kResend, kCredit };

  struct Message {
    TransferListener* listener = nullptr;
    std::uint64_t tag = 0;
    std::int64_t bytes = 0;
    std::int64_t first = 0;  // packet number within the queue pair
    std::int64_t count = 0;
    std::int64_t arrived = 0;  // packets accepted
    std::int64_t missing = 0;  // lost for good
    Time ready;                // the NIC may send from then on
    Duration extra_latency;
    double rate_cap = 0;             // payload bytes per picosecond; 0: none
    std::uint32_t parent = kNone;    // the message that it is a part of
    std::uint32_t repairs = kNone;   // the message of which it is a lost packet
    std::uint32_t parts_left = 0;    // of a message spread over queue pairs: not delivered,
    std::uint32_t parts_unsent = 0;  // and not told as sent
    std::uint32_t flow = kNone;      // none: from a device to itself
    std::uint32_t next = kNone;      // in its queue pair, or in the free list
    std::uint8_t priority = 0;
    bool in_use = false;
    bool resend = false;     // what a failing link takes along is sent again
    bool cut = false;        // ended before all of it was sent
    bool left = false;       // all its packets have left their source once
    bool sent = false;       // its sender has told its poster
    bool delivered = false;  // so has its receiver
  };
  // Where the destination grants credit (RCCC).
  struct Credits {
    // Sender.
    std::int64_t unsent = 0;  // wire bytes that were never sent
    int timeouts = 0;         // in which it waited for credit
    // Receiver, in packets since the start.
    std::int64_t asked = 0;
    std::int64_t trimmed = 0;  // granted without being asked for
    std::int64_t granted = 0;
    bool waits = false;  // for its turn
    // The fabric's last link, on which a packet takes so long at the share that is granted; and the packets of a turn.
    LinkId link;
    Duration takes;
    int turn = 1;
  };
  struct QueuePair {
    FootprintId footprint;
    RouteId route = 0;
    const TransportSettings* how = nullptr;  // the fabric's, or its own
    LinkId reference;                        // the link whose bytes windows and rates count
    std::vector<LinkId> first_links;
    std::vector<bool> listed;  // in the ring of first link i
    double share = 1.0;        // of the footprint's bytes, that its NICs carry: a limit of rate is cut by it
    std::int64_t weight = 1;   // of the parts of a message
    std::int32_t payload = 0;
    std::int32_t full_size = 0;
    Duration back_propagation;
    Duration timeout;
    // Sender.
    std::int64_t next = 0;          // packet sent next
    std::int64_t acked = 0;         // all below are acknowledged
    std::int64_t end = 0;           // packets posted so far
    std::int64_t most_sent = 0;     // below it, everything has been sent at least once
    std::int64_t outstanding = 0;   // bytes
    std::int64_t window = 0;        // fixed; 0: none
    std::uint32_t sending = kNone;  // message of `next`
    std::uint32_t oldest = kNone;   // message of `acked`
    std::uint32_t newest = kNone;
    Time paced_from;  // the next packet may leave `paced_size` at the present rate later
    std::int32_t paced_size = 0;
    double paced_cap = 0;  // the message's own limit, wire bytes per picosecond; 0: none
    Time wake_at = Time::max();
    Time ready_after;  // of the last message, for the message rate
    double rate = 0;   // fixed, wire bytes per picosecond; 0: none
    std::unique_ptr<CongestionControl> congestion;
    Time deadline;
    bool timer_queued = false;
    std::uint8_t timeouts = 0;
    bool open_loop = false;
    bool dead = false;
    bool waits_for_way = false;
    bool acks = false;      // it gets acknowledgements: not inside a host
    bool repeats = false;   // and sends again what is lost
    bool in_order = false;  // its receiver takes packets in order only
    bool cnps = false;      // its congestion control wants notifications
    // Receiver.
    std::int64_t expected = 0;  // go-back-N: the next in order; else packets accepted
    int unacked = 0;            // accepted since the last acknowledgement
    bool nak_sent = false;
    Time last_nak;
    Time last_cnp;
    bool any_cnp = false;
    std::unique_ptr<SelectiveRepeat> selective;
    // Ultra Ethernet's: the values of its packets, and, where these come in any order, what is on the way.
    std::unique_ptr<Entropies> entropies;
    std::unique_ptr<PacketsInFlight> in_flight;
    std::unique_ptr<Credits> credits;
    FlowCounters counters;
  };
  // A packet that a failing link took, of a message that is to arrive all the same.
  struct Resend {
    std::uint32_t message = 0;
    std::int32_t payload = 0;
  };
  struct Ring {
    std::array<std::vector<std::uint32_t>, kPriorities> queue;
    std::array<std::size_t, kPriorities> head{};
  };

  [[nodiscard]] RouteId route_of(const Packet& packet) const {
    return ends_[packet.flow].route[packet.kind == PacketKind::kData ? 1 : 0];
  }

  void on_event(std::uint64_t payload) override;
  void group_sent(std::uint32_t id) override { tell_sent(id); }
  void group_delivered(std::uint32_t id) override { tell_delivered(id); }
  void schedule(Time at, EventKind kind, std::uint32_t index);
  // A queue pair and where its packets go; all but the path, which is one of the route's, is made anew.
  std::uint32_t add_queue_pair(FootprintId footprint, const NicWay& way, std::uint64_t entropy);
  std::unique_ptr<QueuePair> make_queue_pair(FootprintId footprint, RouteId route, const NicWay& way);
  void set_up(QueuePair& pair, std::span<const LinkId> path, std::uint64_t number);
  void post_message(std::uint32_t flow, std::uint32_t message, const Transfer& transfer);
  [[nodiscard]] const TransportSettings& settings_of(FootprintId footprint) const;
  // How many queue pairs each way between NICs has.
  [[nodiscard]] std::uint32_t pairs_per_way(FootprintId footprint) const;
  void choose_links(QueuePair& pair, std::span<const LinkId> path);
  void add_way_back(std::uint32_t flow);
  // The way back, after the routes have been looked up.
  void choose_back(FlowEnds& ends);
  [[nodiscard]] Duration round_trip(std::span<const LinkId> path, const QueuePair& pair) const;
  std::uint32_t take_message();
  void send_open_loop(std::uint32_t flow, std::uint32_t message);

  // Number of the packet sent next: one that is lost, or the first that was never sent.
  [[nodiscard]] static std::int64_t next_packet(const QueuePair& pair);
  [[nodiscard]] std::uint32_t message_of(const QueuePair& pair, std::int64_t sequence) const;
  // Bytes that may be under way before the next packet is sent.
  [[nodiscard]] static std::int64_t window_room(const QueuePair& pair);
  // When the queue pair may send its next packet; Time::max(): something else must happen first.
  Time may_send(QueuePair& pair);
  void offer(std::uint32_t flow);
  void wake(std::uint32_t flow, Time at);
  PacketId build(std::uint32_t flow, std::int64_t sequence, LinkId link);
  [[nodiscard]] static Time next_send(const QueuePair& pair);
  void pace(QueuePair& pair, std::int32_t size, std::int32_t payload, double rate_cap);
  [[nodiscard]] std::int32_t payload_of(const Message& message, std::int64_t sequence) const;

  void receive_data(PacketId packet);
  void accept(const Packet& packet);
  void complete(std::uint32_t message);
  void cut_message(std::uint32_t message);
  void answer(PacketId packet, PacketKind kind, std::int64_t sequence, std::int32_t sack);
  void notify(const Packet& packet);
  void send_control(PacketId packet, AckMode mode, std::int32_t size);
  void receive_control(PacketId packet);
  void receive_cnp(QueuePair& pair);
  void acknowledge(std::uint32_t flow, std::int64_t below, const Packet& packet, PacketId id);
  void advance_acked(QueuePair& pair, std::int64_t below);
  void rewind(std::uint32_t flow);
  void receive_trim(QueuePair& pair, const Packet& trimmed);
  // Credits (transport_credits.cpp).
  void set_up_credits(QueuePair& pair, std::span<const LinkId> path, const CreditGrants& grants);
  [[nodiscard]] std::int64_t wire_bytes(const QueuePair& pair, const Message& message) const;
  void add_demand(QueuePair& pair, const Message& message);
  void state_demand(QueuePair& pair, Packet& packet);
  void hear_demand(const Packet& packet);
  void grant(std::uint32_t link);
  void send_credit(std::uint32_t flow);
  [[nodiscard]] static bool waits_for_credit(const QueuePair& pair);
  void ask_for_credit(QueuePair& pair);

  void arm_timeout(std::uint32_t flow);
  void timeout(std::uint32_t flow);
  void give_up(std::uint32_t flow);
  void resend_later(const Resend& lost);
  void resend_all();
  void resend(const Resend& lost);

  void tell_sent(std::uint32_t message);
  void tell_delivered(std::uint32_t message);
  void abort(std::uint32_t message);
  void free_if_done(std::uint32_t message);
  void unlink_left(QueuePair& pair);

  Simulator& simulator_;
  PacketNetwork& network_;
  const Router& router_;
  const Topology& topology_;
  const PacketSettings& settings_;
  ComponentId component_;
  PacketRoutes routes_;
  GroupTransfers groups_;
  std::vector<Footprint> own_footprints_;
  const std::vector<Footprint>* footprints_ = &own_footprints_;  // or those of all parts
  struct Pairs {
    std::uint32_t first = kNone;
    std::uint32_t count = 0;
  };
  std::vector<Pairs> pairs_of_;  // by footprint
  std::map<FootprintId, FlowTransport> overrides_;
  std::vector<std::unique_ptr<QueuePair>> pairs_;  // null: none of its ends is in this part
  std::vector<FlowEnds> own_ends_;
  const FlowEnds* ends_ = nullptr;  // by queue pair, its own or of all parts; apart, because every hop of every packet asks
  std::vector<Message> messages_;
  std::uint32_t free_message_ = kNone;
  std::vector<std::uint32_t> expected_;               // message by queue pair, of those that other parts send; kNone: of none
  std::vector<std::unique_ptr<Ring>> rings_;          // by link, of sources only
  std::vector<std::unique_ptr<CreditPacer>> pacers_;  // by link, of destinations that grant credit
  std::vector<Resend> resends_;                       // that their event is to come for
  std::vector<Resend> cut_off_;                       // that wait for a way
  bool failures_pass_ = false;
  FabricTotals totals_;
  std::uint64_t live_ = 0;

 public:
  // With a message of it.
  static constexpr std::size_t kQueuePairBytes = sizeof(QueuePair) + sizeof(FlowEnds) + sizeof(Message) + sizeof(std::uint32_t);
  static constexpr std::size_t kMessageBytes = sizeof(Message) + sizeof(std::uint32_t);
};

}  // namespace weft::net
