// Two kinds of transfers on one link act on each other, by hand. 100 Gb/s are 12.5 kB a microsecond; packets have 1000 B and no
// headers, switches store them and take no time, every cable is 1 us long.
#include "sim/network/hybrid_fabric.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/core/error.h"
#include "tests/support/hybrid_run.h"
#include "tests/support/packet_run.h"
#include "tests/support/packet_shapes.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::HybridPost;
using testing::HybridRun;
using testing::PacketRun;
using testing::PacketShape;
using Kind = HybridRun::Kind;

// Hosts on one switch; that of h2 may have a slower cable.
class HybridFabricTest : public ::testing::Test {
 protected:
  explicit HybridFabricTest(Bandwidth to_h2 = 100_Gbps) : network_{4, 1, cables(to_h2)} {}

  static std::vector<PacketRun::Cable> cables(Bandwidth to_h2) {
    PacketShape shape = testing::star_shape(4, 100_Gbps, 1_us);
    shape.cables[2].rate = to_h2;
    return shape.cables;
  }
  // Packets are what goes to h2.
  HybridRun hybrid() {
    return {network_.topology(), "ecmp", Kind::kHybrid, testing::links_named(network_.topology(), {"s0->h2"})};
  }
  LinkId link(const std::string& from, const std::string& to) { return network_.link(from, to); }

  PacketRun network_;
};

class HybridSlowReceiverTest : public HybridFabricTest {
 protected:
  HybridSlowReceiverTest() : HybridFabricTest(25_Gbps) {}
};

constexpr Duration kLatency = 2_us;   // of two cables
constexpr Duration kStored = 80_ns;   // a packet is taken in at the switch
constexpr Duration kPacket = 160_ns;  // of 1000 B at half the rate
constexpr double kOnePercent = 0.01;

TEST_F(HybridFabricTest, ATransferThatSharesNothingTakesTheTimeOfItsOwnFidelity) {
  const std::vector<HybridPost> posts{{"h0", "h1", 1_MB}, {"h3", "h2", 1_MB}};
  HybridRun run = hybrid();
  const std::vector<Duration> both = run.of(posts);
  EXPECT_EQ(both[0], (HybridRun{network_.topology(), "ecmp", Kind::kFlow}.of({posts[0]})[0]));
  EXPECT_EQ(both[1], (HybridRun{network_.topology(), "ecmp", Kind::kPacket}.of({posts[1]})[0]));
  EXPECT_EQ(run.hybrid().hybrid_totals().shared_links, 0U);
}

TEST_F(HybridFabricTest, AFlowAndPacketsHaveHalfEachOfTheLinkThatBothUse) {
  // 1 MB at 50 Gb/s: 160 us.
  HybridRun run = hybrid();
  const std::vector<Duration> taken = run.of({{"h0", "h1", 1_MB}, {"h0", "h2", 1_MB}});
  EXPECT_EQ(taken[0], 160_us + kLatency + kStored);
  EXPECT_GE(taken[1], 160_us + kLatency);
  EXPECT_LE(taken[1], 160_us + kLatency + 2 * kPacket);
  const HybridTotals& totals = run.hybrid().hybrid_totals();
  EXPECT_EQ(totals.shared_links, 1U);  // h0->s0
  EXPECT_EQ(totals.packet_transfers, 1U);
  EXPECT_EQ(totals.flow_transfers, 1U);
  EXPECT_DOUBLE_EQ(totals.packet_share(), 0.5);
}

TEST_F(HybridFabricTest, WhatIsLeftAloneHasTheWholeLink) {
  // Together until 80 us, when the packets' 500 kB are through; the flow's other 500 kB take 40 us.
  const std::vector<Duration> taken = hybrid().of({{"h0", "h1", 1_MB}, {"h0", "h2", 500_KB}});
  EXPECT_EQ(taken[0], 120_us + kLatency + kStored);
  EXPECT_NEAR(taken[1].us(), 82, 82 * kOnePercent);
  // And the other way round.
  const std::vector<Duration> swapped = hybrid().of({{"h0", "h1", 500_KB}, {"h0", "h2", 1_MB}});
  EXPECT_EQ(swapped[0], 80_us + kLatency + kStored);
  EXPECT_NEAR(swapped[1].us(), 122, 122 * kOnePercent);
}

