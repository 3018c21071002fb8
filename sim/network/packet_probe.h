// A probe reads what packets do at ports and queue pairs while a run goes on. Every fabric has one. Where there are no packets,
// queues are empty, nobody pauses and no queue pair has sent anything: those are the answers here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::net {

// Counters of one link direction and the queues in front of it, since the start or the last Fabric::reset_peaks().
struct PortCounters {
  std::int64_t bytes = 0;    // on the wire, all kinds of packets
  std::int64_t packets = 0;  // that left, all kinds
  Duration busy;
  std::int64_t peak_queue_bytes = 0;    // egress, waiting and in transmission
  double queue_byte_ps = 0;             // its integral over time: bytes x picoseconds, up to now
  double wait_ps = 0;                   // summed over packets, from joining the queue to the start of transmission
  std::int64_t peak_ingress_bytes = 0;  // counted at the far end as having come over this link
  std::int64_t marks = 0;
  std::int64_t drops = 0;  // for want of memory at the far end or in this queue, or by a rule
  Duration paused;         // time that at least one priority was paused
  Duration xmit_wait;      // InfiniBand's PortXmitWait: time with a packet to send and none sent, for want of credits
};

// One priority of one link, from the moment its sender heeds the pause to the moment it may go on.
struct PauseRecord {
  LinkId link;
  int priority = 0;
  Time start;
  Time end = Time::max();  // max: it lasts
};

// One priority of one link in a storm of pauses, as the watchdog of the switch where the link begins sees it.
struct StormRecord {
  LinkId link;
  int priority = 0;
  Time detected;
  Time restored = Time::max();  // max: it lasts
  std::int64_t dropped = 0;     // packets, by the watchdog
};

// Counters of one queue pair.
struct FlowCounters {
  std::int64_t packets_sent = 0;  // data, retransmissions included
  std::int64_t retransmitted = 0;
  std::int64_t cnps = 0;                  // that its sender received
  std::int64_t timeouts = 0;              // after which its sender sent again,
  Duration timeout_wait;                  // and the time that they lasted
  int gave_up_after = 0;                  // so many in a row; 0: it has not
  std::int64_t delivered_wire_bytes = 0;  // of data packets that its receiver accepted
  Bandwidth rate;                         // present limit of its congestion control; 0: none
  Bytes window = Bytes::max();
  std::int64_t outstanding_bytes = 0;
};

// A cycle of links each of which is paused (or out of credits) and waits for the next.
struct Deadlock {
  Time at;
  std::vector<LinkId> links;
};

class PacketProbe {
 public:
  virtual ~PacketProbe() = default;

  // Counters so far.
  [[nodiscard]] virtual PortCounters port(LinkId /*link*/) const { return {}; }
  [[nodiscard]] virtual std::int64_t queued_bytes(LinkId /*link*/) const { return 0; }
  [[nodiscard]] virtual std::int64_t queued_bytes(LinkId /*link*/, int /*priority*/) const { return 0; }
  [[nodiscard]] virtual std::int64_t ingress_bytes(LinkId /*link*/) const { return 0; }
  [[nodiscard]] virtual FlowCounters flow(FootprintId /*flow*/) const { return {}; }
  // A variable of the queue pair's congestion control ("alpha"); NaN: there is none of that name.
  [[nodiscard]] virtual double flow_state(FootprintId /*flow*/, std::string_view /*name*/) const {
    return std::numeric_limits<double>::quiet_NaN();
  }
  [[nodiscard]] virtual const std::vector<PauseRecord>& pauses() const {  // in the order they began
    static const std::vector<PauseRecord> none;
    return none;
  }
  [[nodiscard]] virtual const std::vector<StormRecord>& storms() const {  // in the order they were detected
    static const std::vector<StormRecord> none;
    return none;
  }
  [[nodiscard]] virtual std::uint64_t packet_hops() const { return 0; }  // link crossings of all kinds of packets
  // The first cycle found, while it ran or now.
  [[nodiscard]] virtual std::optional<Deadlock> deadlock() const { return std::nullopt; }
};

}  // namespace weft::net
