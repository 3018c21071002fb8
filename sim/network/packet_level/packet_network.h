// Packets on their way: queues in front of links, the wires, the switches' memory, pauses, marks and credits. The endpoints'
// side (who sends what) is in transport.h.
//
// A packet crosses a link in two events: the end of its transmission, which frees its place and starts the next one, and its
// arrival. What is on a wire has its arrival pending, packet by packet: both come at delays that few sizes and latencies make.
//
// Model: a packet is counted in a device from its arrival (store-and-forward: when its last bit is in and the device's latency
// is over; cut-through: when its header is) until its last bit has left. Credit updates and pause frames delay nothing but
// themselves: the bits they take from the links are not charged.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/lazy_array.h"
#include "sim/core/memory.h"
#include "sim/core/random.h"
#include "sim/core/simulator.h"
#include "sim/network/packet_level/buffers.h"
#include "sim/network/packet_level/input_queues.h"
#include "sim/network/packet_level/packet.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/packet_level/part_mail.h"
#include "sim/network/packet_level/per_priority.h"
#include "sim/network/packet_level/relay_turns.h"
#include "sim/network/packet_level/settings.h"
#include "sim/network/topology.h"

namespace weft::net {

class Transport;  // final: NOLINT(cppcoreguidelines-virtual-class-destructor)

// True for a link whose ends are devices of one host.
[[nodiscard]] inline bool is_inside_host(const Topology& topology, LinkId link) {
  const Link& ends = topology.link(link);
  return topology.host_of(ends.from) >= 0 && topology.host_of(ends.from) == topology.host_of(ends.to);
}

class PacketNetwork final : private EventTarget {
 public:
  static constexpr std::size_t kMaxTelemetryHops = 8;

  // `mail`: the network is one part of a fabric. Only links that begin or end in the part are its own, and it holds no others.
  PacketNetwork(Simulator& simulator, const Topology& topology, const PacketSettings& settings, std::uint64_t seed,
                PartMail* mail = nullptr);
  void set_endpoints(Transport& endpoints) { endpoints_ = &endpoints; }
  // Takes in what other parts have sent in a window.
  void take_in(MailRoom& room, std::uint64_t window);
  [[nodiscard]] PartMail* mail() { return mail_; }  // null: it is the whole fabric
  [[nodiscard]] bool any_paused() const;
  void add_held(std::span<HeldMemory, kMemoryKinds> held) const;  // what it holds

  // Switches stamp telemetry into data packets from now on.
  void stamp_telemetry() { stamps_ = true; }

  [[nodiscard]] PacketStore& packets() { return packets_; }
  // Bytes on the wire of `link` of a data packet with `payload`.
  [[nodiscard]] std::int32_t wire_size(LinkId link, std::int32_t payload) const {
    const Wire& wire = wire_of(link.value());
    return payload == wire.full_payload ? wire.full_size : other_wire_size(link, payload);
  }
  // The same of a link that may be another part's.
  [[nodiscard]] std::int32_t wire_size_anywhere(LinkId link, std::int32_t payload) const {
    return own_.is_whole() ? wire_size(link, payload) : other_wire_size(link, payload);
  }
  // Bytes in front of each link, kept from the first call on.
  [[nodiscard]] const std::vector<std::int64_t>& loads();

  // A queue pair has something for `link` at `priority`: it will be pulled when its turn comes.
  void offer(LinkId link, int priority);
  // Puts a packet into the queue of `link`, at the device where the link begins. `size` must be set.
  void enqueue(LinkId link, PacketId packet);

