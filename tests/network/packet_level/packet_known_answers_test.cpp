// The known answers of models/network §7 that need packets: times and rates under its conventions (packets of 1000 bytes on the
// wire, store-and-forward switches that take no time, free acknowledgements, greedy sources).
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/moments.h"
#include "tests/support/packet_run.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::PacketRun;
using Cable = PacketRun::Cable;
using weft::testing::at;

PacketSettings pfc(Bytes xoff, Bytes xon) {
  PacketSettings settings;
  settings.pfc.priorities = 0xFF;
  settings.pfc.xoff = xoff;
  settings.pfc.xon = xon;
  return settings;
}

// `sources` hosts and one sink (the last host) on one switch.
std::vector<Cable> incast(int sources, Duration latency, Bandwidth rate = 100_Gbps) {
  std::vector<Cable> cables;
  for (int i = 0; i <= sources; ++i) cables.push_back({"h" + std::to_string(i), "s0", rate, latency});
  return cables;
}

TEST(PacketKnownAnswersTest, K1SingleFlow) {
  PacketRun run{2, 2, {{"h0", "s0"}, {"s0", "s1"}, {"s1", "h1"}}};
  run.add("h0", "h1", 10_MB);
  run.run();
  // S/C + (h-1) P/C + 3 d
  EXPECT_EQ(run.taken(0), 800_us + 160_ns + 3_us);
}

TEST(PacketKnownAnswersTest, K2StoreAndForwardAndCutThrough) {
  const auto once = [](bool store_and_forward) {
    std::vector<Cable> cables;
    const std::vector<std::string> path = {"h0", "s0", "s1", "s2", "s3", "h1"};
    for (std::size_t i = 0; i + 1 < path.size(); ++i) cables.push_back({path[i], path[i + 1], 400_Gbps, 25_ns});
    PacketRun run{2, 4, cables, {}, "ecmp", 4178_B, testing::plain_switch("s", store_and_forward, 64_B, 300_ns)};
    run.add("h0", "h1", 4178_B);
    run.run();
    return run.taken(0);
  };
  EXPECT_EQ(once(true), 1742800_ps);
  EXPECT_EQ(once(false), 1413680_ps);
}

TEST(PacketKnownAnswersTest, K3TwoFlowsShareALink) {
  PacketRun run{3, 1, incast(2, 1_us)};
  run.add("h0", "h2", 1_MB);
  run.add("h1", "h2", 2_MB);
  run.run();
  EXPECT_NEAR(run.taken(0).us(), 162.00, 0.1);
  EXPECT_NEAR(run.taken(1).us(), 242.08, 0.1);
}

TEST(PacketKnownAnswersTest, K4ParkingLot) {
  std::vector<Cable> cables = {{"s0", "s1"}, {"s1", "s2"}, {"s2", "s3"}};
  // h0 -> h1 on all three; h2 -> h3, h4 -> h5, h6 -> h7 on one each.
  for (const auto& [host, leaf] :
       std::vector<std::pair<int, int>>{{0, 0}, {1, 3}, {2, 0}, {3, 1}, {4, 1}, {5, 2}, {6, 2}, {7, 3}})
    cables.push_back({"h" + std::to_string(host), "s" + std::to_string(leaf)});
  for (Cable& cable : cables) cable.latency = 500_ns;
  PacketRun run{8, 4, cables, pfc(100_KB, 97_KB)};
  for (int i = 0; i < 8; i += 2) run.add("h" + std::to_string(i), "h" + std::to_string(i + 1), 1_GB);
  const std::vector<double> gbps = run.rates(at(1_ms), at(5_ms));
  const std::vector<double> expected = {47.5, 47.5, 51.3, 52.5};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(gbps[i], expected[i], 3.0) << i;
  for (std::size_t i = 1; i < 4; ++i) EXPECT_GE(gbps[0] + gbps[i], 94.0) << i;
}

class IncastTest : public ::testing::TestWithParam<int> {};

