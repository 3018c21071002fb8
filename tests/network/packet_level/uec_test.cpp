// Ultra Ethernet's transport: trimming loses no byte, flows share fairly, entropy values spread packets, delivery modes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/network/packet_level/entropies.h"
#include "sim/network/packet_level/packets_in_flight.h"
#include "tests/support/packet_run.h"
#include "tests/support/packet_shapes.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using testing::PacketShape;

// Nothing of `yaml`: NSCC as it is.
std::shared_ptr<const CongestionFactory> nscc_control() {
  Diagnostics diagnostics;
  ParamReader params{ConfigNode::parse("{}", "test"), diagnostics};
  return congestion_controls().find("nscc")->make(params);
}

// 100 Gb/s, two cables of 1 us: a round trip of 4.17 us, a BDP of 52 kB. Queues hold one, marks are from 0.2 to 0.8 of it.
PacketSettings uec_settings(DeliveryMode mode = DeliveryMode::kRud, std::uint32_t values = 64) {
  PacketSettings settings;
  settings.switches.queue_limit = 52_KB;
  settings.switches.trim_size = 64_B;
  settings.ecn.priorities = 0xFF;
  settings.ecn.kmin = 10'400_B;
  settings.ecn.kmax = 41'600_B;
  settings.ecn.pmax = 1;
  settings.transport.uec = UecSettings{.mode = mode, .entropy_values = values};
  settings.transport.acks = AckMode::kPackets;
  settings.transport.ack_size = 64_B;
  settings.transport.cnps = AckMode::kNone;
  settings.transport.timeout = 100_us;
  settings.transport.reliability = mode == DeliveryMode::kRod ? Reliability::kGoBackN : Reliability::kSelectiveRepeat;
  settings.transport.congestion = nscc_control();
  return settings;
}

