#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "tests/network/congestion/congestion_support.h"

namespace weft::net {
namespace {

using namespace literals;

constexpr CongestionContext kShort100G{.line_rate = 100_Gbps, .base_rtt = 8_us, .packet = 1000_B, .hops = 2};

TEST(WindowTest, IsTheBandwidthDelayProductUnlessGiven) {
  EXPECT_EQ(make_control("window", "{}", kShort100G)->window(), 100'000_B);
  EXPECT_EQ(make_control("window", "{size: 50 kB}", kShort100G)->window(), 50'000_B);
  EXPECT_EQ(make_control("window", "{}", kShort100G)->rate(), Bandwidth{});
}

TEST(WindowTest, IsAPacketAtLeast) {
  const CongestionContext near{.line_rate = 100_Gbps, .base_rtt = 10_ns, .packet = 1000_B, .hops = 1};
  EXPECT_EQ(make_control("window", "{}", near)->window(), 1000_B);
}

TEST(WindowTest, NothingMovesIt) {
  const auto control = make_control("window", "{}", kShort100G);
  control->on_loss(Time{});
  control->on_cnp(Time{});
  AckEvent ack;
  ack.rtt = 1_ms;
  ack.marked = true;
  ack.newly_acked = 1000_B;
  control->on_ack(ack);
  control->advance(Time{} + 1_s);
  EXPECT_EQ(control->window(), 100'000_B);
  EXPECT_EQ(control->next_update(), Time::max());
}

TEST(WindowTest, AnEmptyWindowIsRefused) { EXPECT_THROW(make_factory("window", "{size: 0 B}"), ConfigError); }

// Two windows of 100 kB on a path that holds 100 kB: 50 Gb/s each, and the other 100 kB wait.
TEST(WindowTest, TwoFlowsConvergeToEqualShares) {
  FluidLink link{100_Gbps, 8_us, 100_ns, 1000_B};
  for (int i = 0; i < 2; ++i) link.add(make_control("window", "{}", kShort100G));
  link.run(1_ms);
  link.run(1_ms);
  EXPECT_NEAR(link.gbps(0), 50, 0.5);
  EXPECT_NEAR(link.gbps(1), 50, 0.5);
  EXPECT_NEAR(link.mean_queue(), 100'000, 2'000);
}

TEST(CongestionControlsTest, AreFoundByName) {
  for (const char* name : {"dcqcn", "dcqcn_mlx", "hpcc", "timely", "swift", "ib_cc", "window"}) {
    EXPECT_NE(congestion_controls().find(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace weft::net