  void add_drop_rule(const DropRule& rule, std::optional<std::uint32_t> flow);
  // Says whether a rule drops a control packet that takes no link. Counts as `destination`'s chance.
  [[nodiscard]] bool loses_free(const Packet& packet, LinkId chance) {
    return !rules_.empty() && ruled_out(packet, chance.value(), true, false);
  }
  void force_pause(const ForcedPause& pause);
  // Whether the far end of `link` has credits for a packet of `size` at all.
  [[nodiscard]] bool takes(LinkId link, std::int32_t size) const;
  // Packets queued for the link or on its wire are lost, and so are all that come.
  void fail(LinkId link);
  void restore(LinkId link);
  // Its packets begin when the sharer says.
  void share(LinkId link, LinkSharer& sharer);
  [[nodiscard]] bool is_shared(LinkId link) const { return links_[link.index()].port.shared; }

  [[nodiscard]] PortCounters counters(LinkId link) const;
  void reset_peaks();
  [[nodiscard]] std::int64_t queued_bytes(LinkId link) const { return links_[link.index()].traffic.queued; }
  [[nodiscard]] std::int64_t queued_bytes(LinkId link, int priority) const {
    return links_[link.index()].queues[priority].bytes;
  }
  [[nodiscard]] const Buffers& buffers() const { return buffers_; }
  [[nodiscard]] const std::vector<PauseRecord>& pauses() const { return pauses_; }
  [[nodiscard]] const std::vector<StormRecord>& storms() const { return storms_; }
  [[nodiscard]] std::uint64_t hops() const { return hops_; }
  [[nodiscard]] std::span<const HopTelemetry> telemetry(PacketId packet) const;
  // Priorities of the link that may not send now.
  [[nodiscard]] PriorityMask paused(LinkId link) const {
    return static_cast<PriorityMask>(links_[link.index()].port.paused | links_[link.index()].port.forced);
  }
  [[nodiscard]] const std::optional<Deadlock>& deadlock() const { return deadlock_; }
  void look_for_deadlock();
  // visit(link, packet): in the queues in front of links, by link; of one link in no order that matters.
  template <typename Visit>
  void for_each_waiting(Visit visit) const {
    for (std::uint32_t link = 0; link < links_.size(); ++link) {
      for (int priority = 0; priority < kPriorities; ++priority) {
        if (links_[link].queues[priority].head == kNoPacket) continue;
        for_each_waiting(link, static_cast<std::size_t>(priority), [&](const Packet& packet) { visit(LinkId{link}, packet); });
      }
    }
  }
  [[nodiscard]] const Topology& topology() const { return topology_; }

 private:
  enum class EventKind : std::uint8_t {
    kPortFree,
    kArrival,
    kLate,
    kPause,
    kForced,
    kCredit,
    kDeadlockCheck,
    kExpiry,
    kRefresh,
    kHeld,
    kWatch,
    kRetry
  };

