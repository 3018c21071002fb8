#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "sim/core/error.h"
#include "tests/network/congestion/congestion_support.h"

namespace weft::net {
namespace {

using namespace literals;

// 10 us at 100 Gb/s: BDP 125 kB; packets of 1000 B. A window of 1/50 of it is two and a half packets.
std::unique_ptr<CongestionControl> source(const std::string& yaml = "{optimistic_window: 0.02}") {
  return make_control("rccc", yaml, k100G);
}

// A packet leaves and states the demand of so many bytes behind it.
int sends(CongestionControl& control, Bytes backlog) {
  control.on_sent(Time{}, 1000_B);
  return control.credit_target(backlog);
}

// With 500 B of credit a third packet goes, and 500 B are owed. Each packet asks for itself again, since more is left than a
// window: 2500 B less 1500, 500 and -500 B of credit.
TEST(RcccTest, SpendsItsOptimisticWindow) {
  const auto control = source();
  EXPECT_TRUE(control->has_credit());
  EXPECT_EQ(sends(*control, 10'000_B), 1);
  EXPECT_EQ(sends(*control, 10'000_B), 2);
  EXPECT_TRUE(control->has_credit());
  EXPECT_EQ(sends(*control, 10'000_B), 3);
  EXPECT_EQ(control->state("credit_bytes"), -500);
  EXPECT_FALSE(control->has_credit());
}

// Granted credit is spent, the debt first.
TEST(RcccTest, SpendsWhatIsGranted) {
  const auto control = source();
  for (int i = 0; i < 3; ++i) sends(*control, 10'000_B);
  control->on_credit(Time{}, 1);
  EXPECT_EQ(control->state("credit_bytes"), 500);
  EXPECT_TRUE(control->has_credit());
  // 2500 + 500 B are three packets beyond the one that was granted.
  EXPECT_EQ(sends(*control, 10'000_B), 4);
  EXPECT_FALSE(control->has_credit());
  control->on_credit(Time{}, 1);  // the same word again
  EXPECT_FALSE(control->has_credit());
  control->on_credit(Time{}, 4);
  EXPECT_EQ(control->state("credit_bytes"), 2500);
}

// By default 1.5 BDP, of which the first grant leaves nothing.
TEST(RcccTest, TheFirstGrantEndsOptimism) {
  const auto control = source("{}");
  EXPECT_EQ(control->state("credit_bytes"), 187'500);
  sends(*control, 1'000'000_B);
  control->on_credit(Time{}, 1);
  EXPECT_EQ(control->state("credit_bytes"), 1000);
  // 187.5 kB less nothing, in packets, beyond the one that was granted.
  EXPECT_EQ(sends(*control, 1'000'000_B), 1 + 188);
}

// The last packets ask for themselves only: 3000 B are left, 1000 B of credit are there, one was granted.
TEST(RcccTest, AsksForWhatIsLeft) {
  const auto control = source("{}");
  sends(*control, 1'000'000_B);
  control->on_trim(Time{}, 1000_B, 0_B);
  control->on_credit(Time{}, 2);
  EXPECT_EQ(control->state("credit_bytes"), 2000);
  EXPECT_EQ(sends(*control, 3000_B), 1 + 2);  // one of the two was for the trim
}

// The destination grants again what was trimmed: the source waits for it, and does not ask.
TEST(RcccTest, TrimsAreGrantedUnasked) {
  const auto control = source("{}");
  EXPECT_EQ(sends(*control, 0_B), 0);  // a flow of one packet needs no grant
  control->on_trim(Time{}, 1000_B, 0_B);
  EXPECT_EQ(control->state("credit_bytes"), 0);
  EXPECT_FALSE(control->has_credit());
  control->on_credit(Time{}, 1);
  EXPECT_TRUE(control->has_credit());
}

// Nothing was asked for, so nothing will be granted: one packet goes without credit, and asks.
TEST(RcccTest, AsksWithAPacketWithoutCredit) {
  const auto control = source("{optimistic_window: 0.008}");  // one packet
  EXPECT_EQ(sends(*control, 0_B), 0);
  EXPECT_TRUE(control->has_credit());
  EXPECT_EQ(sends(*control, 3000_B), 2);  // a window and the packet that is owed
  EXPECT_FALSE(control->has_credit());
  control->on_loss(Time{});
  EXPECT_TRUE(control->has_credit());
}

TEST(RcccTest, BeginsAnewWhenIdle) {
  const auto control = source();
  for (int i = 0; i < 3; ++i) sends(*control, 0_B);
  control->restart(Time{});
  EXPECT_EQ(control->state("credit_bytes"), 2500);
  control->on_credit(Time{}, 1);
  EXPECT_EQ(control->state("credit_bytes"), 1000);
}

// Counts go round at 65,536.
TEST(RcccTest, CountsGoRound) {
  const auto control = source();
  for (const int granted : {30'000, 60'000, 90'000, 120'000}) {
    control->on_credit(Time{}, static_cast<std::uint16_t>(granted & 0xFFFF));
    EXPECT_EQ(control->state("granted_bytes"), granted * 1000.0);
  }
  control->on_credit(Time{}, static_cast<std::uint16_t>(119'999 & 0xFFFF));
  EXPECT_EQ(control->state("granted_bytes"), 120e6);
}

// With NSCC its window holds too, and no more credit is asked for than one packet beyond it.
TEST(RcccTest, NsccHoldsBesideIt) {
  EXPECT_EQ(source()->window(), Bytes::max());
  const auto control = source("{nscc: {quick_adapt: false}}");
  EXPECT_EQ(control->window(), 187'500_B);
  control->on_trim(Time{} + 1_ns, 87'500_B, 0_B);
  EXPECT_EQ(control->window(), 100'000_B);
  EXPECT_NEAR(control->state("window_bytes"), 100'000, 1e-6);
  EXPECT_EQ(sends(*control, 1'000'000_B), 101 + 1 - 1);  // and the packet that is owed, less the one that was trimmed
}

TEST(RcccTest, SaysWhatItNeeds) {
  const auto factory = make_factory("rccc", "{credit_rate: 98 %, credit_packets: 2}");
  EXPECT_TRUE(factory->needs().credits);
  EXPECT_TRUE(factory->needs().acks);
  EXPECT_DOUBLE_EQ(factory->grants().share, 0.98);
  EXPECT_EQ(factory->grants().packets, 2);
  EXPECT_FALSE(make_factory("nscc", "{}")->needs().credits);
  EXPECT_THROW(make_factory("rccc", "{credit_rate: 101 %}"), ConfigError);
  EXPECT_THROW(make_factory("rccc", "{credit_packets: 0}"), ConfigError);
  EXPECT_THROW(make_factory("rccc", "{optimistic_window: 0}"), ConfigError);
  EXPECT_THROW(make_factory("rccc", "{nscc: {alpah: 1}}"), ConfigError);
}

}  // namespace
}  // namespace weft::net
