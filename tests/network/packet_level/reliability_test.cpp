// Losses and what the transport makes of them (models/network §3.6): goodput of go-back-N and selective repeat, recovery by
// timeout, giving up, and that every message completes exactly once.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/core/random.h"
#include "tests/support/moments.h"
#include "tests/support/packet_run.h"
#include "tests/support/packet_shapes.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using testing::PacketShape;
using weft::testing::at;

// Two hosts on one switch, 1 us and 100 Gb/s: a packet of 1000 B, the NAK of the one after it and its second transmission take
// 2 d + 2 P/C, P/C and 2 d.
constexpr Duration kLoop = 4_us + 240_ns;
constexpr double kPerLoop = 4.24 / 0.08;  // W, packets

PacketSettings reliable(Reliability reliability, AckMode acks = AckMode::kFree) {
  PacketSettings settings;
  settings.transport.reliability = reliability;
  settings.transport.acks = acks;
  settings.transport.timeout = 100_us;
  settings.transport.nak_interval = kLoop;
  return settings;
}

PacketRun make(const PacketSettings& settings) {
  PacketShape shape = testing::star_shape(2, 100_Gbps, 1_us);
  return PacketRun{2, 1, shape.cables, settings};
}

void expect_each_once(PacketRun& run) {
  run.fabric().check_conservation();
  for (std::size_t i = 0; i < run.flows(); ++i) {
    EXPECT_EQ(run.flow(i).delivered, run.flow(i).posted) << i;
    EXPECT_EQ(run.flow(i).freed, run.flow(i).posted) << i;
    EXPECT_EQ(run.flow(i).aborts, 0) << i;
  }
}

// Share of the line that new packets take, in 8 ms: 100,000 packets.
double goodput(Reliability reliability, double loss) {
  PacketRun run = make(reliable(reliability));
  run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .probability = loss});
  run.add("h0", "h1", 1_GB);
  return run.rates(at(100_us), at(8'100_us))[0] / 100;
}

// (1-p) / (1 + (W-1) p). Of n packets sent about n p are lost, give or take sqrt(n p); three times that is the tolerance.
TEST(ReliabilityTest, GoBackNGoodputUnderRandomLoss) {
  for (const double p : {0.001, 0.01, 0.05}) {
    const double expected = (1 - p) / (1 + (kPerLoop - 1) * p);
    const double losses = 100'000 * p * expected;  // that count: those of packets in order
    EXPECT_NEAR(goodput(Reliability::kGoBackN, p), expected, 3 * (1 - expected) * expected / std::sqrt(losses)) << p;
  }
}

TEST(ReliabilityTest, SelectiveRepeatGoodputUnderRandomLoss) {
  for (const double p : {0.001, 0.01, 0.05})
    EXPECT_NEAR(goodput(Reliability::kSelectiveRepeat, p), 1 - p, 3 * std::sqrt(p / 100'000) + 1e-4) << p;
}

class BothTest : public ::testing::TestWithParam<Reliability> {};
INSTANTIATE_TEST_SUITE_P(Reliabilities, BothTest, ::testing::Values(Reliability::kGoBackN, Reliability::kSelectiveRepeat));

// The last packet is lost: nothing out of order tells the receiver, the sender's timer does.
TEST_P(BothTest, ALostTailIsRecoveredByTimeout) {
  PacketRun run = make(reliable(GetParam()));
  run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .packets = {9}});
  run.add("h0", "h1", 10_KB);
  run.run();
  expect_each_once(run);
  // Progress ended with the ACK of the ninth packet: 9 P/C + P/C + 2 d there, 2 d back.
  EXPECT_EQ(run.taken(0), 800_ns + 4_us + 100_us + 160_ns + 2_us);
  EXPECT_EQ(run.fabric().flow(run.flow(0).footprint).retransmitted, 1);
}

TEST_P(BothTest, AMessageOfOnePacketLostTwiceTakesTwoTimeouts) {
  PacketRun run = make(reliable(GetParam()));
  run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .packets = {0}});
  run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .packets = {0}, .from = at(50_us)});
  run.add("h0", "h1", 1_B);
  run.run();
  expect_each_once(run);
  EXPECT_GE(run.taken(0), 200_us);
  EXPECT_LE(run.taken(0), 203_us);
}

