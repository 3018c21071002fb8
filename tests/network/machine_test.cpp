// The same questions to machines of every fidelity: what they answer differs, who asks does not.
#include "sim/network/machine.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/network/flow_transport.h"
#include "sim/network/packet_level/faults.h"
#include "sim/network/packet_probe.h"
#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using namespace literals;

class EndOfTransfer final : public TransferListener {
 public:
  explicit EndOfTransfer(const Simulator& simulator) : simulator_{simulator} {}
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t) override { at_ = simulator_.now(); }
  void on_aborted(TransferId, std::uint64_t) override {}
  [[nodiscard]] Time at() const { return at_; }

 private:
  const Simulator& simulator_;
  Time at_ = Time::max();
};

// Four hosts on a switch, 100 Gb/s without latency: 1 MB takes 80 us. Packets of 1000 B have no headers.
class MachineTest : public ::testing::Test {
 protected:
  MachineTest() { settings_.transport.payload = 1000_B; }

  [[nodiscard]] FabricChoice choice(Fidelity fidelity) const {
    return {.fidelity = fidelity, .packet = &settings_, .packet_links = links_of(0)};
  }
  // Both directions of a host's cable.
  [[nodiscard]] std::vector<bool> links_of(std::size_t host) const {
    std::vector<bool> links(topology_.link_count());
    for (const LinkId link : topology_.out_links(topology_.endpoints()[host])) {
      links[link.index()] = links[topology_.link(link).twin.index()] = true;
    }
    return links;
  }
  [[nodiscard]] FootprintId way(Machine& machine, std::size_t from, std::size_t to) const {
    return machine.fabric.add_footprint(machine.router.route(topology_.endpoints()[from], topology_.endpoints()[to], {}));
  }
  static Duration time_of(Machine& machine, const Transfer& transfer) {
    EndOfTransfer end{machine.simulator};
    const Time begin = machine.simulator.now();
    machine.fabric.post(transfer, end);
    machine.simulator.run();
    return end.at() - begin;
  }

  Topology topology_ = testing::star(4, 100_Gbps, 0_us);
  PacketSettings settings_;
};

TEST(FidelityTest, EveryFidelityIsReadByTheNameItIsWrittenWith) {
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kPacket, Fidelity::kHybrid}) {
    EXPECT_EQ(fidelity_from(to_string(fidelity)), fidelity);
  }
  EXPECT_EQ(fidelity_names(), (std::vector<std::string>{"flow", "packet", "hybrid"}));
  EXPECT_EQ(fidelity_from("fluid"), std::nullopt);
}

TEST_F(MachineTest, WhatIsPacketsDependsOnTheFidelityAndAtHybridOnTheWay) {
  const auto takes = [&](Fidelity fidelity, bool allowed) {
    Machine machine{topology_, "ecmp", 1, 0, choice(fidelity)};
    machine.fabric.allow_packets(allowed);
    return std::pair{machine.fabric.takes_packets(way(machine, 0, 1)), machine.fabric.takes_packets(way(machine, 2, 3))};
  };
  EXPECT_EQ(takes(Fidelity::kFlow, true), (std::pair{false, false}));
  EXPECT_EQ(takes(Fidelity::kPacket, true), (std::pair{true, true}));
  EXPECT_EQ(takes(Fidelity::kHybrid, true), (std::pair{true, false}));
  // Only a fabric of both kinds has the choice.
  EXPECT_EQ(takes(Fidelity::kPacket, false), (std::pair{true, true}));
  EXPECT_EQ(takes(Fidelity::kHybrid, false), (std::pair{false, false}));
}

TEST_F(MachineTest, WaysAreLookedAtOnlyWhereTheyDecide) {
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kPacket, Fidelity::kHybrid}) {
    Machine machine{topology_, "ecmp", 1, 0, choice(fidelity)};
    int asked = 0;
    const auto crosses = [&](const std::vector<bool>& links) {
      ++asked;
      return links == links_of(0);
    };
    EXPECT_EQ(machine.fabric.sends_packets(crosses), fidelity != Fidelity::kFlow) << to_string(fidelity);
    EXPECT_EQ(asked, fidelity == Fidelity::kHybrid ? 1 : 0) << to_string(fidelity);
  }
}

TEST_F(MachineTest, AFootprintsOwnRateHoldsItsFlowsBackUnlessTheyHaveACap) {
  Machine machine{topology_, "ecmp", 1};
  const FootprintId paced = way(machine, 0, 1);
  const FootprintId other = way(machine, 0, 1);
  machine.fabric.set_transport(paced, {.rate = 10_Gbps});
  EXPECT_EQ(time_of(machine, {.footprint = paced, .bytes = 1_MB}), 800_us);
  EXPECT_EQ(time_of(machine, {.footprint = paced, .bytes = 1_MB, .rate_cap = 50_Gbps}), 160_us);
  EXPECT_EQ(time_of(machine, {.footprint = other, .bytes = 1_MB}), 80_us);
}

TEST_F(MachineTest, WithoutPacketsAProbeSeesEmptyQueuesAndFaultsOfPacketsAreRefused) {
  Machine machine{topology_, "ecmp", 1};
  const FootprintId there = way(machine, 0, 1);
  const LinkId link = topology_.out_links(topology_.endpoints()[0]).front();
  EXPECT_EQ(time_of(machine, {.footprint = there, .bytes = 1_MB}), 80_us);
  const PacketProbe& probe = machine.fabric.probe();
  EXPECT_EQ(probe.port(link).packets, 0);
  EXPECT_EQ(probe.queued_bytes(link), 0);
  EXPECT_EQ(probe.flow(there).packets_sent, 0);
  EXPECT_EQ(probe.packet_hops(), 0U);
  EXPECT_TRUE(probe.pauses().empty());
  EXPECT_FALSE(probe.deadlock());
  EXPECT_FALSE(machine.fabric.division());
  EXPECT_THROW(machine.fabric.force_pause({}), InternalError);
  EXPECT_THROW(machine.fabric.add_drop_rule({}), InternalError);
  EXPECT_THROW(machine.fabric.inject_cnp(there, {}), InternalError);
}

TEST_F(MachineTest, ALinkThatWasFullForHalfOfAWindowIsHalfUsedAtEveryFidelity) {
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kPacket, Fidelity::kHybrid}) {
    Machine machine{topology_, "ecmp", 1, 0, choice(fidelity)};
    const LinkId link = topology_.out_links(topology_.endpoints()[0]).front();
    static_cast<void>(time_of(machine, {.footprint = way(machine, 0, 1), .bytes = 1_MB}));
    const double bytes = machine.fabric.wire_bytes(link);
    const Duration busy = machine.fabric.counters(ResourceId{link.value()}).busy;
    EXPECT_DOUBLE_EQ(bytes, 1e6) << to_string(fidelity);
    EXPECT_DOUBLE_EQ(machine.fabric.utilization(link, bytes, busy, 160_us), 0.5) << to_string(fidelity);
  }
}

}  // namespace
}  // namespace weft::net