TEST_F(HybridFabricTest, SharingBeginsWithTheFirstLinkThatCarriesBoth) {
  // The packets are alone for 40 us (500 kB), share for 80 us; then the flow is through, and so are they.
  const std::vector<Duration> late_flow = hybrid().of({{"h0", "h2", 1_MB}, {"h0", "h1", 500_KB, Time{} + 40_us}});
  EXPECT_NEAR(late_flow[0].us(), 122, 122 * kOnePercent);
  EXPECT_NEAR(late_flow[1].us(), 82, 82 * kOnePercent);
  const std::vector<Duration> late_packets = hybrid().of({{"h0", "h1", 1_MB}, {"h0", "h2", 500_KB, Time{} + 40_us}});
  EXPECT_EQ(late_packets[0], 120_us + kLatency + kStored);
  EXPECT_NEAR(late_packets[1].us(), 82, 82 * kOnePercent);
}

TEST_F(HybridFabricTest, WhatIsPastALinkIsNotChargedToItAgain) {
  // The packets have left h0 at 4 us and are on their way until 6 us: a flow that begins between has h0->s0 to itself.
  const std::vector<HybridPost> posts{{"h0", "h2", 50_KB}, {"h0", "h1", 50_KB, Time{} + 5_us}};
  EXPECT_EQ(hybrid().of(posts)[1], 4_us + kLatency + kStored);
  // At 3 us 12.5 kB have yet to leave: as long again for both, and the flow's other 37.5 kB in 3 us.
  const std::vector<HybridPost> earlier{{"h0", "h2", 50_KB}, {"h0", "h1", 50_KB, Time{} + 3_us}};
  EXPECT_NEAR(hybrid().of(earlier)[1].us(), 5 + 2.08, 0.16);
}

TEST_F(HybridFabricTest, AFlowIsFeltAtALinkWhenAPacketWouldBeThere) {
  // The packets have left h0 at 4 us and s0 at 5.16 us; what h3 sends from 4.2 us on is at s0 at 5.28 us.
  HybridRun run{network_.topology(), "ecmp", Kind::kHybrid, testing::links_named(network_.topology(), {"h0->s0"})};
  const std::vector<Duration> taken = run.of({{"h0", "h1", 50_KB}, {"h3", "h1", 50_KB, Time{} + 4200_ns}});
  EXPECT_EQ(run.hybrid().hybrid_totals().shared_links, 1U);  // s0->h1
  EXPECT_EQ(taken[0], 4_us + kLatency + kStored);
  EXPECT_EQ(taken[1], 4_us + kLatency + kStored);
}

TEST_F(HybridFabricTest, APacketTakesTheFullRateBetweenTheFlowsBytes) {
  // A packet takes 80 ns of a shared cable, not 160 ns; the flow's packets may be ahead of it for as long again.
  const std::vector<Duration> taken = hybrid().of({{"h0", "h1", 1_MB}, {"h0", "h2", 1_KB, Time{} + 10_us}});
  EXPECT_GE(taken[1], kLatency + 2 * kStored);
  EXPECT_LE(taken[1], kLatency + 3 * kStored);
}

TEST_F(HybridFabricTest, TwoKindsThatMeetAtAReceiverHaveEqualShares) {
  // 3 MB over 100 Gb/s: 240 us. The two of packets come in any order, each no later than its third of the cable allows.
  HybridRun run{network_.topology(), "ecmp", Kind::kHybrid, testing::links_named(network_.topology(), {"h0->s0", "h1->s0"})};
  const std::vector<Duration> taken = run.of({{"h0", "h2", 1_MB}, {"h1", "h2", 1_MB}, {"h3", "h2", 1_MB}});
  for (const Duration each : taken) EXPECT_NEAR(each.us(), 242, 242 * kOnePercent);
}

TEST_F(HybridSlowReceiverTest, WhatWaitsIsChargedToTheLinksAheadOfIt) {
  HybridRun run{network_.topology(), "ecmp", Kind::kHybrid, testing::links_named(network_.topology(), {"h0->s0"})};
  // 25 Gb/s are 3.125 kB a microsecond: h2's cable is taken until 2 MB are through, and 1 MB of them left h0 until 80 us.
  const std::vector<Duration> taken = run.of({{"h0", "h2", 1_MB}, {"h3", "h2", 1_MB, Time{} + 90_us}});
  EXPECT_NEAR(taken[1].us(), 640 - 90 + 2, 552 * kOnePercent);
}