  struct Queue {
    PacketId head = kNoPacket;  // the next to go
    PacketId tail = kNoPacket;  // where the link has no credits
    std::int64_t bytes = 0;     // the packet in transmission included
  };
  struct alignas(64) Queues : PerPriority<Queue> {};
  // One direction of a link: what changes with every packet but the queues.
  struct alignas(64) Port {
    std::uint64_t bits_left = 0;  // of the present burst, in units of 1 / rate picoseconds: what rounding has left over
    Time free_at;
    Time last_at;                  // of the packet put on the wire last
    std::uint32_t kind = 0;        // of wires_
    PacketId sending = kNoPacket;  // in transmission, its arrival not scheduled yet
    // Facts about the packet in transmission, as the packet itself may be at the next device already.
    LinkId release_ingress;
    std::int32_t release_size = 0;
    std::int32_t release_owed = 0;  // credits, in bytes, to `release_ingress`
    std::uint32_t left_flow = 0;
    std::uint32_t left_message = kNoPacket;  // whose last packet it is
    std::uint8_t release_priority = 0;
    PriorityMask waiting = 0;  // queues that are not empty
    PriorityMask offered = 0;  // queue pairs have something
    PriorityMask paused = 0;
    PriorityMask forced = 0;
    std::uint8_t turn = 0;  // of the round robin
    bool busy : 1 = false;
    bool failed : 1 = false;
    bool choosing : 1 = false;  // pulls from queue pairs, which may offer something else meanwhile
    bool offered_again : 1 = false;
    bool weighted : 1 = false;  // its scheduler is not strict
    bool shared : 1 = false;    // by others than packets
    bool special : 1 = false;   // any of these two
    bool held : 1 = false;      // it will ask its sharer again
    bool release_counted : 1 = false;
    bool retries : 1 = false;  // sends again what its far end has not taken (LLR), and nothing new
    bool guarded : 1 = false;  // it has failed, or its watchdog wants to see what joins its queues
  };
  static_assert(sizeof(Port) == 64, "one cache line");
  // A packet of `size` takes this on a wire: whole picoseconds, and what is left over, in units of 1 / rate picoseconds.
  struct Transmission {
    std::int32_t size = 0;
    std::int64_t ps = 0;
    std::uint64_t left = 0;
    bool operator==(const Transmission&) const = default;
  };
  [[nodiscard]] static Transmission transmission(std::int32_t size, std::uint64_t rate) {
    const std::uint64_t bits = static_cast<std::uint64_t>(size) * kBitPicoseconds;
    return {size, static_cast<std::int64_t>(bits / rate), bits % rate};
  }
  // Constants of a link; links that agree in them share them.
  struct alignas(64) Wire {
    std::uint64_t rate = 0;    // bits per second
    std::int64_t latency = 0;  // ps
    std::int64_t forward = 0;  // ps: the far device's own latency, where it passes packets on
    std::int64_t header = 0;   // ps to take in what cut-through needs
    std::int32_t full_payload = 0;
    std::int32_t full_size = 0;
    bool cut_through = false;   // at the far device
    bool switch_ahead = false;  // the far device is one that counts memory, marks and pauses
    bool switch_behind = false;
    bool credits = false;
    bool from_memory = false;           // out of a GPU: what waits is in no queue
    bool memory_behind = false;         // a GPU's, which takes whatever goes on from there
    bool leaves_part = false;           // its far end is another part's
    std::array<Transmission, 2> usual;  // of full packets and of acknowledgements: divisions are slow
    bool operator==(const Wire&) const = default;
  };
  struct Credits {
    std::array<std::int64_t, kPriorities> blocks{};
    std::int64_t total = 0;           // of each priority, where nothing is on the way
    std::int64_t starved_since = -1;  // ps; -1: its sender has credits, or nothing to send
    std::int64_t starved = 0;         // ps
  };
  struct alignas(64) Traffic {
    std::int64_t queued = 0;   // bytes, the packet in transmission included
    std::int64_t changed = 0;  // ps, when `queued` last did
    std::int64_t peak = 0;
    std::int64_t bytes = 0;
    std::int64_t packets = 0;
    std::int64_t busy = 0;  // ps
    double queue_byte_ps = 0;
    double wait_ps = 0;
  };
  static_assert(sizeof(Traffic) == 64, "one cache line");
  struct LinkState {
    Port port;
    Traffic traffic;
    Queues queues;
  };
  struct Incidents {
    std::int64_t marks = 0;
    std::int64_t drops = 0;
    std::int64_t paused_since = 0;  // ps
    std::int64_t paused = 0;
  };
  // Where VL arbitration is in its tables.
  struct LaneTurns {
    struct Turn {
      std::size_t entry = 0;
      std::int64_t left = -1;  // bytes; below 0: its first turn has not begun
    };
    Turn high;
    Turn low;
    std::int64_t high_sent = 0;  // bytes since `low` had its chance
  };
  // One link as its switch's watchdog sees it. All zeros: nothing was seen.
  struct Watch {
    std::array<Time, kPriorities> changed = {};  // when it was last paused or resumed
    std::array<std::uint32_t, kPriorities> storm = {};
    PriorityMask in_storm = 0;
    PriorityMask idle = 0;  // paused for longer than the detection time, with an empty queue
  };
  // A link that sends again (LLR): until then what comes is not taken, and comes so much later.
  struct Retry {
    Time until;
    Duration delay;
  };
  struct Rule {
    DropRule rule;
    std::optional<std::uint32_t> flow;
    std::vector<bool> taken;
    std::int64_t met = 0;  // packets that are no data
  };

