// Packet fidelity: transfers become messages of queue pairs, and packets cross the links one by one, through queues, shared
// buffers, pauses, marks and credits.
//
// A footprint is a path (Router::route) and a queue pair: transfers posted on one footprint are its messages, in order, and
// share its sequence numbers, window and congestion control. Multicast and reduce are sent as packets too; coupled footprints
// (fluid collectives) are refused.
//
// Model: a host passes packets on as switches do, in units of fabric packets (4 KiB where a transfer stays inside a host), with
// the links' protocol overhead in the bytes on the wire: TLPs and flits are counted, not simulated one by one.
//
// Files: packet_network.h moves packets between ports, transport.h is the queue pairs, packet_routes.h picks links.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/memory.h"
#include "sim/core/simulator.h"
#include "sim/network/fabric.h"
#include "sim/network/flow_transport.h"
#include "sim/network/packet_level/faults.h"
#include "sim/network/packet_level/settings.h"
#include "sim/network/packet_probe.h"
#include "sim/network/router.h"

namespace weft::net {

// Payload of transfers in flight that their links have yet to carry.
struct YetToCome {
  struct Waiting {
    TransferId transfer;
    LinkId link;  // in front of which; what is in transmission or on a wire does not wait
    Bytes bytes;
  };
  std::vector<Bytes> unsent;     // by transfer: at its source
  std::vector<Waiting> waiting;  // in the queues of all links
};

// Knows what others leave packets of links that they share with them.
class LinkSharer {
 public:
  // A packet with so much payload, of this footprint (invalid: of a group), is the next to take the link, in front of which it
  // has been since `came`. Now: it begins; or when to ask again.
  virtual Time begin(LinkId link, FootprintId footprint, Bytes payload, Time came) = 0;

 protected:
  ~LinkSharer() = default;
};

class MailRoom;
class PartMail;
class PartFlows;
class PacketNetwork;  // final: NOLINT(cppcoreguidelines-virtual-class-destructor)
class Transport;      // final: NOLINT(cppcoreguidelines-virtual-class-destructor)

class PacketFabric final : public Fabric, public PacketProbe {
 public:
  // All must outlive the fabric. `mail`: it is one part of several (parted_fabric.h).
  PacketFabric(Simulator& simulator, const Router& router, const PacketSettings& settings, std::uint64_t seed,
               PartMail* mail = nullptr);
  ~PacketFabric() override;

  ResourceId add_resource(std::string name, double capacity) override;
  [[nodiscard]] std::string resource_name(ResourceId resource) const override;
  [[nodiscard]] double capacity(ResourceId resource) const override;
  [[nodiscard]] std::size_t resource_count() const override;
  FootprintId add_footprint(Footprint footprint) override;
  [[nodiscard]] const Footprint& footprint(FootprintId footprint) const override;
  void set_transport(FootprintId flow, const FlowTransport& transport) override;
  void set_up(FootprintId footprint) override;
  [[nodiscard]] PacketShape packet_shape() const override;
  [[nodiscard]] bool takes_packets(FootprintId /*footprint*/) const override { return true; }
  [[nodiscard]] bool sends_packets(const CrossesAny& /*crosses*/) const override { return true; }
  TransferId post(const Transfer& transfer, TransferListener& listener) override;
  void cut_short(TransferId transfer) override;
  void fail(ResourceId resource) override;
  void restore(ResourceId resource) override;
  // As long as some of what has failed will be back, who waits for a way need not give up.
  void set_link_state(Router& router, std::span<const LinkId> links, bool up, bool returns) override;
  [[nodiscard]] bool failures_pass() const override { return returning_ > 0; }
  [[nodiscard]] ResourceCounters counters(ResourceId resource) const override;
  [[nodiscard]] const FabricTotals& totals() const override;
  void check_conservation() const override;

  // Packets have only a part of the link from now on, which the sharer knows: one for all links, that outlives the run.
  void share(LinkId link, LinkSharer& sharer);
  // Sums over all transfers; reductions and multicasts in switches count as unsent as long as they last. Walks over all that
  // waits.
  [[nodiscard]] YetToCome yet_to_come() const;

  // These are for one part of several. It has all flows, in place of any that are added to it.
  void join_flows(const PartFlows& flows);
  void expect(const Transfer& transfer, TransferListener& listener);
  void take_in(MailRoom& room, std::uint64_t window);
  [[nodiscard]] bool any_paused() const;
  void add_held(std::span<HeldMemory, kMemoryKinds> held) const;  // what note_memory() is told of it

  void add_drop_rule(const DropRule& rule) override;
  void force_pause(const ForcedPause& pause) override;
  void inject_cnp(FootprintId flow, Time at) override;

  [[nodiscard]] const PacketProbe& probe() const override { return *this; }
  [[nodiscard]] double wire_bytes(LinkId link) const override { return static_cast<double>(port(link).bytes); }
  // The share of the time that packets took.
  [[nodiscard]] double utilization(LinkId link, double bytes, Duration busy, Duration window) const override;
  [[nodiscard]] bool sees_every_wait() const override { return true; }
  [[nodiscard]] bool has_timers() const override { return true; }
  void reset_peaks() override;

  [[nodiscard]] PortCounters port(LinkId link) const override;
  [[nodiscard]] std::int64_t queued_bytes(LinkId link) const override;
  [[nodiscard]] std::int64_t queued_bytes(LinkId link, int priority) const override;
  [[nodiscard]] std::int64_t ingress_bytes(LinkId link) const override;
  [[nodiscard]] FlowCounters flow(FootprintId flow) const override;
  [[nodiscard]] double flow_state(FootprintId flow, std::string_view name) const override;
  [[nodiscard]] const std::vector<PauseRecord>& pauses() const override;
  [[nodiscard]] const std::vector<StormRecord>& storms() const override;
  [[nodiscard]] std::uint64_t packet_hops() const override;
  [[nodiscard]] std::optional<Deadlock> deadlock() const override;
  // Transfers that are not delivered and what they wait for, one a line; for a run that stops with work left.
  [[nodiscard]] std::string blocked() const;

 private:
  PacketSettings settings_;
  std::unique_ptr<PacketNetwork> network_;
  std::unique_ptr<Transport> transport_;
  int returning_ = 0;  // changes of links that are down for a time
};

}  // namespace weft::net
