#include <gtest/gtest.h>

#include <cmath>

#include "sim/core/error.h"
#include "tests/network/congestion/congestion_support.h"

namespace weft::net {
namespace {

using namespace literals;

// A target of 20 us, whatever the hops and the window.
constexpr const char* kPlain = "{per_hop: 0 us, fs_range: 0 us}";

double window_after(CongestionControl& control, Duration now, Duration rtt, Bytes acked = 1000_B) {
  AckEvent ack;
  ack.now = Time{} + now;
  ack.rtt = rtt;
  ack.newly_acked = acked;
  ack.hops = 2;
  control.on_ack(ack);
  return control.state("window_packets");
}

TEST(SwiftTest, BelowTheTargetAWindowOfAcksAddsOnePacket) {
  const auto control = make_control("swift", kPlain, k100G);
  EXPECT_EQ(control->window(), 12'000_B);
  EXPECT_EQ(control->rate(), Bandwidth{});
  EXPECT_NEAR(window_after(*control, 10_us, 20_us - 1_ps, 12'000_B), 13, 1e-12);
  EXPECT_NEAR(window_after(*control, 11_us, 10_us), 13 + 1.0 / 13, 1e-12);
}

// Delay 25 us against 20: 1 - 0.8 x 5/25 = 0.84. Not again within that round trip. Delay 80: 1 - 0.8 x 60/80 = 0.4, at most
// 0.5.
TEST(SwiftTest, AboveItTheWindowShrinksInProportionOncePerRoundTrip) {
  const auto control = make_control("swift", kPlain, k100G);
  EXPECT_NEAR(window_after(*control, 100_us, 20_us), 12, 1e-12);  // at the target: by nothing, but it counts as the decrease
  EXPECT_NEAR(window_after(*control, 125_us, 25_us), 12 * 0.84, 1e-12);
  EXPECT_NEAR(window_after(*control, 150_us - 1_ps, 25_us), 12 * 0.84, 1e-12);
  EXPECT_NEAR(window_after(*control, 150_us, 25_us), 12 * 0.84 * 0.84, 1e-12);
  EXPECT_NEAR(window_after(*control, 300_us, 80_us), 12 * 0.84 * 0.84 * 0.5, 1e-12);
}

// fs_alpha = 100 us / (1/sqrt(0.1) - 1/sqrt(100)), fs_beta = -fs_alpha/10; 20 us and 2 hops of 20/6.55 us besides.
TEST(SwiftTest, TargetGrowsWithHopsAndShrinksWithTheWindow) {
  const auto control = make_control("swift", "{initial_window: 4}", k100G);
  window_after(*control, 10_us, 10_us);
  const double alpha = 100 / (1 / std::sqrt(0.1) - 0.1);
  EXPECT_NEAR(control->state("target_us"), 20 + 2 * 20 / 6.55 + alpha / 2 - alpha / 10, 1e-5);
  const auto small = make_control("swift", "{initial_window: 0.05}", k100G);
  window_after(*small, 10_us, 10_us);
  EXPECT_NEAR(small->state("target_us"), 20 + 2 * 20 / 6.55 + 100, 1e-5);  // no more than fs_range
  const auto large = make_control("swift", "{initial_window: 200, max_window: 200}", k100G);
  window_after(*large, 10_us, 10_us);
  EXPECT_NEAR(large->state("target_us"), 20 + 2 * 20 / 6.55, 1e-5);  // no less than 0
}

// A window of 0.5 packets is a packet every 2 x 40 us: 8000 b / 80 us.
TEST(SwiftTest, BelowOnePacketTheWindowIsAPace) {
  const auto control = make_control("swift", "{per_hop: 0 us, fs_range: 0 us, initial_window: 1, max_decrease: 0.5}", k100G);
  EXPECT_EQ(control->rate(), Bandwidth{});
  EXPECT_NEAR(window_after(*control, 100_us, 60_us), 0.5, 1e-12);  // 1 - 0.8 x 40/60 = 0.467, at most 0.5
  EXPECT_EQ(control->window(), 1000_B);
  EXPECT_EQ(control->rate(), Bandwidth::from_bits_per_second(66'666'667));  // 8000 b / 120 us
  EXPECT_NEAR(window_after(*control, 110_us, 10_us), 1.5, 1e-12);           // ai x acked
  EXPECT_EQ(control->rate(), Bandwidth{});
}

TEST(SwiftTest, ALossCutsByTheMostOncePerRoundTrip) {
  const auto control = make_control("swift", kPlain, k100G);
  control->on_loss(Time{} + 100_us);
  EXPECT_NEAR(control->state("window_packets"), 6, 1e-12);
  control->on_loss(Time{} + 110_us - 1_ps);  // the base round trip stands in for one that was measured
  EXPECT_NEAR(control->state("window_packets"), 6, 1e-12);
  control->on_loss(Time{} + 110_us);
  EXPECT_NEAR(control->state("window_packets"), 3, 1e-12);
}

TEST(SwiftTest, WindowStaysWithinItsLimits) {
  const auto control = make_control("swift", "{per_hop: 0 us, fs_range: 0 us, min_window: 5, max_window: 12.5}", k100G);
  EXPECT_NEAR(window_after(*control, 10_us, 10_us, 12'000_B), 12.5, 1e-12);
  for (int k = 1; k <= 3; ++k) window_after(*control, k * 1000_us, 500_us);
  EXPECT_NEAR(control->state("window_packets"), 5, 1e-12);
}

TEST(SwiftTest, LimitsMustBeInOrder) {
  EXPECT_THROW(make_factory("swift", "{fs_min: 10, fs_max: 10}"), ConfigError);
  EXPECT_THROW(make_factory("swift", "{min_window: 2, max_window: 1}"), ConfigError);
}

// The smaller window has the higher target, so it grows while the larger one shrinks until they meet.
TEST(SwiftTest, TwoFlowsConvergeToEqualShares) {
  const CongestionContext context{.line_rate = 25_Gbps, .base_rtt = 10_us, .packet = 1000_B, .hops = 1};
  FluidLink link{25_Gbps, 10_us, 1_us, 1000_B};
  link.add(make_control("swift", "{initial_window: 80}", context));
  link.add(make_control("swift", "{initial_window: 8}", context));
  link.run(20_ms);
  link.run(20_ms);
  EXPECT_NEAR(link.gbps(0), 12.5, 0.1);
  EXPECT_NEAR(link.gbps(1), 12.5, 0.1);
  EXPECT_GT(link.utilisation(), 0.99);
}

}  // namespace
}  // namespace weft::net
