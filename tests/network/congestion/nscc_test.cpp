#include <gtest/gtest.h>

#include <string>

#include "sim/core/error.h"
#include "tests/network/congestion/congestion_support.h"

namespace weft::net {
namespace {

using namespace literals;

// 10 us at 100 Gb/s: BDP 125 kB, 5/6 of the reference's 150 kB; target 7.5 us; at most 1.5 BDP = 187.5 kB, where it begins.
constexpr double kNsccScale = 125.0 / 150;

// A control whose window is 100 kB, without Quick Adapt.
std::unique_ptr<CongestionControl> at_100_kb(const std::string& more = "") {
  auto control = make_control("nscc", "{quick_adapt: false" + more + "}", k100G);
  EXPECT_EQ(control->window(), 187'500_B);
  control->on_trim(Time{} + 1_ns, 87'500_B, 0_B);
  EXPECT_EQ(control->window(), 100'000_B);
  return control;
}

double nscc_window(CongestionControl& control, Duration now, Duration delay, Bytes acked, bool marked = false,
                   Bytes in_flight = 0_B) {
  AckEvent ack;
  ack.now = Time{} + now;
  ack.rtt = 10_us + delay;
  ack.marked = marked;
  ack.newly_acked = acked;
  ack.in_flight = in_flight;
  control.on_ack(ack);
  return control.state("window_bytes");
}

// No mark, delay at the target: 5 packets x scale for every acknowledged byte over the window, and eta once per round trip.
TEST(NsccTest, FairIncrease) {
  const auto control = at_100_kb();
  EXPECT_NEAR(nscc_window(*control, 5_us, 7500_ns, 4000_B), 100'000, 1e-6);  // granted once per round trip
  const double fair = 5 * 1000 * kNsccScale * 8000 / 100'000;
  EXPECT_NEAR(nscc_window(*control, 11_us, 7500_ns, 4000_B), 100'000 + fair + 0.15 * 1000 * kNsccScale, 1e-6);
}

// No mark, 3 us below the target: 4 packets x scale x (target / 12 us) x 3 us / target for every byte over the window.
TEST(NsccTest, ProportionalIncrease) {
  const auto control = at_100_kb();
  EXPECT_NEAR(nscc_window(*control, 5_us, 4500_ns, 4000_B), 100'000, 1e-6);
  const double proportional = 4 * 1000 * kNsccScale * 3 / 12 * 8000 / 100'000;
  EXPECT_NEAR(nscc_window(*control, 11_us, 4500_ns, 4000_B), 100'000 + proportional + 0.15 * 1000 * kNsccScale, 1e-6);
}

// More than eight packets grant it before the round trip is over, without eta.
TEST(NsccTest, EightPacketsGrantIncreases) {
  const auto control = at_100_kb();
  EXPECT_NEAR(nscc_window(*control, 5_us, 7500_ns, 8000_B), 100'000, 1e-6);
  EXPECT_NEAR(nscc_window(*control, 6_us, 7500_ns, 1_B), 100'000 + 5 * 1000 * kNsccScale * 8001 / 100'000, 1e-6);
}

// A whole window without a queue: a quarter x scale of every byte from then on, until there is one.
TEST(NsccTest, FastIncrease) {
  const auto control = at_100_kb(", alpha: 1e-9, eta: 0");
  EXPECT_NEAR(nscc_window(*control, 1_us, 0_ns, 100'000_B), 100'000, 1e-3);
  EXPECT_NEAR(nscc_window(*control, 2_us, 999_ns, 1200_B), 100'000 + 0.25 * kNsccScale * 1200, 1e-3);
  EXPECT_NEAR(nscc_window(*control, 3_us, 0_ns, 1200_B), 100'000 + 0.25 * kNsccScale * 2400, 1e-3);
  EXPECT_NEAR(nscc_window(*control, 4_us, 1_us, 1200_B), 100'000 + 0.25 * kNsccScale * 2400, 1e-3);
  EXPECT_NEAR(nscc_window(*control, 5_us, 0_ns, 1200_B), 100'000 + 0.25 * kNsccScale * 2400, 1e-3);
}

// Marked, the averaged delay 15 us: 1 - 0.8 x 7.5 / 15 = 0.6, once per round trip; 40 us: 0.35, at least a half.
TEST(NsccTest, MultiplicativeDecrease) {
  const auto control = at_100_kb(", delay_alpha: 1, eta: 0");
  EXPECT_NEAR(nscc_window(*control, 5_us, 15_us, 1000_B, true), 60'000, 1e-6);
  EXPECT_NEAR(nscc_window(*control, 15_us, 15_us, 1000_B, true), 60'000, 1e-6);
  EXPECT_NEAR(nscc_window(*control, 15_us + 1_ps, 15_us, 1000_B, true), 36'000, 1e-6);
  EXPECT_NEAR(nscc_window(*control, 30_us, 40_us, 1000_B, true), 18'000, 1e-6);
}

// Marked below the target: another path, the same window.
TEST(NsccTest, AMarkWithoutDelayChangesNothing) {
  const auto control = at_100_kb(", eta: 0");
  EXPECT_NEAR(nscc_window(*control, 20_us, 7499_ns, 20'000_B, true), 100'000, 1e-6);
}

// One sample counts for 1/80 of the average.
TEST(NsccTest, DelayIsAveraged) {
  const auto control = make_control("nscc", "{quick_adapt: false}", k100G);
  nscc_window(*control, 5_us, 20_us, 1000_B, true);
  EXPECT_NEAR(control->state("delay_us"), 20.0 / 80, 1e-9);
  // Long and not marked: a quarter of the round trip in its place.
  nscc_window(*control, 6_us, 20_us, 1000_B, false);
  EXPECT_NEAR(control->state("delay_us"), 20.0 / 80 + (2.5 - 20.0 / 80) / 80, 1e-9);
}

// A period is a round trip and the target, 17.5 us from the first ACK. With 2 kB in it, fewer than 1/8 of the largest window,
// a trim sets the window to them; what is marked of the 3 kB on the way changes nothing.
TEST(NsccTest, QuickAdaptTakesWhatArrived) {
  const auto control = make_control("nscc", "{delay_alpha: 1, eta: 0}", k100G);
  nscc_window(*control, 1_us, 0_ns, 1000_B);
  nscc_window(*control, 10_us, 5_us, 2000_B);
  control->on_trim(Time{} + 18'500_ns, 1000_B, 3000_B);  // the period is not over: a packet less
  EXPECT_NEAR(control->state("window_bytes"), 186'500, 50);
  control->on_trim(Time{} + 18'501_ns, 1000_B, 3000_B);
  EXPECT_EQ(control->window(), 2000_B);
  EXPECT_NEAR(nscc_window(*control, 19_us, 15_us, 2999_B, true), 2000, 1e-6);
  EXPECT_NEAR(nscc_window(*control, 20_us, 15_us, 1000_B, true), 1200, 1e-6);
}

TEST(NsccTest, QuickAdaptLeavesAFlowThatGetsThrough) {
  const auto control = make_control("nscc", "{eta: 0}", k100G);
  nscc_window(*control, 1_us, 0_ns, 1000_B);
  nscc_window(*control, 10_us, 5_us, 23'438_B);  // 187.5 kB / 8
  control->on_trim(Time{} + 18'501_ns, 1000_B, 3000_B);
  EXPECT_GT(control->window(), 186'000_B);
}

TEST(NsccTest, WindowIsAPacketAtLeast) {
  const auto control = at_100_kb();
  control->on_trim(Time{} + 2_ns, 100'000_B, 0_B);
  EXPECT_EQ(control->window(), 1000_B);
}

TEST(NsccTest, KeysOfQuickAdaptNeedIt) {
  EXPECT_THROW(make_factory("nscc", "{quick_adapt: false, quick_adapt_gate: 2}"), ConfigError);
  EXPECT_THROW(make_factory("nscc", "{gamma: 1.5}"), ConfigError);
  EXPECT_NO_THROW(make_factory("nscc", "{quick_adapt_gate: 2, quick_adapt_threshold: 2}"));
}

}  // namespace
}  // namespace weft::net
