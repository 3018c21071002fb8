#include <gtest/gtest.h>

#include <array>

#include "tests/network/congestion/congestion_support.h"

namespace weft::net {
namespace {

using namespace literals;

HopTelemetry stamp(Duration at, std::int64_t sent, std::int64_t queue) {
  return {.sent_bytes = sent, .queue_bytes = queue, .at = Time{} + at, .rate = 100_Gbps};
}

template <std::size_t kHops>
void ack(CongestionControl& control, std::int64_t acked, std::int64_t next, const std::array<HopTelemetry, kHops>& telemetry) {
  control.on_ack({.now = telemetry.back().at,
                  .rtt = 10_us,
                  .newly_acked = 1000_B,
                  .acked = acked,
                  .next = next,
                  .hops = static_cast<int>(kHops) + 1,
                  .telemetry = telemetry});
}

TEST(HpccTest, StartsAtLineRateWithTheBandwidthDelayProduct) {
  const auto control = make_control("hpcc", "{}", k100G);
  EXPECT_EQ(control->rate(), 100_Gbps);
  EXPECT_EQ(control->window(), 125'000_B);
}

// In 10 us the port could send 125'000 B and sent 100'000; 25'000 B waited at both stamps: u = 0.2 + 0.8. A whole T has passed,
// so U = u = 1, and R = 100 x 0.95 / 1 + 0.04.
TEST(HpccTest, RateFollowsTheUseOfTheHop) {
  const auto control = make_control("hpcc", "{}", k100G);
  ack<1>(*control, 1, 100, {stamp(0_us, 0, 25'000)});
  EXPECT_EQ(control->rate(), 100_Gbps);
  ack<1>(*control, 2, 101, {stamp(10_us, 100'000, 40'000)});  // the lesser of the two queues counts
  EXPECT_NEAR(control->state("utilisation"), 1, 1e-12);
  EXPECT_NEAR(control->state("rate_gbps"), 95.04, 1e-9);
  EXPECT_EQ(control->window(), 118'800_B);  // 95.04 Gb/s x 10 us
}

// U starts at 1. Half a round trip at u = 0.5: U = 0.5 x 1 + 0.5 x 0.5.
TEST(HpccTest, UtilisationIsAveragedOverARoundTrip) {
  const auto control = make_control("hpcc", "{}", k100G);
  ack<1>(*control, 1, 100, {stamp(0_us, 0, 0)});
  ack<1>(*control, 2, 101, {stamp(5_us, 31'250, 0)});
  EXPECT_NEAR(control->state("utilisation"), 0.75, 1e-12);
}

TEST(HpccTest, TheBusiestHopCounts) {
  const auto control = make_control("hpcc", "{}", k100G);
  ack<2>(*control, 1, 100, {stamp(0_us, 0, 0), stamp(1_us, 0, 0)});
  ack<2>(*control, 2, 101, {stamp(10_us, 62'500, 0), stamp(11_us, 125'000, 125'000)});
  EXPECT_NEAR(control->state("utilisation"), 1, 1e-12);  // the second: min(0, 125'000) waits, 1 sent
  ack<2>(*control, 3, 102, {stamp(20_us, 250'000, 0), stamp(21_us, 250'000, 125'000)});
  EXPECT_NEAR(control->state("utilisation"), 2, 1e-12);  // the second: one T waits, and 1 is sent; the first: 1.5
}

// Packet 100 is the one sent next at the first ACK: the ACKs before its own compute from the first reference.
TEST(HpccTest, ReferenceMovesOncePerRoundTrip) {
  const auto control = make_control("hpcc", "{}", k100G);
  ack<1>(*control, 1, 100, {stamp(0_us, 0, 125'000)});
  ack<1>(*control, 2, 101, {stamp(10_us, 125'000, 125'000)});
  EXPECT_NEAR(control->state("rate_gbps"), 100 * 0.95 / 2 + 0.04, 1e-9);
  ack<1>(*control, 100, 150, {stamp(20_us, 250'000, 125'000)});
  EXPECT_NEAR(control->state("rate_gbps"), 100 * 0.95 / 2 + 0.04, 1e-9);
  EXPECT_NEAR(control->state("reference_rate_gbps"), 100, 1e-9);
  ack<1>(*control, 101, 151, {stamp(30_us, 375'000, 125'000)});
  EXPECT_NEAR(control->state("reference_rate_gbps"), 47.54, 1e-9);
  ack<1>(*control, 102, 152, {stamp(40_us, 500'000, 125'000)});
  EXPECT_NEAR(control->state("rate_gbps"), 47.54 * 0.95 / 2 + 0.04, 1e-9);
}

// Below eta the rate grows by R_AI for max_stage round trips, then by what is free.
TEST(HpccTest, AdditiveStagesComeBeforeTheMultiplicativeOne) {
  const auto control = make_control("hpcc", "{max_stage: 2, r_ai: 1 Gb/s}", k100G);
  ack<1>(*control, 1, 2, {stamp(0_us, 0, 125'000)});
  ack<1>(*control, 3, 4, {stamp(10_us, 125'000, 125'000)});
  double rate = 100 * 0.95 / 2 + 1;
  EXPECT_NEAR(control->state("rate_gbps"), rate, 1e-9);
  ack<1>(*control, 5, 6, {stamp(20_us, 187'500, 0)});  // half used from here on
  ack<1>(*control, 7, 8, {stamp(30_us, 250'000, 0)});
  rate += 2;
  EXPECT_NEAR(control->state("rate_gbps"), rate, 1e-9);
  EXPECT_EQ(control->state("stage"), 2);
  ack<1>(*control, 9, 10, {stamp(40_us, 312'500, 0)});
  EXPECT_NEAR(control->state("rate_gbps"), rate * 0.95 / 0.5 + 1, 1e-9);
  EXPECT_EQ(control->state("stage"), 0);
}

TEST(HpccTest, StampsThatAreNotNewerAreIgnored) {
  const auto control = make_control("hpcc", "{}", k100G);
  ack<1>(*control, 1, 100, {stamp(10_us, 125'000, 0)});
  ack<1>(*control, 2, 101, {stamp(10_us, 125'000, 0)});
  ack<1>(*control, 3, 102, {stamp(5_us, 62'500, 0)});
  EXPECT_EQ(control->rate(), 100_Gbps);
}

TEST(HpccTest, WindowNeverFallsBelowAPacketNorTheRateBelowItsMinimum) {
  const auto control = make_control("hpcc", "{min_rate: 500 Mb/s, r_ai: 0 Mb/s}", k100G);
  ack<1>(*control, 1, 2, {stamp(0_us, 0, 125'000'000)});
  ack<1>(*control, 3, 4, {stamp(10_us, 125'000, 125'000'000)});  // U = 1001
  EXPECT_EQ(control->rate(), Bandwidth::from_bits_per_second(500'000'000));
  EXPECT_EQ(control->window(), 1000_B);  // 500 Mb/s x 10 us are 625 B
}

TEST(HpccTest, NeedsAcksWithTelemetry) {
  const CongestionNeeds needs = make_factory("hpcc", "{}")->needs();
  EXPECT_TRUE(needs.acks && needs.telemetry);
  EXPECT_FALSE(needs.cnps);
}

// models/network §7, K17: at the fixed point W (1 - eta/U) = W_AI for each flow, and the flows together use U of the link.
TEST(HpccTest, FixedPointIsEtaPlusTheSumOfAllAdditiveIncreases) {
  const CongestionContext context{.line_rate = 100_Gbps, .base_rtt = 13_us, .packet = 1000_B, .hops = 2};
  for (const int flows : {2, 20, 60}) {
    FluidLink link{100_Gbps, 13_us, 500_ns, 1000_B};
    for (int i = 0; i < flows; ++i) link.add(make_control("hpcc", "{r_ai: 50 Mb/s}", context));
    link.run(30_ms);
    link.run(10_ms);
    const double expected = 0.95 + flows * 0.0005;
    EXPECT_NEAR(link.utilisation(), expected, 0.001) << flows;
    for (int i = 0; i < flows; ++i) {
      EXPECT_NEAR(link.gbps(static_cast<std::size_t>(i)), expected * 100 / flows, expected / flows) << flows;
    }
    EXPECT_LT(link.mean_queue(), 1'000) << flows;
  }
}

TEST(HpccTest, TwoFlowsConvergeToEqualShares) {
  FluidLink link{100_Gbps, 10_us, 500_ns, 1000_B};
  link.add(make_control("hpcc", "{r_ai: 200 Mb/s}", k100G));
  link.run(5_ms);
  EXPECT_NEAR(link.utilisation(), 0.952, 0.002);
  link.add(make_control("hpcc", "{r_ai: 200 Mb/s}", k100G));
  link.run(40_ms);
  link.run(10_ms);
  EXPECT_NEAR(link.gbps(0), 47.7, 0.5);
  EXPECT_NEAR(link.gbps(1), 47.7, 0.5);
}

}  // namespace
}  // namespace weft::net
