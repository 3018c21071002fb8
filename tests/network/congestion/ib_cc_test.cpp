#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "tests/network/congestion/congestion_support.h"

namespace weft::net {
namespace {

using namespace literals;

Time ib_at(Duration after) { return Time{} + after; }

// CCT[i] = i: after n BECNs every packet of t is followed by n t of silence, line / (1 + n); each timer takes one step back.
TEST(IbCcTest, EveryBecnClimbsTheTableAndTheTimerStepsDown) {
  const auto control = make_control("ib_cc", "{ccti_timer: 10 us}", k100G);
  EXPECT_EQ(control->rate(), 100_Gbps);
  EXPECT_EQ(control->next_update(), Time::max());
  for (int n = 1; n <= 4; ++n) {
    control->on_cnp(ib_at(1_us));
    EXPECT_NEAR(control->state("rate_gbps"), 100.0 / (1 + n), 1e-9);
  }
  for (int n = 4; n > 0; --n) {
    const Time due = ib_at(1_us + (5 - n) * 10_us);
    EXPECT_EQ(control->next_update(), due);
    control->advance(due - 1_ps);
    EXPECT_EQ(control->state("ccti"), n);
    control->advance(due);
    EXPECT_EQ(control->state("ccti"), n - 1);
  }
  EXPECT_EQ(control->rate(), 100_Gbps);
  EXPECT_EQ(control->next_update(), Time::max());
}

// Entries are multiplier / 2^shift: 3 / 2^2 leaves 4/7 of the line.
TEST(IbCcTest, TheTableSaysTheDelay) {
  const auto control = make_control("ib_cc", "{table: [0, 0.75, 3], ccti_increase: 1}", k100G);
  control->on_cnp(Time{});
  EXPECT_NEAR(control->state("rate_gbps"), 100 * 4.0 / 7, 1e-9);
  for (int n = 0; n < 5; ++n) control->on_cnp(Time{});
  EXPECT_EQ(control->state("ccti"), 2);  // CCTI_Limit
  EXPECT_NEAR(control->state("rate_gbps"), 25, 1e-9);
}

TEST(IbCcTest, StaysBetweenItsLeastAndItsLastEntry) {
  const auto control = make_control("ib_cc", "{ccti_min: 3, ccti_increase: 10, ccti_timer: 10 us}", k100G);
  EXPECT_EQ(control->rate(), 25_Gbps);
  control->on_cnp(Time{});
  EXPECT_EQ(control->state("ccti"), 13);
  control->advance(ib_at(1_ms));
  EXPECT_EQ(control->state("ccti"), 3);
  for (int n = 0; n < 20; ++n) control->on_cnp(ib_at(1_ms));
  EXPECT_EQ(control->state("ccti"), 127);
}

TEST(IbCcTest, BadParametersAreRefused) {
  for (const char* yaml : {"{ccti_timer: 0 us}", "{ccti_increase: 0}", "{table: [0, -1]}", "{table: [0, 1], ccti_min: 2}"}) {
    EXPECT_THROW(make_factory("ib_cc", yaml), ConfigError) << yaml;
  }
}

// Notifications for a share of packets that grows with the queue: who sends more is told more, and the timer steps down for all
// alike.
TEST(IbCcTest, TwoFlowsConvergeToEqualShares) {
  FluidLink link{100_Gbps, 4_us, 100_ns, 1000_B, {.kmin = 5e3, .kmax = 205e3, .pmax = 0.5}};
  const auto factory = make_factory("ib_cc", "{ccti_timer: 20 us}");
  for (int i = 0; i < 2; ++i) link.add(factory->make(k100G));
  for (int n = 0; n < 8; ++n) link.control(0).on_cnp(Time{});
  link.run(2_ms);
  link.run(10_ms);
  EXPECT_NEAR(link.gbps(0) / link.gbps(1), 1, 0.1);
  EXPECT_GT(link.utilisation(), 0.9);
}

}  // namespace
}  // namespace weft::net