TEST_F(HybridSlowReceiverTest, WhatWaitsIsNotChargedToTheLinksBehindIt) {
  // At 90 us all has left h0, and most of it waits in front of h2's cable.
  const std::vector<Duration> taken = hybrid().of({{"h0", "h2", 1_MB}, {"h0", "h1", 1_MB, Time{} + 90_us}});
  EXPECT_EQ(taken[1], 80_us + kLatency + kStored);
}

TEST_F(HybridSlowReceiverTest, AFlowHasWhatPacketsCannotUse) {
  // Packets have 25 Gb/s behind the switch, the flow the 75 Gb/s left: 1 MB in 106.667 us; 500 kB in 160 us.
  const std::vector<Duration> taken = hybrid().of({{"h0", "h1", 1_MB}, {"h0", "h2", 500_KB}});
  EXPECT_NEAR(taken[0].us(), 106.667 + 2.08, 0.001);
  EXPECT_NEAR(taken[1].us(), 162, 162 * kOnePercent);
}

TEST_F(HybridFabricTest, MessagesOfOneQueuePairTakeOneShareTogether) {
  // Two of 500 kB on one queue pair beside a flow of 1 MB: half the link each, 160 us; were each a share of its own, the flow
  // would have a third until 120 us, and end at 160 us no sooner, but at 60 us it would have moved 250 kB less.
  HybridRun run = hybrid();
  const Router router{network_.topology(), make_routing_policy("ecmp"), 1};
  struct Ears final : TransferListener {
    void on_source_free(TransferId, std::uint64_t) override {}
    void on_delivered(TransferId, std::uint64_t) override {}
    void on_aborted(TransferId, std::uint64_t) override { ADD_FAILURE(); }
  } ears;
  const auto path = [&](const char* to) {
    return run.fabric().add_footprint(router.route(network_.device("h0"), network_.device(to), {}));
  };
  const TransferId flow = run.fabric().post({.footprint = path("h1"), .bytes = 1_MB}, ears);
  const FootprintId packets = path("h2");
  run.fabric().post({.footprint = packets, .bytes = 500_KB}, ears);
  run.fabric().post({.footprint = packets, .bytes = 500_KB}, ears);
  run.simulator().run_until(Time{} + 60_us);
  EXPECT_NEAR(run.hybrid().moved_bytes(flow), 375'000, 1);
  run.simulator().run();
  run.fabric().check_conservation();
}

TEST_F(HybridFabricTest, EachByteIsCountedOnceOnALink) {
  HybridRun run = hybrid();
  run.of({{"h0", "h1", 1_MB}, {"h0", "h2", 500_KB}});
  EXPECT_NEAR(run.fabric().counters(ResourceId{link("h0", "s0").value()}).bytes, 1'500'000, 1);
  EXPECT_NEAR(run.fabric().counters(ResourceId{link("s0", "h1").value()}).bytes, 1'000'000, 1);
  EXPECT_NEAR(run.fabric().counters(ResourceId{link("s0", "h2").value()}).bytes, 500'000, 1);
  EXPECT_EQ(run.hybrid().packets().port(link("h0", "s0")).packets, 500);
  EXPECT_EQ(run.fabric().totals().posted, 2U);
  EXPECT_EQ(run.fabric().totals().delivered, 2U);
}

TEST_F(HybridFabricTest, NothingIsPacketsWhileNothingMayBe) {
  HybridRun run = hybrid();
  run.hybrid().allow_packets(false);
  const std::vector<HybridPost> posts{{"h0", "h1", 1_MB}, {"h0", "h2", 500_KB}};
  EXPECT_EQ(run.of(posts), (HybridRun{network_.topology(), "ecmp", Kind::kFlow}.of(posts)));
  EXPECT_EQ(run.hybrid().hybrid_totals().packet_transfers, 0U);
}

TEST_F(HybridFabricTest, ATransferOfNothingTakesItsLatency) {
  HybridRun run = hybrid();
  const std::vector<Duration> taken = run.of({{"h0", "h1", 100_KB}, {"h0", "h2", 0_B}, {"h0", "h1", 0_B}});
  EXPECT_EQ(taken[2], kLatency);
  EXPECT_GE(taken[1], kLatency);
}

TEST_F(HybridFabricTest, LinksDoNotFail) {
  HybridRun run = hybrid();
  EXPECT_THROW(run.fabric().fail(ResourceId{0}), InternalError);
}

}  // namespace
}  // namespace weft::net
