#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "tests/network/congestion/congestion_support.h"

namespace weft::net {
namespace {

using namespace literals;

// At 10 Gb/s delta is 10 Mb/s and the step of hyper increase 50 Mb/s.
constexpr CongestionContext k10G{.line_rate = 10_Gbps, .base_rtt = 10_us, .packet = 1000_B, .hops = 2};

double rate_after(CongestionControl& control, Duration rtt, Bytes acked = 64'000_B) {
  AckEvent ack;
  ack.rtt = rtt;
  ack.newly_acked = acked;
  control.on_ack(ack);
  return control.state("rate_gbps");
}

TEST(TimelyTest, GrowsByDeltaBelowTheLowThreshold) {
  const auto control = make_control("timely", "{initial_rate: 5 Gb/s}", k10G);
  EXPECT_NEAR(rate_after(*control, 20_us), 5, 1e-9);  // no gradient yet
  EXPECT_NEAR(rate_after(*control, 50_us - 1_ps), 5.01, 1e-9);
}

TEST(TimelyTest, OneSampleForEverySegment) {
  const auto control = make_control("timely", "{initial_rate: 5 Gb/s}", k10G);
  rate_after(*control, 20_us);
  EXPECT_NEAR(rate_after(*control, 20_us, 63'999_B), 5, 1e-9);
  EXPECT_NEAR(rate_after(*control, 20_us, 1_B), 5.01, 1e-9);
  const auto every = make_control("timely", "{initial_rate: 5 Gb/s, segment: 0 B}", k10G);
  rate_after(*every, 20_us, 1_B);
  EXPECT_NEAR(rate_after(*every, 20_us, 1_B), 5.01, 1e-9);
}

// R x (1 - 0.8 (1 - 500/1000)) = 0.6 R
TEST(TimelyTest, ShrinksAboveTheHighThreshold) {
  const auto control = make_control("timely", "{initial_rate: 5 Gb/s}", k10G);
  rate_after(*control, 1000_us);
  EXPECT_NEAR(rate_after(*control, 1000_us), 3, 1e-9);
}

// From 100 to 101 us: difference 0.875 us, gradient 0.04375, R x (1 - 0.8 x 0.04375). Then again 101: difference 0.109375 us.
TEST(TimelyTest, FollowsTheGradientBetweenTheThresholds) {
  const auto control = make_control("timely", "{initial_rate: 5 Gb/s}", k10G);
  rate_after(*control, 100_us);
  double rate = 5 * (1 - 0.8 * 0.04375);
  EXPECT_NEAR(rate_after(*control, 101_us), rate, 1e-9);
  EXPECT_NEAR(control->state("gradient"), 0.04375, 1e-12);
  rate *= 1 - 0.8 * 0.109375 / 20;
  EXPECT_NEAR(rate_after(*control, 101_us), rate, 1e-9);
}

TEST(TimelyTest, FifthSampleInARowWithoutARiseStartsHyperIncrease) {
  const auto control = make_control("timely", "{initial_rate: 5 Gb/s}", k10G);
  rate_after(*control, 100_us);
  for (int k = 1; k <= 4; ++k) EXPECT_NEAR(rate_after(*control, 100_us), 5 + k * 0.01, 1e-9);
  EXPECT_NEAR(rate_after(*control, 100_us), 5.09, 1e-9);
  EXPECT_NEAR(rate_after(*control, 100_us), 5.14, 1e-9);
  EXPECT_NEAR(rate_after(*control, 49_us), 5.15, 1e-9);  // another branch breaks the row
  EXPECT_NEAR(rate_after(*control, 49_us), 5.16, 1e-9);
  EXPECT_NEAR(rate_after(*control, 50_us - 1_ps), 5.17, 1e-9);
}

TEST(TimelyTest, StaysBetweenMinimumAndLine) {
  const auto control = make_control("timely", "{min_rate: 1 Gb/s}", k10G);
  EXPECT_NEAR(rate_after(*control, 20_us), 10, 1e-9);
  EXPECT_NEAR(rate_after(*control, 20_us), 10, 1e-9);
  EXPECT_NEAR(rate_after(*control, 200_us), 1, 1e-9);  // gradient 7.9: the factor would be negative
}

TEST(TimelyTest, ThresholdsMustBeInOrder) {
  EXPECT_THROW(make_factory("timely", "{t_low: 100 us, t_high: 99 us}"), ConfigError);
  EXPECT_NO_THROW(make_factory("timely", "{t_low: 100 us, t_high: 100 us}"));
}

// With one threshold it is additive increase and multiplicative decrease, which is fair (Chiu and Jain, 1989).
TEST(TimelyTest, TwoFlowsConvergeToEqualSharesWithoutTheGradient) {
  FluidLink link{10_Gbps, 10_us, 1_us, 1000_B};
  for (const char* start : {"8 Gb/s", "2 Gb/s"})
    link.add(make_control("timely", std::string{"{t_low: 50 us, t_high: 50 us, segment: 16 kB, initial_rate: "} + start + "}",
                          k10G));
  link.run(100_ms);
  link.run(50_ms);
  EXPECT_NEAR(link.gbps(0) / link.gbps(1), 1, 0.05);
  EXPECT_GT(link.utilisation(), 0.95);
}

// Between the thresholds every split of the link is a fixed point: the round trip stands still, whoever sends how much.
TEST(TimelyTest, GradientAloneKeepsWhateverSharesThereAre) {
  const auto fast = make_control("timely", "{initial_rate: 8 Gb/s, delta: 0 Mb/s}", k10G);
  const auto slow = make_control("timely", "{initial_rate: 2 Gb/s, delta: 0 Mb/s}", k10G);
  for (int k = 0; k < 100; ++k) {
    EXPECT_NEAR(rate_after(*fast, 100_us), 8, 1e-9);
    EXPECT_NEAR(rate_after(*slow, 100_us), 2, 1e-9);
  }
}

}  // namespace
}  // namespace weft::net
