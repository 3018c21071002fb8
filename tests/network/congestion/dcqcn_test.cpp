#include <gtest/gtest.h>

#include <cmath>

#include "sim/core/error.h"
#include "tests/network/congestion/congestion_support.h"
#include "tests/support/moments.h"

namespace weft::net {
namespace {

using namespace literals;
using weft::testing::at;

constexpr CongestionContext k40G{.line_rate = 40_Gbps, .base_rtt = 4_us, .packet = 1000_B, .hops = 2};

double rate_at(CongestionControl& control, Time now) {
  control.advance(now);
  return control.state("rate_gbps");
}

// models/network §7, K15.
TEST(DcqcnTest, StepResponseToOneCnpIsThatOfThePaper) {
  const auto control = make_control("dcqcn", "{}", k40G);
  EXPECT_EQ(control->rate(), 40_Gbps);
  EXPECT_EQ(control->next_update(), Time::max());
  control->on_cnp(Time{});
  EXPECT_EQ(control->rate(), 20_Gbps);
  EXPECT_DOUBLE_EQ(control->state("alpha"), 1.0);
  double expected_before = 20;
  Duration due = 0_us;
  for (const double expected : {30.0, 35.0, 37.5, 38.75, 39.375, 39.6875}) {
    due += 55_us;
    EXPECT_EQ(control->next_update(), at(due));
    EXPECT_NEAR(rate_at(*control, at(due - 1_ps)), expected_before, 1e-6);
    EXPECT_NEAR(rate_at(*control, at(due)), expected, 1e-6);
    expected_before = expected;
  }
}

TEST(DcqcnTest, TimersCaughtUpAtOnceGiveTheSameAsOneByOne) {
  const auto stepped = make_control("dcqcn", "{}", k40G);
  const auto late = make_control("dcqcn", "{}", k40G);
  stepped->on_cnp(Time{});
  late->on_cnp(Time{});
  for (std::int64_t us = 0; us <= 600; ++us) stepped->advance(at(us * 1_us));
  late->advance(at(600_us));
  for (const char* name : {"rate_gbps", "target_rate_gbps", "alpha", "timer_count"}) {
    EXPECT_EQ(stepped->state(name), late->state(name)) << name;
  }
}

TEST(DcqcnTest, AlphaDecaysByOneFactorEachPeriodAndRisesWithACnp) {
  const auto control = make_control("dcqcn", "{}", k40G);
  control->on_cnp(Time{});
  for (int k = 1; k <= 20; ++k) {
    control->advance(at(k * 55_us - 1_ps));
    EXPECT_NEAR(control->state("alpha"), std::pow(255.0 / 256, k - 1), 1e-9) << k;
    control->advance(at(k * 55_us));
    EXPECT_NEAR(control->state("alpha"), std::pow(255.0 / 256, k), 1e-9) << k;
    if (k == 10) {
      EXPECT_NEAR(control->state("alpha"), 0.96162, 5e-6);
    }
  }
  const double alpha = control->state("alpha");
  const double rate = control->state("rate_gbps");
  control->on_cnp(at(1'101_us));
  EXPECT_NEAR(control->state("rate_gbps"), rate * (1 - alpha / 2), 1e-9);
  EXPECT_NEAR(control->state("target_rate_gbps"), rate, 1e-9);
  EXPECT_NEAR(control->state("alpha"), 255.0 / 256 * alpha + 1.0 / 256, 1e-12);
}

TEST(DcqcnTest, ACnpRestartsBothTimers) {
  const auto control = make_control("dcqcn", "{}", k40G);
  control->on_cnp(Time{});
  control->on_cnp(at(50_us));  // 20 to 10, target 20
  EXPECT_NEAR(rate_at(*control, at(105_us - 1_ps)), 10, 1e-9);
  EXPECT_DOUBLE_EQ(control->state("alpha"), 1.0);
  EXPECT_NEAR(rate_at(*control, at(105_us)), 15, 1e-9);
  EXPECT_NEAR(control->state("alpha"), 255.0 / 256, 1e-12);
}

TEST(DcqcnTest, ATimerThatIsDueWithACnpFiresFirst) {
  const auto control = make_control("dcqcn", "{}", k40G);
  control->on_cnp(Time{});
  control->on_cnp(at(55_us));  // first 20 to 30 and alpha to 255/256, then the cut
  EXPECT_NEAR(control->state("rate_gbps"), 30 * (1 - 255.0 / 512), 1e-9);
  EXPECT_NEAR(control->state("target_rate_gbps"), 30, 1e-9);
}

// Two CNPs leave the target at 20. Five expiries of the timer halve the gap, each further one adds R_AI first.
TEST(DcqcnTest, AdditiveIncreaseBeginsAfterFastRecovery) {
  const auto control = make_control("dcqcn", "{r_ai: 400 Mb/s}", k40G);
  control->on_cnp(Time{});
  control->on_cnp(Time{});
  double rate = 10;
  for (int k = 1; k <= 5; ++k) rate = (20 + rate) / 2;
  EXPECT_NEAR(rate_at(*control, at(5 * 55_us)), rate, 1e-9);
  EXPECT_NEAR(control->state("target_rate_gbps"), 20, 1e-9);
  EXPECT_NEAR(rate_at(*control, at(6 * 55_us)), (20.4 + rate) / 2, 1e-9);
  EXPECT_NEAR(control->state("target_rate_gbps"), 20.4, 1e-9);
}

// 60 kB of 10 kB each after the cut: the sixth increase of the counter is beyond F, as is the sixth of the timer.
TEST(DcqcnTest, HyperIncreaseNeedsBothTimerAndByteCounter) {
  for (const bool scaled : {true, false}) {
    const auto control = make_control(
        "dcqcn", std::string{"{byte_counter: 10 kB, r_ai: 100 Mb/s, r_hai: 1 Gb/s, hyper: "} + (scaled ? "scaled}" : "plain}"),
        k40G);
    control->on_cnp(Time{});
    control->on_cnp(Time{});
    control->on_sent(at(1_us), 50'000_B);
    EXPECT_EQ(control->state("byte_count"), 5);
    EXPECT_NEAR(control->state("target_rate_gbps"), 20, 1e-9);
    control->on_sent(at(2_us), 9'999_B);
    EXPECT_NEAR(control->state("target_rate_gbps"), 20, 1e-9);
    control->on_sent(at(2_us), 1_B);  // 6 of the counter, none of the timer: additive
    EXPECT_NEAR(control->state("target_rate_gbps"), 20.1, 1e-9);
    control->advance(at(5 * 55_us));  // max is 6, min is up to 5: additive five times
    EXPECT_NEAR(control->state("target_rate_gbps"), 20.6, 1e-9);
    control->advance(at(6 * 55_us));  // 6 and 6: one beyond F
    EXPECT_NEAR(control->state("target_rate_gbps"), 21.6, 1e-9);
    control->on_sent(at(331_us), 10'000_B);  // 7 and 6: still one
    EXPECT_NEAR(control->state("target_rate_gbps"), 22.6, 1e-9);
    control->advance(at(7 * 55_us));  // 7 and 7: two
    EXPECT_NEAR(control->state("target_rate_gbps"), scaled ? 24.6 : 23.6, 1e-9);
  }
}

TEST(DcqcnTest, ByteCounterOfZeroIsNone) {
  const auto control = make_control("dcqcn", "{byte_counter: 0 B}", k40G);
  control->on_cnp(Time{});
  control->on_sent(at(1_us), 1_GB);
  EXPECT_EQ(control->rate(), 20_Gbps);
}

TEST(DcqcnTest, RecoversToLineRateAndThenNeedsNoTimer) {
  const auto control = make_control("dcqcn", "{}", k40G);
  control->on_cnp(Time{});
  // The gap of 20 Gb/s halves each time: below half a bit per second after log2(40e9) = 35.2 steps.
  control->advance(at(35 * 55_us));
  EXPECT_EQ(control->next_update(), at(36 * 55_us));
  control->advance(at(36 * 55_us));
  EXPECT_EQ(control->rate(), 40_Gbps);
  EXPECT_EQ(control->next_update(), Time::max());
  control->advance(at(1_s));
  EXPECT_NEAR(control->state("alpha"), 0, 1e-15);
  control->on_cnp(at(1_s));  // alpha is back near 0: the cut is too small to see, and timers run again
  EXPECT_EQ(control->rate(), 40_Gbps);
  EXPECT_NEAR(control->state("alpha"), 1.0 / 256, 1e-12);
}

TEST(DcqcnTest, TargetKeepsItsValueWithoutAnIncreaseSinceTheLastCutWhereAskedTo) {
  const auto control = make_control("dcqcn", "{clamp_target: after_increase}", k40G);
  control->on_cnp(Time{});
  control->on_cnp(at(50_us));
  EXPECT_NEAR(control->state("rate_gbps"), 10, 1e-9);
  EXPECT_NEAR(control->state("target_rate_gbps"), 40, 1e-9);
  control->advance(at(105_us));
  EXPECT_NEAR(control->state("rate_gbps"), 25, 1e-9);
  control->on_cnp(at(106_us));
  EXPECT_NEAR(control->state("target_rate_gbps"), 25, 1e-9);
}

TEST(DcqcnTest, NeverBelowTheMinimum) {
  const auto control = make_control("dcqcn", "{min_rate: 3 Gb/s}", k40G);
  for (int k = 0; k < 3; ++k) control->on_cnp(Time{});
  EXPECT_EQ(control->rate(), 5_Gbps);
  control->on_cnp(Time{});
  EXPECT_EQ(control->rate(), 3_Gbps);
}

// R_AI is a thousandth of the line, R_HAI ten times R_AI.
TEST(DcqcnTest, IncreasesScaleWithTheLine) {
  const auto control = make_control("dcqcn", "{}", {.line_rate = 400_Gbps, .base_rtt = 4_us, .packet = 1000_B, .hops = 2});
  control->on_cnp(Time{});
  control->on_cnp(Time{});
  control->advance(at(6 * 55_us));
  EXPECT_NEAR(control->state("target_rate_gbps"), 200.4, 1e-9);
}

TEST(DcqcnTest, UnknownStatesAreNotNumbers) {
  EXPECT_TRUE(std::isnan(make_control("dcqcn", "{}", k40G)->state("window_packets")));
}

TEST(DcqcnTest, BadParametersAreRefused) {
  for (const char* yaml : {"{g: 0}", "{g: 1.5}", "{rate_timer: 0 us}", "{hyper: fast}", "{r_ai: 5}", "{initial_alpha: 2}"}) {
    EXPECT_THROW(make_factory("dcqcn", yaml), ConfigError) << yaml;
  }
}

TEST(DcqcnTest, NeedsNotificationsOnly) {
  const CongestionNeeds needs = make_factory("dcqcn", "{}")->needs();
  EXPECT_TRUE(needs.cnps);
  EXPECT_FALSE(needs.acks || needs.telemetry);
}

// The paper's marking at 40 Gb/s; one sender begins at half of the line, the other at all of it. The queue of packets that K16
// (models/network §7) gives is 24 KB +-30 %.
TEST(DcqcnTest, TwoFlowsConvergeToEqualShares) {
  FluidLink link{40_Gbps, 4_us, 1_us, 1000_B, {.kmin = 5e3, .kmax = 200e3, .pmax = 0.01, .cnp_interval = 50_us}};
  for (int i = 0; i < 2; ++i) link.add(make_control("dcqcn", "{}", k40G));
  link.control(0).on_cnp(Time{});
  link.run(50_ms);
  link.run(100_ms);
  EXPECT_NEAR(link.gbps(0), 20, 0.6);
  EXPECT_NEAR(link.gbps(1), 20, 0.6);
  EXPECT_GT(link.utilisation(), 0.98);
  EXPECT_NEAR(link.mean_queue(), 24e3, 0.3 * 24e3);
}

}  // namespace
}  // namespace weft::net