// Onset at the source: d + P/C + X_off / (C (1 - 1/n)) + d; peak at most X_off + 2 d C + 2 P; the sink's link stays busy.
TEST_P(IncastTest, K8AndK9PauseOnsetAndHeadroom) {
  const int n = GetParam();
  PacketSettings settings = pfc(100_KB, 97_KB);
  settings.pfc.headroom = 12'500_B + 2'000_B;  // 2 d C + 2 P
  PacketRun run{n + 1, 1, incast(n, 500_ns), settings};
  for (int i = 0; i < n; ++i) run.add("h" + std::to_string(i), "h" + std::to_string(n), 1_GB);
  const std::vector<double> gbps = run.rates(at(1_ms), at(3_ms));
  double total = 0;
  for (const double rate : gbps) {
    EXPECT_NEAR(rate, 100.0 / n, 2.0 / n);
    total += rate;
  }
  EXPECT_GE(total, 99.0);
  const double onset_us = 0.5 + 0.08 + 8.0 / (1.0 - 1.0 / n) + 0.5;
  for (int i = 0; i < n; ++i) {
    const LinkId link = run.link("h" + std::to_string(i), "s0");
    const auto& pauses = run.fabric().pauses();
    const auto first = std::ranges::find(pauses, link, &PauseRecord::link);
    ASSERT_NE(first, pauses.end());
    EXPECT_NEAR(first->start.since_start().us(), onset_us, 0.2);
    EXPECT_LE(run.fabric().port(link).peak_ingress_bytes, 100'000 + 14'500);
    EXPECT_EQ(run.fabric().port(link).drops, 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Sources, IncastTest, ::testing::Values(2, 4, 8));

TEST(PacketKnownAnswersTest, K9TooLittleHeadroomDrops) {
  PacketSettings settings = pfc(100_KB, 97_KB);
  settings.pfc.headroom = 6'250_B;  // d C
  PacketRun run{9, 1, incast(8, 500_ns), settings};
  for (int i = 0; i < 8; ++i) run.add("h" + std::to_string(i), "h8", 1_GB);
  run.run_until(at(1_ms));
  std::int64_t drops = 0;
  for (int i = 0; i < 8; ++i) drops += run.port("h" + std::to_string(i), "s0").drops;
  EXPECT_GT(drops, 0);
}

TEST(PacketKnownAnswersTest, K10PauseStormOnAChain) {
  PacketRun run{2, 3, {{"h0", "s0"}, {"s0", "s1"}, {"s1", "s2"}, {"s2", "h1"}}, pfc(100_KB, 97_KB)};
  run.fabric().force_pause({.link = run.link("s2", "h1"), .priority = 0, .at = at(20_us)});
  run.add("h0", "h1", 1_GB);
  run.run_until(at(200_us));
  const auto onset = [&](const std::string& from, const std::string& to) {
    return std::ranges::find(run.fabric().pauses(), run.link(from, to), &PauseRecord::link)->start.since_start().us();
  };
  EXPECT_NEAR(onset("s1", "s2"), 29.04, 0.16);
  EXPECT_NEAR(onset("s0", "s1"), 38.04, 0.16);
  EXPECT_NEAR(onset("h0", "s0"), 47.04, 0.16);
  // X_off + 2 d C + P
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"h0", "s0"}, {"s0", "s1"}, {"s1", "s2"}})
    EXPECT_NEAR(static_cast<double>(run.port(from, to).peak_ingress_bytes), 126'000, 1'000);
  EXPECT_NEAR(static_cast<double>(run.delivered(0)), 210'000, 1'000);
}

TEST(PacketKnownAnswersTest, K11PfcSharesByPortNotByFlow) {
  std::vector<Cable> cables = {{"s0", "s1"}, {"h0", "s0"}, {"h1", "s0"}, {"h2", "s0"}, {"h3", "s1"}, {"h4", "s1"}};
  for (Cable& cable : cables) cable.rate = 40_Gbps, cable.latency = 500_ns;
  PacketRun run{5, 2, cables, pfc(100_KB, 97_KB)};
  for (int i = 0; i < 4; ++i) run.add("h" + std::to_string(i), "h4", 1_GB);
  const std::vector<double> gbps = run.rates(at(5_ms), at(25_ms));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(gbps[i], 20.0 / 3, 0.0667);
  EXPECT_NEAR(gbps[3], 20.0, 0.2);
}

class VictimTest : public ::testing::TestWithParam<int> {};

TEST_P(VictimTest, K12VictimFlow) {
  const int m = GetParam();
  // h0 hot, h1 victim on s0; h2.. the other hot senders, then the hot and the idle receiver on s1.
  std::vector<Cable> cables = {{"s0", "s1"}, {"h0", "s0"}, {"h1", "s0"}};
  const int hot = m + 1;
  const int idle = m + 2;
  for (int i = 2; i <= idle; ++i) cables.push_back({"h" + std::to_string(i), "s1"});
  for (Cable& cable : cables) cable.latency = 500_ns;
  PacketRun run{m + 3, 2, cables, pfc(100_KB, 97_KB)};
  run.add("h0", "h" + std::to_string(hot), 1_GB);
  run.add("h1", "h" + std::to_string(idle), 1_GB);
  for (int i = 2; i < hot; ++i) run.add("h" + std::to_string(i), "h" + std::to_string(hot), 1_GB);
  const std::vector<double> gbps = run.rates(at(2_ms), at(8_ms));
  EXPECT_NEAR(gbps[1], 100.0 / m, 0.08 * 100.0 / m);
  EXPECT_NEAR(gbps[0], gbps[1], 0.02 * gbps[1]);
}
INSTANTIATE_TEST_SUITE_P(Ports, VictimTest, ::testing::Values(2, 4, 8));

class DynamicThresholdTest : public ::testing::TestWithParam<int> {};