// The first packet and its second transmission: go-back-N's receiver asks once more after its interval, not before the sender
// could have answered.
TEST_P(BothTest, ARetransmissionLostAgainNeedsNoTimeout) {
  PacketRun run = make(reliable(GetParam()));
  run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .packets = {100}});
  run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .packets = {100}, .from = at(8_us + 3_us)});
  run.add("h0", "h1", 1_MB);
  run.run();
  expect_each_once(run);
  EXPECT_LT(run.taken(0), 80_us + 2 * kLoop + 3_us);
}

// A link cut in mid-message, the first or the last on the way: seven timeouts, then the poster is told, and the run ends.
TEST_P(BothTest, ADeadLinkEndsInAnAbort) {
  for (const bool first : {false, true}) {
    for (const Duration when : {0_us, 20_us}) {
      PacketRun run = make(reliable(GetParam()));
      run.add("h0", "h1", 1_MB);
      run.add("h1", "h0", 1_MB);
      run.post(0, 1_KB);
      run.run_until(at(when));
      const LinkId cut = first ? run.link("h0", "s0") : run.link("s0", "h1");
      run.fabric().fail(ResourceId{cut.value()});
      run.run();
      run.fabric().check_conservation();
      EXPECT_EQ(run.flow(0).delivered, 0);
      EXPECT_EQ(run.flow(0).aborts, 2);
      EXPECT_EQ(run.flow(1).delivered, 1);
      EXPECT_EQ(run.flow(1).aborts, 0);
      EXPECT_GE(run.simulator().now(), at(800_us));
      EXPECT_LE(run.simulator().now(), at(1_ms));
      run.post(0, 1_KB);  // its queue pair is broken
      run.run();
      EXPECT_EQ(run.flow(0).aborts, 3);
    }
  }
}

// A cable that comes back, before and after its queue pairs have noticed, with pauses and with credits in front of a slow port.
TEST_P(BothTest, ACableThatComesBackLosesNothing) {
  for (const bool credits : {false, true}) {
    for (const Duration gap : {500_ns, 60_us, 350_us}) {
      PacketSettings settings = reliable(GetParam());
      settings.credits.enabled = credits;
      settings.pfc.priorities = credits ? 0 : 0xFF;
      settings.pfc.xoff = 20_KB;
      settings.pfc.xon = 17_KB;
      settings.pfc.compute_headroom = true;
      PacketRun run{2, 1, {{"h0", "s0", 100_Gbps, 1_us}, {"h1", "s0", 50_Gbps, 1_us}}, settings};
      run.add("h0", "h1", 2_MB);
      for (const bool first : {true, false}) {
        const ResourceId cut{(first ? run.link("h0", "s0") : run.link("s0", "h1")).value()};
        run.run_until(run.simulator().now() + 20_us);
        run.fabric().fail(cut);
        run.run_until(run.simulator().now() + gap);
        run.fabric().restore(cut);
      }
      run.run();
      expect_each_once(run);
      for (const PauseRecord& pause : run.fabric().pauses()) EXPECT_NE(pause.end, Time::max());
    }
  }
}