// 32 senders fill the receiver's link: 32 x 100 kB at 100 Gb/s are 256 us, first byte after two cables and two packets. Every
// packet that is trimmed is sent again, once for each time, and none is dropped.
TEST(UecTest, TrimmingLosesNoByte) {
  PacketShape shape = testing::star_shape(33, 100_Gbps, 1_us);
  PacketRun run{33, 1, shape.cables, uec_settings(), "entropy"};
  for (int h = 1; h <= 32; ++h) run.add("h" + std::to_string(h), "h0", 100_KB);
  run.run();
  run.fabric().check_conservation();
  std::int64_t again = 0;
  Time last;
  for (std::size_t i = 0; i < run.flows(); ++i) {
    EXPECT_EQ(run.flow(i).delivered, 1) << i;
    EXPECT_EQ(run.flow(i).aborts, 0) << i;
    EXPECT_EQ(run.delivered(i), 100'000) << i;
    const FlowCounters counters = run.fabric().flow(run.flow(i).footprint);
    EXPECT_EQ(counters.packets_sent - counters.retransmitted, 100) << i;
    again += counters.retransmitted;
    last = std::max(last, run.flow(i).end);
    EXPECT_EQ(run.port("h" + std::to_string(i + 1), "s0").drops, 0) << i;
  }
  EXPECT_GT(again, 0);
  // Each header takes 5.12 ns of that link too.
  const Duration least = 256_us + 2_us + 80_ns;
  EXPECT_GE(last - Time{}, least);
  // The last senders have a packet or two in flight when the queue is empty, and leave the link idle between them.
  EXPECT_LT((last - Time{}).seconds(), 1.10 * (least.seconds() + static_cast<double>(again) * 5.12e-9));
}

// Without trimming the same packets are lost, and timeouts bring them.
TEST(UecTest, WithoutTrimmingTimeoutsRepair) {
  PacketShape shape = testing::star_shape(33, 100_Gbps, 1_us);
  PacketSettings settings = uec_settings();
  settings.switches.trim_size.reset();
  PacketRun run{33, 1, shape.cables, settings, "entropy"};
  for (int h = 1; h <= 32; ++h) run.add("h" + std::to_string(h), "h0", 100_KB);
  run.run();
  std::int64_t drops = 0;
  std::int64_t again = 0;
  Time last;
  for (std::size_t i = 0; i < run.flows(); ++i) {
    EXPECT_EQ(run.delivered(i), 100'000) << i;
    again += run.fabric().flow(run.flow(i).footprint).retransmitted;
    drops += run.port("h" + std::to_string(i + 1), "s0").drops;
    last = std::max(last, run.flow(i).end);
  }
  EXPECT_GT(drops, 0);
  EXPECT_GE(again, drops);
  EXPECT_GT(last - Time{}, 258_us);  // that of all bytes
}

// N senders, one link of 100 Gb/s: Jain's index is (sum of rates)^2 / (N x sum of their squares), 1 where all are equal.
TEST(UecTest, FlowsShareFairly) {
  for (const int n : {2, 4, 8}) {
    PacketShape shape = testing::star_shape(n + 1, 100_Gbps, 1_us);
    PacketRun run{n + 1, 1, shape.cables, uec_settings(), "entropy"};
    for (int h = 1; h <= n; ++h) run.add("h" + std::to_string(h), "h0", 1_GB);
    double sum = 0;
    double squares = 0;
    for (const double rate : run.rates(Time{} + 5_ms, Time{} + 15_ms)) {
      EXPECT_NEAR(rate, 100.0 / n, 0.2 * 100 / n) << n;
      sum += rate;
      squares += rate * rate;
    }
    EXPECT_GT(sum * sum / (n * squares), 0.98) << n;
    EXPECT_GT(sum, 99) << n;
    EXPECT_LE(sum, 100.1) << n;
  }
}

// Two leaves, four spines: 4000 packets go evenly over the spines, each of 64 values being one of four ways by hash.
TEST(UecTest, EntropyValuesSpreadPackets) {
  PacketShape shape = testing::leaf_spine_shape(2, 1, 4, 100_Gbps, 100_Gbps, 1_us);
  const auto bytes_by_spine = [&](const PacketSettings& settings) {
    PacketRun run{shape.hosts, shape.switches, shape.cables, settings, "entropy"};
    run.add("h0", "h1", 4_MB);
    run.run();
    EXPECT_EQ(run.delivered(0), 4'000'000);
    std::vector<std::int64_t> bytes;
    for (int spine = 2; spine < 6; ++spine) bytes.push_back(run.port("s0", "s" + std::to_string(spine)).bytes);
    return bytes;
  };
  // 64 values in 4 bins: 16 each, give or take three times sqrt(64 x 1/4 x 3/4) = 3.5.
  for (const std::int64_t bytes : bytes_by_spine(uec_settings(DeliveryMode::kRud, 64)))
    EXPECT_NEAR(static_cast<double>(bytes), 1e6, 0.66e6);
  for (const PacketSettings& settings : {uec_settings(DeliveryMode::kRod), uec_settings(DeliveryMode::kRud, 1)}) {
    std::vector<std::int64_t> bytes = bytes_by_spine(settings);
    std::ranges::sort(bytes);
    EXPECT_EQ(bytes, (std::vector<std::int64_t>{0, 0, 0, 4'000'000}));
  }
}

// Reliable ordered delivery goes back to the packet that was trimmed.
TEST(UecTest, OrderedDeliveryGoesBack) {
  PacketShape shape = testing::star_shape(9, 100_Gbps, 1_us);
  PacketSettings settings = uec_settings(DeliveryMode::kRod);
  settings.transport.nak_interval = 10_us;
  PacketRun run{9, 1, shape.cables, settings, "entropy"};
  for (int h = 1; h <= 8; ++h) run.add("h" + std::to_string(h), "h0", 100_KB);
  run.run();
  run.fabric().check_conservation();
  std::int64_t again = 0;
  for (std::size_t i = 0; i < run.flows(); ++i) {
    EXPECT_EQ(run.flow(i).delivered, 1) << i;
    EXPECT_EQ(run.delivered(i), 100'000) << i;
    again += run.fabric().flow(run.flow(i).footprint).retransmitted;
  }
  EXPECT_GT(again, 0);
}

// Packets that a switch's failing cable takes come again by timeout, over the ways that are left.
TEST(UecTest, EntropyValuesAvoidAFailedCable) {
  PacketShape shape = testing::leaf_spine_shape(2, 1, 4, 100_Gbps, 100_Gbps, 1_us);
  PacketRun run{shape.hosts, shape.switches, shape.cables, uec_settings(), "entropy"};
  run.add("h0", "h1", 4_MB);
  run.run_until(Time{} + 50_us);
  const LinkId cable = run.link("s0", "s2");
  const LinkId both[] = {cable, run.topology().link(cable).twin};
  static_cast<Fabric&>(run.fabric()).set_link_state(run.router(), both, false, false);
  run.run();
  EXPECT_EQ(run.flow(0).delivered, 1);
  EXPECT_EQ(run.delivered(0), 4'000'000);
}

TEST(EntropiesTest, ARoundHasEveryValueOnce) {
  Entropies entropies{EntropySpreading::kOblivious, 8, 3};
  for (int round = 0; round < 5; ++round) {
    std::map<int, int> seen;
    for (int i = 0; i < 8; ++i) ++seen[entropies.next()];
    EXPECT_EQ(seen.size(), 8U);
  }
}

// A mark costs one turn, a trim four, fifteen at most.
TEST(EntropiesTest, CongestedValuesSitOut) {
  for (const auto& [how, times, turns] : {std::tuple{PathFeedback::kMarked, 1, 1}, std::tuple{PathFeedback::kTrimmed, 1, 4},
                                          std::tuple{PathFeedback::kTrimmed, 9, 15}, std::tuple{PathFeedback::kGood, 1, 0}}) {
    Entropies entropies{EntropySpreading::kBitmap, 4, 3};
    const std::uint16_t value = entropies.next();
    for (int i = 1; i < 4; ++i) entropies.next();
    for (int i = 0; i < times; ++i) entropies.feedback(value, how);
    // Each round has four turns; one that sits out is not drawn, so others fill it.
    int drawn = 0;
    int missed = 0;
    while (entropies.next() != value && drawn < 100) ++drawn;
    missed = drawn;
    if (turns == 0) {
      EXPECT_LT(missed, 4);
    } else {
      EXPECT_GE(missed, 3 * turns);
      EXPECT_LE(missed, 3 * turns + 6);
    }
  }
}

TEST(EntropiesTest, RepsTakesGoodValuesAgain) {
  Entropies entropies{EntropySpreading::kReps, 64, 3};
  entropies.feedback(17, PathFeedback::kMarked);
  entropies.feedback(5, PathFeedback::kGood);
  entropies.feedback(9, PathFeedback::kGood);
  EXPECT_EQ(entropies.next() & 63, 5);
  EXPECT_EQ(entropies.next() & 63, 9);
}

TEST(PacketsInFlightTest, CountsEachPacketOnce) {
  PacketsInFlight flight;
  EXPECT_EQ(flight.sent(0, 100), 100);
  EXPECT_EQ(flight.sent(1, 100), 100);
  EXPECT_EQ(flight.sent(2, 50), 50);
  EXPECT_EQ(flight.arrived(0, 2), 50);
  EXPECT_EQ(flight.arrived(0, 2), 0);
  EXPECT_EQ(flight.lost(1), 100);
  EXPECT_EQ(flight.lost(1), 0);
  EXPECT_EQ(flight.sent(1, 100), 100);
  EXPECT_EQ(flight.sent(1, 100), 0);  // again before anything is known: still one
  EXPECT_EQ(flight.arrived(3, 2), 200);
  EXPECT_EQ(flight.arrived(3, 1), 0);
  EXPECT_EQ(flight.sent(3, 10), 10);
  flight.all_lost();
  EXPECT_EQ(flight.arrived(4, 3), 0);
}

}  // namespace
}  // namespace weft::net