// n ingress queues behind a paused egress stop at alpha B / (1 + n alpha).
TEST_P(DynamicThresholdTest, K13DynamicThreshold) {
  const int n = GetParam();
  PacketSettings settings;
  settings.switches.buffer = 12_MB;
  settings.pfc.priorities = 0xFF;
  settings.pfc.dynamic = true;
  settings.pfc.alpha = 0.125;
  PacketRun run{n + 1, 1, incast(n, 10_ns), settings};
  run.fabric().force_pause({.link = run.link("s0", "h" + std::to_string(n)), .priority = -1, .at = Time{}});
  for (int i = 0; i < n; ++i) run.add("h" + std::to_string(i), "h" + std::to_string(n), 12_MB);
  run.run_until(at(5_ms));
  for (int i = 0; i < n; ++i) {
    EXPECT_NEAR(static_cast<double>(run.fabric().ingress_bytes(run.link("h" + std::to_string(i), "s0"))),
                0.125 * 12e6 / (1 + 0.125 * n), 2'000 + 250);  // and 2 d C that was on its way
  }
}
INSTANTIATE_TEST_SUITE_P(Queues, DynamicThresholdTest, ::testing::Values(1, 8, 24));

class CreditTest : public ::testing::TestWithParam<std::pair<std::int64_t, double>> {};

// The loop is P/C + 2 d + 8 B of update = 2084.8 ns; as many whole packets go in one as there are credits for.
TEST_P(CreditTest, K18CreditLimitedLink) {
  const auto [credits, gbps] = GetParam();
  PacketSettings settings;
  settings.credits.enabled = true;
  settings.credits.credits = credits;
  PacketRun run{2, 0, {{"h0", "h1", 200_Gbps, 1_us}}, settings, "ecmp", 2112_B};
  run.add("h0", "h1", 1_GB);
  EXPECT_NEAR(run.rates(at(100_us), at(1_ms))[0], gbps, 0.005 * gbps);
}
INSTANTIATE_TEST_SUITE_P(Credits, CreditTest,
                         ::testing::Values(std::pair{132, 32.417}, std::pair{131, 24.313}, std::pair{825, 200.0}));

TEST(PacketKnownAnswersTest, K19WindowLimitedFlow) {
  const auto rate = [](Bytes window) {
    PacketSettings settings;
    settings.transport.window = window;
    settings.transport.acks = AckMode::kPackets;
    settings.transport.ack_size = 84_B;
    PacketRun run{2, 2, {{"h0", "s0"}, {"s0", "s1"}, {"s1", "h1"}}, settings};
    run.add("h0", "h1", 1_GB);
    return run.rates(at(100_us), at(1_ms))[0];
  };
  EXPECT_NEAR(rate(50_KB), 63.90, 0.64);
  EXPECT_NEAR(rate(100_KB), 100.0, 0.5);
}

TEST(PacketKnownAnswersTest, K20DeficitRoundRobin) {
  const auto rates = [](Scheduling scheduling, Bytes other_packet) {
    PacketSettings settings;
    settings.switches.scheduling = scheduling;
    settings.switches.weights[1] = 3;
    PacketRun run{3, 1, incast(2, 1_us), settings};
    FlowTransport transport;
    transport.payload = other_packet;
    run.add("h0", "h2", 1_GB, 1);
    run.add("h1", "h2", 1_GB, 0, &transport);
    return run.rates(at(100_us), at(1100_us));
  };
  for (const Bytes packet : {1_KB, 4_KB}) {
    const std::vector<double> shared = rates(Scheduling::kDwrr, packet);
    EXPECT_NEAR(shared[0], 75.0, 0.5);
    EXPECT_NEAR(shared[1], 25.0, 0.5);
  }
  const std::vector<double> strict = rates(Scheduling::kStrict, 1_KB);
  EXPECT_NEAR(strict[0], 100.0, 0.5);
  EXPECT_NEAR(strict[1], 0.0, 0.5);
}

// models/network §3.6: (1-p)/(1+(W-1)p) at random, k/(k+W) where one packet in k is lost; W packets leave per round trip.
TEST(PacketKnownAnswersTest, GoBackNGoodput) {
  PacketSettings settings;
  settings.transport.acks = AckMode::kFree;
  PacketRun run{2, 1, {{"h0", "s0"}, {"s0", "h1"}}, settings};
  run.fabric().add_drop_rule({.link = run.link("s0", "h1"), .every = 256});
  run.add("h0", "h1", 100_MB);
  run.run();
  // From a packet's first transmission to its second: it would have arrived after 2 d + 2 P/C, the next one, a packet later, is
  // answered with a NAK, which takes 2 d back.
  const double wasted = (2'000 + 160 + 80 + 2'000) / 80.0;
  const double goodput = 100e6 * 8 / (run.taken(0).seconds() * 100e9);
  EXPECT_NEAR(goodput, 256 / (256 + wasted), 0.004);
  EXPECT_GT(run.fabric().flow(run.flow(0).footprint).retransmitted, 0);
}

}  // namespace
}  // namespace weft::net