  // LLR (link_retry.cpp).
  [[nodiscard]] bool is_retried(LinkId link) const;
  void retry(PacketId packet, Packet& p, std::uint32_t link);
  bool comes_later(PacketId packet, Packet& p, std::uint32_t link);
  void hold_for_retry(std::uint32_t link, bool begins);

  void on_event(std::uint64_t payload) override;
  void on_rare_event(EventKind kind, std::uint32_t index, std::uint32_t extra);
  void schedule(Time at, Phase phase, EventKind kind, std::uint32_t index, std::uint32_t extra = 0);
  void schedule_regular(Time at, Phase phase, EventKind kind, std::uint32_t index);
  // For the port where the link begins, which may be another part's.
  void schedule_at_port(Time at, Phase phase, EventKind kind, std::uint32_t link, std::uint32_t extra);

  [[nodiscard]] const Wire& wire_of(std::uint32_t link) const { return wires_[links_[link].port.kind]; }
  [[nodiscard]] std::int32_t other_wire_size(LinkId link, std::int32_t payload) const;
  [[nodiscard]] Wire make_wire(LinkId link) const;
  void add_wire(LinkId link, const Wire& wire);
  [[nodiscard]] std::int64_t total_credits(LinkId link, const Wire& wire) const;
  [[nodiscard]] bool begins_here(LinkId link) const { return own_.has(topology_.link(link).from); }
  [[nodiscard]] bool ends_here(LinkId link) const { return own_.has(topology_.link(link).to); }
  void set_usual(Wire& wire) const;
  void make_credits();
  void try_start(std::uint32_t link);
  [[nodiscard]] int choose(std::uint32_t link, PriorityMask able);
  [[nodiscard]] int choose_weighted(Port& port, std::uint32_t link, PriorityMask able);
  [[nodiscard]] int choose_dwrr(Port& port, std::uint32_t link, PriorityMask able);
  [[nodiscard]] int choose_lane(std::uint32_t link, const LaneTables& tables, PriorityMask able);
  [[nodiscard]] bool has_credit(std::uint32_t link, int priority, const Packet& packet) const;
  // The packet at the head does not fit in so many blocks.
  [[nodiscard]] bool starved(std::uint32_t link, int priority, std::int64_t blocks) const;
  // Bytes that a packet took on a link that it came over.
  [[nodiscard]] std::int32_t size_over(LinkId link, const Packet& packet) const;
  // The same where that link is owed credits for it; else 0.
  [[nodiscard]] std::int32_t owed(const Packet& packet) const {
    return packet.credited ? size_over(packet.ingress, packet) : 0;
  }
  void check_for_deadlock();
  // In no order that matters.
  template <typename Visit>
  void for_each_waiting(std::uint32_t link, std::size_t priority, Visit visit) const {
    if (wire_of(link).credits) {
      (*inputs_[link])[priority].for_each(packets_, visit);
      return;
    }
    for (PacketId id = links_[link].queues[static_cast<int>(priority)].head; id != kNoPacket; id = packets_[id].next)
      visit(packets_[id]);
  }
  // From the queue pairs into the queue; false: they have nothing ready.
  bool pull(std::uint32_t link, int priority);
  // As many of the GPU's own as take turns with what it relays; false: nothing waits, and nothing is ready.
  bool line_up(std::uint32_t link, int priority);
  RelayTurns* turns_of(std::uint32_t link, const Packet& p);
  void push_input(std::uint32_t link, Queue& queue, PacketId packet, const Packet& p);
  void pop_input(std::uint32_t link, Queue& queue, int priority);
  // The head of a queue that is not empty, out of it.
  PacketId take_head(std::uint32_t link, int priority);
  void choose_and_start(std::uint32_t link);
  // Whether packets wait for nothing but credits.
  void note_starvation(std::uint32_t link, bool is_starved);
  [[nodiscard]] bool is_let_begin(std::uint32_t link, int priority);
  void stamp(LinkState& state, const Wire& wire, PacketId packet, Packet& p, Time now);
  void lose(std::uint32_t link, PacketId packet, const Packet& p);
  bool admit_any(const LinkState& state, PacketId packet, Packet& p, std::int32_t came);
  // Cuts it to its header, where its transport and the device do that; false: it is as it was.
  bool trim(Packet& p);
  void mark(std::uint32_t link, Packet& packet, std::int64_t queued, bool at_enqueue);
  [[nodiscard]] bool marks_forward(std::uint32_t link, const Packet& packet, std::int64_t queued, const FecnSettings& fecn);
  void release(const Packet& p);
  // A hop, packet_hops.cpp. What has been looked up is handed on: a packet, a link's state, the time.
  void prefetch_for_port_free() const;
  void prefetch_for_arrival() const;
  void port_free(std::uint32_t link);
  void arrival(PacketId packet);
  void pass_on(PacketId packet, Packet& p, std::uint32_t link, Time now);
  // All of it is at the device now.
  void stored(PacketId packet);
  void join(LinkState& state, std::uint32_t out, PacketId packet, Packet& p, Time now);
  void enqueue(LinkState& state, std::uint32_t link, PacketId packet, Packet& p, Time now);
  void append(LinkState& state, std::uint32_t link, PacketId packet, Packet& p, Time now);
  void change_queue(LinkState& state, std::uint32_t link, Queue& queue, std::int64_t by, Time now);
  void try_start(LinkState& state, std::uint32_t link, Time now);
  void start(LinkState& state, const Wire& wire, std::uint32_t link, int priority, Time now);
  PacketId take(LinkState& state, std::uint32_t link, int priority);
  void put_on_wire(Port& port, const Wire& wire, std::uint32_t link, PacketId packet, Packet& p, Time begin, Time end);
  void release(LinkId ingress, int priority, std::int64_t size, std::int64_t owed, bool counted);
  void take_in(MailBox& box);
  void send_off(PacketId packet, const Packet& p, std::uint32_t link, Time at);
  void send_pause(LinkId ingress, int priority, bool on);
  void set_paused(std::uint32_t link, int priority, bool on);
  void set_forced(std::uint32_t link);
  [[nodiscard]] Duration pause_time(LinkId link, std::int64_t quanta) const;
  void expire(std::uint32_t link, int priority);
  void refresh(std::uint32_t link, int priority);
  [[nodiscard]] static std::size_t place_of(std::uint32_t link, int priority) {
    return std::size_t{link} * kPriorities + static_cast<std::size_t>(priority);
  }
  void note_pause(std::uint32_t link, PriorityMask before);
  // Null: nobody watches the link.
  [[nodiscard]] const WatchdogSettings* watchdog_of(std::uint32_t link) const;
  void watch_pause(std::uint32_t link, PriorityMask before, PriorityMask after);
  void watch(std::uint32_t link, int priority);
  void begin_storm(std::uint32_t link, int priority, const WatchdogSettings& watchdog);
  void guard(std::uint32_t link);
  // A packet that is to join the queue of a guarded port; true: it is lost.
  bool turn_away(std::uint32_t link, PacketId packet, const Packet& p);
  // Returns the credit of a packet that takes no memory behind the link that it came over, or none any more. It goes to the
  // sender, where it needs any.
  void return_credit(const Packet& packet, std::int64_t size) {
    if (packet.credited) send_credit(packet.ingress, packet.priority, size);
  }
  void send_credit(LinkId link, int priority, std::int64_t size);
  [[nodiscard]] std::int64_t blocks_of(std::int64_t size) const {
    const std::int64_t block = settings_.credits.block.count();
    return (size + block - 1) / block;
  }
  void drop(PacketId packet, std::uint32_t link, bool to_failure = false);
  [[nodiscard]] std::vector<PacketId> on_wire(LinkId link) const;
  [[nodiscard]] bool ruled_out(const Packet& packet, std::uint32_t link, bool at_end, bool on_link = true);
  RandomStream& random(std::uint32_t link);