// Where packets find their way one by one, routes are looked up again each time: also those of acknowledgements under way.
TEST_P(BothTest, ACableOfSprayedPacketsThatComesBackLosesNothing) {
  const std::vector<PacketRun::Cable> cables{{"h0", "s0"}, {"h1", "s1"}, {"s0", "s2"},
                                             {"s0", "s3"}, {"s1", "s2"}, {"s1", "s3"}};
  for (const PacketRun::Cable& cable : cables) {
    for (const Duration gap : {500_ns, 3_us, 60_us}) {
      PacketRun run{2, 4, cables, reliable(GetParam(), AckMode::kPackets), "spray"};
      run.add("h0", "h1", 500_KB);
      run.add("h1", "h0", 300_KB);
      const std::vector<LinkId> both{run.link(cable.a, cable.b), run.link(cable.b, cable.a)};
      run.run_until(at(15_us));
      for (const LinkId link : both) run.router().set_link_state(link, false);
      for (const LinkId link : both) run.fabric().fail(ResourceId{link.value()});
      run.run_until(at(15_us) + gap);
      for (const LinkId link : both) run.router().set_link_state(link, true);
      for (const LinkId link : both) run.fabric().restore(ResourceId{link.value()});
      run.run();
      expect_each_once(run);
    }
  }
}

TEST(ReliabilityTest, WithoutRetransmissionADeadLinkAbortsAtOnce) {
  for (const bool first : {false, true}) {
    PacketRun run{2, 1, testing::star_shape(2, 100_Gbps, 1_us).cables};
    run.add("h0", "h1", 1_MB);
    run.run_until(at(20_us));
    run.fabric().fail(ResourceId{(first ? run.link("h0", "s0") : run.link("s0", "h1")).value()});
    run.run();
    run.fabric().check_conservation();
    EXPECT_EQ(run.flow(0).aborts, 1);
    EXPECT_EQ(run.flow(0).delivered, 0);
  }
}

