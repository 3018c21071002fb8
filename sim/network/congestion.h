// Congestion control of one queue pair: decides how fast its packets leave (a rate), how many bytes may be on the way (a
// window), or both. Implementations live in congestion/, one file each.
//
// A queue pair drives it so, all times rising:
//
//   on_sent(now, wire)          a data packet has left, `wire` bytes of it
//   on_ack(ack)                 an ACK came back, with its round trip, its mark, and telemetry where the switches stamp it
//   on_cnp(now)                 a congestion notification came back (DCQCN)
//   on_loss(now)                a NAK, or a timeout
//   on_trim(now, wire, ...)     a switch has cut a packet to its header, `wire` bytes before
//   on_credit(now, granted)     the destination has granted more, where the control needs credits (RCCC)
//   restart(now)                it has something to send again, and nothing on the way
//   advance(now)                timers: everything that is due by `now`, in order; called before rate() or window() is read
//   next_update()               when advance() next has something to do; Time::max(): never. A sender that waits for its rate
//                               is woken then, so no timer events are spent on queue pairs that have nothing to send
//
// rate() and window() are the present limits; Bandwidth{} and Bytes::max() stand for none. Rates and windows count bytes on the
// wire. Not thread-safe; no allocation after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "sim/core/registry.h"
#include "sim/core/units.h"

namespace weft::net {

// A switch stamps this into a packet that leaves one of its ports (INT, models/network §3.2).
struct HopTelemetry {
  std::int64_t sent_bytes = 0;  // by the port, ever
  std::int64_t queue_bytes = 0;
  Time at;
  Bandwidth rate;
};

struct AckEvent {
  Time now;
  Duration rtt;                             // from the data packet's departure
  bool marked = false;                      // the data packet carried CE
  Bytes newly_acked;                        // wire bytes that this ACK covers for the first time
  Bytes in_flight = {};                     // wire bytes sent, and neither acknowledged nor known as lost, after this ACK
  std::int64_t acked = 0;                   // packets acknowledged so far: all below this number
  std::int64_t next = 0;                    // number of the packet sent next
  int hops = 0;                             // links the data packet crossed
  std::span<const HopTelemetry> telemetry;  // of the data packet, first switch first; empty where nothing is stamped
};

// A queue pair knows this when it is made.
struct CongestionContext {
  Bandwidth line_rate;  // of the link it sends on
  Duration base_rtt;    // of a full packet and its ACK, without queues
  Bytes packet;         // full data packet on the wire
  int hops = 1;         // links of the path
};

class CongestionControl {
 public:
  virtual ~CongestionControl() = default;

  virtual void on_sent(Time /*now*/, Bytes /*wire*/) {}
  virtual void on_ack(const AckEvent& /*ack*/) {}
  virtual void on_cnp(Time /*now*/) {}
  virtual void on_loss(Time /*now*/) {}
  virtual void on_trim(Time now, Bytes /*wire*/, Bytes /*in_flight*/) { on_loss(now); }
  virtual void advance(Time /*now*/) {}

  // Credit that a destination has granted, in full packets since the start, modulo 2^16.
  virtual void on_credit(Time /*now*/, std::uint16_t /*granted*/) {}
  virtual void restart(Time /*now*/) {}
  // Whether the next packet may go.
  [[nodiscard]] virtual bool has_credit() const { return true; }
  // States what the destination is to have granted, with so many wire bytes left to send. What switches trim comes on top.
  virtual std::uint16_t credit_target(Bytes /*backlog*/) { return 0; }

  [[nodiscard]] virtual Time next_update() const { return Time::max(); }

  [[nodiscard]] virtual Bandwidth rate() const { return {}; }
  [[nodiscard]] virtual Bytes window() const { return Bytes::max(); }
  // For series and tests: a state variable by name ("alpha", "target_rate_gbps", ...); NaN: has none of that name.
  [[nodiscard]] virtual double state(std::string_view name) const;
};

// The control needs these from the network: the transport provides them, or the reader refuses the combination.
struct CongestionNeeds {
  bool acks = false;       // on_ack
  bool cnps = false;       // on_cnp
  bool telemetry = false;  // AckEvent::telemetry
  bool credits = false;    // on_credit: the destination grants them
};

// How a destination grants credit (RCCC).
struct CreditGrants {
  double share = 1;  // of its link's rate
  int packets = 1;   // most of a turn
};

// Makes the control of each queue pair from parameters read once.
class CongestionFactory {
 public:
  virtual ~CongestionFactory() = default;
  [[nodiscard]] virtual CongestionNeeds needs() const = 0;
  [[nodiscard]] virtual CreditGrants grants() const { return {}; }  // where it needs credits
  // The longest round trip without queues that its stated parameters are for; none: any, since they follow the path.
  [[nodiscard]] virtual std::optional<Duration> longest_round_trip() const { return std::nullopt; }
  [[nodiscard]] virtual std::unique_ptr<CongestionControl> make(const CongestionContext& context) const = 0;
};

// By name: "dcqcn", "dcqcn_mlx", "hpcc", "timely", "swift", "ib_cc", "nscc", "rccc", "window".
[[nodiscard]] const Registry<CongestionFactory>& congestion_controls();

}  // namespace weft::net
