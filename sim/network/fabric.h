// The fabric moves transfers. Flow and packet fidelity stand behind this interface, so that a partition of the topology can run
// one and the rest the other.
//
// A transfer's life: post -> (bytes flow) -> on_source_free: the sender's buffer may be used again -> on_delivered: the last
// byte is at the receiver. One that a failure kills gets on_aborted instead of what is still to come. Listeners may post from
// inside a callback. Not thread-safe: a fabric belongs to its simulator's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/network/transfer.h"

namespace weft::net {

class TransferListener {
 public:
  virtual void on_source_free(TransferId transfer, std::uint64_t tag) = 0;
  virtual void on_delivered(TransferId transfer, std::uint64_t tag) = 0;
  virtual void on_aborted(TransferId transfer, std::uint64_t tag) = 0;

 protected:
  ~TransferListener() = default;
};

// A resource's counts so far.
struct ResourceCounters {
  double bytes = 0;             // usage x bytes of what has passed
  Duration busy;                // time with at least one transfer on it
  std::uint64_t transfers = 0;  // that were posted over it
};

struct FabricTotals {
  std::uint64_t posted = 0;
  std::uint64_t delivered = 0;
  std::uint64_t aborted = 0;
  std::uint64_t solves = 0;        // of the rate solver
  std::uint64_t solved_flows = 0;  // flows those solves touched, summed
  std::uint64_t peak_live = 0;     // transfers at once
};

// Data packets of a fabric's transport.
struct PacketShape {
  std::optional<Bytes> payload = {};  // none: as much as the narrowest link on the way takes
  Bytes telemetry = {};               // that switches stamp into each
};

// Traffic so far that was packets and that was flows.
struct HybridTotals {
  std::uint64_t packet_transfers = 0;
  std::uint64_t flow_transfers = 0;
  double packet_bytes = 0;
  double flow_bytes = 0;
  std::uint64_t shared_links = 0;  // that carried both kinds, one direction each

  [[nodiscard]] double packet_share() const {
    const double all = packet_bytes + flow_bytes;
    return all > 0 ? packet_bytes / all : 0;
  }
};

class PacketProbe;  // packet_probe.h
class Router;
struct DropRule;       // packet_level/faults.h
struct FlowTransport;  // flow_transport.h
struct ForcedPause;    // packet_level/faults.h

class Fabric {
 public:
  virtual ~Fabric() = default;

  // Link i of the topology is resource i. More are added for engines, memories and reduction units. `capacity`: bytes per
  // picosecond.
  virtual ResourceId add_resource(std::string name, double capacity) = 0;
  [[nodiscard]] virtual std::string resource_name(ResourceId resource) const = 0;
  [[nodiscard]] virtual double capacity(ResourceId resource) const = 0;
  [[nodiscard]] virtual std::size_t resource_count() const = 0;

  // Footprints are kept for the fabric's life: a path used a million times is stored once.
  virtual FootprintId add_footprint(Footprint footprint) = 0;
  [[nodiscard]] virtual const Footprint& footprint(FootprintId footprint) const = 0;

  // The footprint's own transport, before its first transfer. Flows heed its rate, where a transfer has no cap of its own.
  virtual void set_transport(FootprintId footprint, const FlowTransport& transport) = 0;
  // Makes what transfers on the footprint need, after set_transport() and while there is a way: links are to fail.
  virtual void set_up(FootprintId /*footprint*/) {}
  // How messages are cut into packets, unless a footprint's own transport says otherwise.
  [[nodiscard]] virtual PacketShape packet_shape() const { return {}; }

  // Whether what is posted on the footprint now is packets. Packets on one footprint keep their order by themselves and are
  // counted with their headers. Flows share links from the moment they are posted, and are counted by transfer.
  [[nodiscard]] virtual bool takes_packets(FootprintId /*footprint*/) const { return false; }
  // Says whether transfers posted from now on may be packets, where a fabric has the choice. At first they may.
  virtual void allow_packets(bool /*allow*/) {}
  // Knows of a set of messages whether one of them crosses any of these links.
  using CrossesAny = std::function<bool(const std::vector<bool>& links)>;
  // Whether any of the messages would be packets, were they posted now. Asks `crosses` only where it depends on their ways.
  [[nodiscard]] virtual bool sends_packets(const CrossesAny& /*crosses*/) const { return false; }

  // Starts a transfer now. The id is valid until its last callback. A transfer of 0 bytes takes its latency only.
  virtual TransferId post(const Transfer& transfer, TransferListener& listener) = 0;
  // Ends a transfer in flight where it stands: what has left its source arrives, the rest is never sent, and on_delivered
  // follows. InternalError where the fabric cannot.
  virtual void cut_short(TransferId transfer);
  // From now on a transfer in flight moves at most at this rate; 0: at any. InternalError where the fabric cannot.
  virtual void set_rate_cap(TransferId transfer, Bandwidth cap);
  // Bytes of a flow in flight that have left its source so far. InternalError where the transfer is packets.
  [[nodiscard]] virtual double moved_bytes(TransferId transfer) const;
  // Ends every transfer that uses `resource` with on_aborted, and lets none pass it from now on.
  virtual void fail(ResourceId resource) = 0;
  // Transfers may pass it again.
  virtual void restore(ResourceId resource) = 0;
  // Sets links up or down, for the router and for what moves over them at once. `returns`: they are down for a time only.
  virtual void set_link_state(Router& router, std::span<const LinkId> links, bool up, bool returns);

  // Whether a link that is down will be back, so that what has no way waits.
  [[nodiscard]] virtual bool failures_pass() const { return false; }

  // Faults that only packets meet, before the run begins or at their time. InternalError where there are none.
  virtual void add_drop_rule(const DropRule& rule);
  virtual void force_pause(const ForcedPause& pause);
  virtual void inject_cnp(FootprintId flow, Time at);

  [[nodiscard]] virtual ResourceCounters counters(ResourceId resource) const = 0;
  [[nodiscard]] virtual const FabricTotals& totals() const = 0;
  // Reads queues and queue pairs.
  [[nodiscard]] virtual const PacketProbe& probe() const;
  // Peaks of the probe's counters start again from what is queued now; its other counters go on.
  virtual void reset_peaks() {}
  // Bytes that a link has carried so far: with their headers, where transfers are packets.
  [[nodiscard]] virtual double wire_bytes(LinkId link) const;
  // A link's use in a window in which wire_bytes() grew by `bytes` and it was busy for so long: 1 is all that it can carry.
  [[nodiscard]] virtual double utilization(LinkId link, double bytes, Duration busy, Duration window) const;
  // Whether all that waits for a link is in the probe's counters of its port.
  [[nodiscard]] virtual bool sees_every_wait() const { return false; }
  // Whether events may follow the last delivery: timers of transports run on.
  [[nodiscard]] virtual bool has_timers() const { return false; }
  // How traffic was divided between packets and flows, where it was.
  [[nodiscard]] virtual std::optional<HybridTotals> division() const { return std::nullopt; }

  // Nothing is in flight, and nothing is left of what was but counters: the same transfers would take the same course as on a
  // new fabric.
  [[nodiscard]] virtual bool is_idle() const { return false; }
  // On an idle fabric: the first keeps the counters of resources as they are; the second counts what they counted since then so
  // many times more.
  virtual void mark_counters();
  virtual void repeat_counted(std::int64_t times);
  // Nothing in flight, and posted = delivered + aborted; else InternalError naming what is left. At the end of every run.
  virtual void check_conservation() const = 0;
};

}  // namespace weft::net