// Sizes from nothing to many packets, none a multiple of another, all posted at once on two queue pairs that cross.
TEST_P(BothTest, AThousandMessagesCompleteOnceUnderLoss) {
  for (const AckMode acks : {AckMode::kFree, AckMode::kPackets}) {
    PacketSettings settings = reliable(GetParam(), acks);
    settings.transport.ack_every = acks == AckMode::kPackets ? 4 : 1;
    PacketRun run = make(settings);
    run.fabric().add_drop_rule({.probability = 0.01});
    RandomStream sizes{7, "sizes"};
    const std::size_t there = run.add("h0", "h1", 1_B);
    const std::size_t back = run.add("h1", "h0", 0_B);
    std::int64_t bytes[2] = {1, 0};
    for (int i = 0; i < 1'000; ++i) {
      const std::int64_t size = i % 10 == 0 ? i % 3 : sizes.between(1, 40'001);
      bytes[i % 2] += size;
      run.post(i % 2 == 0 ? there : back, Bytes{size});
    }
    run.run();
    expect_each_once(run);
    EXPECT_GT(run.fabric().flow(run.flow(there).footprint).retransmitted, 0);
    // Bare packets: what the receivers accepted is what was posted, once.
    EXPECT_EQ(run.delivered(there), bytes[0]);
    EXPECT_EQ(run.delivered(back), bytes[1]);
    EXPECT_EQ(run.fabric().flow(run.flow(there).footprint).outstanding_bytes, 0);
    EXPECT_EQ(run.fabric().flow(run.flow(back).footprint).outstanding_bytes, 0);
  }
}

// Messages of two classes on one queue pair, and another queue pair beside it, so that classes change while the NIC looks for
// the next packet.
TEST_P(BothTest, ClassesMayChangeFromMessageToMessage) {
  PacketRun run = make(reliable(GetParam()));
  run.fabric().add_drop_rule({.probability = 0.02});
  run.add("h0", "h1", 3_KB);
  run.add("h0", "h1", 3_KB, 5);
  for (int i = 0; i < 400; ++i) run.post(static_cast<std::size_t>(i % 2), Bytes{1'500 + 700 * (i % 7)}, (i * 5) % 8);
  run.run();
  expect_each_once(run);
}

// Several acknowledgements lost on their way cost nothing: a later one stands for all before it.
TEST_P(BothTest, FewerAcknowledgementsAcknowledgeTheSame) {
  for (const int every : {1, 2, 16}) {
    PacketSettings settings = reliable(GetParam(), AckMode::kPackets);
    settings.transport.ack_every = every;
    PacketRun run = make(settings);
    run.add("h0", "h1", 99_KB);
    run.post(0, 1_KB);
    run.run();
    expect_each_once(run);
    // Every so many packets, and the last of each message.
    const std::int64_t acks = run.port("h1", "s0").packets;
    EXPECT_EQ(acks, every == 1 ? 100 : (99 + every - 1) / every + 1) << every;
  }
}

// Four hosts of one leaf to four of another over as many spines: packets that each go their own way overtake one another. That
// is no loss, and nothing is sent twice; what is lost is sent again, and arrives.
TEST_P(BothTest, PacketsThatOvertakeAreNotLost) {
  for (const double loss : {0.0, 0.005}) {  // of 2,000 packets each flow loses about ten: none at all, one in 20,000
    const PacketShape shape = testing::leaf_spine_shape(2, 4, 4, 100_Gbps, 100_Gbps, 500_ns);
    PacketRun run{shape.hosts, shape.switches, shape.cables, reliable(GetParam()), "spray"};
    if (loss > 0) run.fabric().add_drop_rule({.probability = loss});
    for (int h = 0; h < 4; ++h) run.add("h" + std::to_string(h), "h" + std::to_string(h + 4), 2_MB);
    run.run();
    expect_each_once(run);
    for (std::size_t h = 0; h < 4; ++h) {
      const FlowCounters flow = run.fabric().flow(run.flow(h).footprint);
      EXPECT_EQ(flow.retransmitted > 0, loss > 0) << h;
      EXPECT_LT(flow.retransmitted, 1'000) << h;
      EXPECT_EQ(flow.delivered_wire_bytes, 2'000'000) << h;
    }
  }
}

TEST(ReliabilityTest, EmptyAndTinyMessagesTakeTheirLatencyOnly) {
  PacketRun run{2, 1, testing::star_shape(2, 100_Gbps, 1_us).cables};
  run.add("h0", "h1", 0_B);
  run.run();
  EXPECT_EQ(run.taken(0), 2_us);
  run.add("h0", "h1", 1_B);
  run.run();
  EXPECT_EQ(run.taken(1), 2_us + 160_ps);  // 80 ps a byte, twice
  expect_each_once(run);
}

// Without retransmission a lost packet ends its message; those behind it on the queue pair go on, window or not.
TEST(ReliabilityTest, WithoutRetransmissionOnlyTheMessageHitIsLost) {
  for (const AckMode acks : {AckMode::kNone, AckMode::kFree}) {
    PacketSettings settings = reliable(Reliability::kNone, acks);
    if (acks == AckMode::kFree) settings.transport.window = 20_KB;
    PacketRun run = make(settings);
    run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .packets = {15, 16, 17}});
    run.add("h0", "h1", 10_KB);
    for (int i = 0; i < 9; ++i) run.post(0, 10_KB);
    run.run();
    run.fabric().check_conservation();
    EXPECT_EQ(run.flow(0).delivered, 9);
    EXPECT_EQ(run.flow(0).aborts, 1);
  }
}

// Lossy switches: many into one with little memory. Go-back-N and its timeouts get everything there all the same.
TEST_P(BothTest, AnIncastIntoLittleMemoryCompletes) {
  PacketSettings settings = reliable(GetParam());
  settings.switches.buffer = 60_KB;
  settings.transport.window = 30_KB;
  PacketShape shape = testing::star_shape(9, 100_Gbps, 1_us);
  PacketRun run{9, 1, shape.cables, settings};
  for (int i = 0; i < 8; ++i) run.add("h" + std::to_string(i), "h8", 300_KB);
  run.run();
  expect_each_once(run);
  std::int64_t drops = 0;
  for (int i = 0; i < 8; ++i) drops += run.port("h" + std::to_string(i), "s0").drops;
  EXPECT_GT(drops, 0);
}

}  // namespace
}  // namespace weft::net