  Simulator& simulator_;
  const Topology& topology_;
  const PacketSettings& settings_;
  std::uint64_t seed_;
  ComponentId pause_frames_;  // before the ends of transmissions: a pause that comes just then holds up the next one
  ComponentId component_;
  Transport* endpoints_ = nullptr;
  PartMail* mail_ = nullptr;
  PartView own_;
  PacketStore packets_;
  Buffers buffers_;
  // By link, all that follows. Of links that are not the part's own there is nothing.
  LazyArray<LinkState> links_;
  LazyArray<std::uint32_t> to_;  // device: apart, because it is all that an arrival needs of the link it came over
  LazyArray<Incidents> incidents_;
  std::vector<Wire> wires_;           // by Port::kind
  LinkSharer* sharer_ = nullptr;      // of the links that are shared
  std::vector<std::int64_t> loads_;   // as Traffic::queued; empty where nobody asks
  LazyArray<Credits> credits_;        // where any link has them
  std::vector<std::uint32_t> input_;  // where any link has credits: its number among those of the far device, which is 0 itself
  using Inputs = std::array<InputQueues, kPriorities>;
  std::vector<std::unique_ptr<Inputs>> inputs_;                  // of links with credits: what waits behind Queue::head
  std::vector<std::unique_ptr<RelayTurns>> turns_;               // of those out of a GPU that has relayed anything
  std::vector<std::array<double, kPriorities>> deficits_;        // where the scheduler needs them
  std::vector<std::array<double, kPriorities>> shares_;          // by PacketSettings::index_of(): weights, the least one 1
  std::vector<LaneTurns> lane_turns_;                            // where any port has tables
  std::vector<std::array<std::int64_t, kPriorities>> unmarked_;  // where any switch marks forward: eligible since the last mark
  // By link; numbered as they are first needed, since names and numbers of devices are to change nothing.
  std::vector<std::optional<RandomStream>> random_;
  std::uint32_t random_links_ = 0;
  std::vector<HopTelemetry> telemetry_;  // by packet and hop
  bool marks_at_enqueue_ = false;
  bool marks_at_start_ = false;
  bool stamps_ = false;
  bool is_large_ = false;  // its links' state does not stay in the cache that a core has for itself
  std::vector<Rule> rules_;
  std::vector<Retry> retries_;  // by link, once any has lost a packet that it sends again
  std::vector<ForcedPause> forced_pauses_;
  std::vector<PauseRecord> pauses_;
  LazyArray<std::array<std::uint32_t, kPriorities>> open_pauses_;  // by link: one more than the index of the record that lasts
  LazyArray<Time> expiries_;   // by link and priority, where pauses expire: when the present one does,
  LazyArray<Time> refreshes_;  // and when the far end repeats it
  LazyArray<Watch> watches_;   // by link, where any switch has a watchdog
  std::vector<StormRecord> storms_;
  std::optional<Deadlock> deadlock_;
  bool check_pending_ = false;
  std::uint64_t hops_ = 0;
  std::uint64_t hops_at_check_ = 0;
  // Packets that have come to this part, in the order of their times; and room for sorting.
  std::vector<DuePacket> due_;
  std::vector<DuePacket> sorted_;

 public:
  // Bytes of every port, and of every packet with the event that carries it on. Plans of a run's memory ask for them.
  static constexpr std::size_t kPortBytes = sizeof(LinkState) + sizeof(Incidents) + sizeof(std::uint32_t) + Buffers::kLinkBytes;
  static constexpr std::size_t kPacketBytes = sizeof(Packet) + sizeof(Event);
};

}  // namespace weft::net
