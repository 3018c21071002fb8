#include <gtest/gtest.h>

#include <cmath>

#include "sim/core/error.h"
#include "tests/network/congestion/congestion_support.h"
#include "tests/support/moments.h"

namespace weft::net {
namespace {

using namespace literals;
using weft::testing::at;

// At 25 Gb/s R_AI is 5 Mb/s and R_HAI 50 Mb/s.
constexpr CongestionContext k25G{.line_rate = 25_Gbps, .base_rtt = 4_us, .packet = 1000_B, .hops = 2};

// First CNP: alpha 1, nothing is cut yet. Alpha decays at 1, 2, 3 and 4 us, and the decrease event at 4 us comes after that.
TEST(DcqcnMlxTest, FirstCnpIsActedUponByTheFirstDecreaseEvent) {
  const auto control = make_control("dcqcn_mlx", "{}", k25G);
  control->on_cnp(Time{});
  EXPECT_EQ(control->rate(), 25_Gbps);
  EXPECT_DOUBLE_EQ(control->state("alpha"), 1.0);
  EXPECT_EQ(control->next_update(), at(4_us));
  control->advance(at(4_us - 1_ps));
  EXPECT_EQ(control->rate(), 25_Gbps);
  control->advance(at(4_us));
  EXPECT_NEAR(control->state("alpha"), std::pow(255.0 / 256, 4), 1e-12);
  EXPECT_NEAR(control->state("rate_gbps"), 25 * (1 - std::pow(255.0 / 256, 4) / 2), 1e-9);
  EXPECT_NEAR(control->state("target_rate_gbps"), 25, 1e-9);
}

TEST(DcqcnMlxTest, RateOnFirstCnpAppliesOnce) {
  const auto control = make_control("dcqcn_mlx", "{rate_on_first_cnp: 0.4}", k25G);
  control->on_cnp(Time{});
  EXPECT_EQ(control->rate(), 10_Gbps);
  EXPECT_NEAR(control->state("target_rate_gbps"), 10, 1e-9);
  control->on_cnp(at(1_us));
  EXPECT_EQ(control->rate(), 10_Gbps);
}

TEST(DcqcnMlxTest, CnpsOfOnePeriodCountOnce) {
  const auto one = make_control("dcqcn_mlx", "{}", k25G);
  const auto many = make_control("dcqcn_mlx", "{}", k25G);
  one->on_cnp(Time{});
  many->on_cnp(Time{});
  one->on_cnp(at(4_us + 100_ns));
  for (int k = 1; k <= 5; ++k) many->on_cnp(at(4_us + k * 100_ns));
  one->advance(at(8_us));
  many->advance(at(8_us));
  EXPECT_EQ(one->state("rate_gbps"), many->state("rate_gbps"));
  EXPECT_EQ(one->state("alpha"), many->state("alpha"));
}

// A CNP at 8 us exactly is too late for the alpha and decrease events of 8 us; those of 9 and 12 us see it.
TEST(DcqcnMlxTest, EventsAreThoseOfAClockThatStartedWithTheFirstCnp) {
  const auto control = make_control("dcqcn_mlx", "{}", k25G);
  control->on_cnp(Time{});
  control->on_cnp(at(8_us));
  const double rate = control->state("rate_gbps");
  double alpha = std::pow(255.0 / 256, 8);
  EXPECT_NEAR(control->state("alpha"), alpha, 1e-12);
  EXPECT_EQ(control->next_update(), at(12_us));
  control->advance(at(12_us - 1_ps));
  EXPECT_EQ(control->state("rate_gbps"), rate);
  control->advance(at(12_us));
  alpha = (255.0 / 256 * alpha + 1.0 / 256) * std::pow(255.0 / 256, 3);
  EXPECT_NEAR(control->state("alpha"), alpha, 1e-12);
  EXPECT_NEAR(control->state("rate_gbps"), rate * (1 - alpha / 2), 1e-9);
}

// Cut at 4 us, increases 300 us apart from there on: one of fast recovery, one of R_AI, then R_HAI.
TEST(DcqcnMlxTest, StagesAreFastRecoveryThenAdditiveThenHyper) {
  const auto control = make_control("dcqcn_mlx", "{clamp_target: always}", k25G);
  control->on_cnp(Time{});
  control->advance(at(4_us));
  control->on_cnp(at(5_us));
  control->advance(at(8_us));
  double rate = control->state("rate_gbps");
  double target = control->state("target_rate_gbps");  // the rate before the second cut
  EXPECT_LT(target, 13);
  Duration due = 8_us;
  for (const double added : {0.0, 0.005, 0.05, 0.05}) {
    due += 300_us;
    EXPECT_EQ(control->next_update(), at(due));
    control->advance(at(due - 1_ps));
    EXPECT_NEAR(control->state("rate_gbps"), rate, 1e-9);
    control->advance(at(due));
    target += added;
    rate = (target + rate) / 2;
    EXPECT_NEAR(control->state("rate_gbps"), rate, 1e-9);
    EXPECT_NEAR(control->state("target_rate_gbps"), target, 1e-9);
  }
}

TEST(DcqcnMlxTest, TargetFollowsACutOnlyAfterAnIncrease) {
  const auto control = make_control("dcqcn_mlx", "{}", k25G);
  control->on_cnp(Time{});
  control->on_cnp(at(5_us));
  control->advance(at(8_us));
  EXPECT_NEAR(control->state("target_rate_gbps"), 25, 1e-9);
  control->advance(at(308_us));
  const double rate = control->state("rate_gbps");
  control->on_cnp(at(309_us));
  control->advance(at(312_us));
  EXPECT_NEAR(control->state("target_rate_gbps"), rate, 1e-9);
  EXPECT_LT(control->state("rate_gbps"), rate);
}

TEST(DcqcnMlxTest, CaughtUpAtOnceItIsAsIfEveryEventHadFired) {
  const auto stepped = make_control("dcqcn_mlx", "{}", k25G);
  const auto late = make_control("dcqcn_mlx", "{}", k25G);
  for (const Duration cnp : {0_us, 5_us, 9_us, 700_us}) {
    for (const auto& control : {stepped.get(), late.get()}) control->on_cnp(at(cnp));
    for (std::int64_t us = 0; us < 2'000; ++us) {
      const Time now = at(cnp + us * 500_ns);
      if (cnp == 700_us || now < at(cnp + 3_us)) stepped->advance(now);
    }
  }
  stepped->advance(at(2'000_us));
  late->advance(at(2'000_us));
  for (const char* name : {"rate_gbps", "target_rate_gbps", "alpha", "stage"}) {
    EXPECT_EQ(stepped->state(name), late->state(name)) << name;
  }
}

TEST(DcqcnMlxTest, RecoversToLineRateAndThenNeedsNoTimer) {
  const auto control = make_control("dcqcn_mlx", "{}", k25G);
  control->on_cnp(Time{});
  control->advance(at(100_ms));
  EXPECT_EQ(control->rate(), 25_Gbps);
  EXPECT_EQ(control->next_update(), Time::max());
  // Alpha has decayed to nothing; the events keep their clock, and one CNP raises it to g.
  control->on_cnp(at(100_ms + 100_ns));
  EXPECT_EQ(control->next_update(), at(100_ms + 4_us));
  control->advance(at(100_ms + 1_us));
  EXPECT_NEAR(control->state("alpha"), 1.0 / 256, 1e-12);
}

TEST(DcqcnMlxTest, PresetsSetTheDefaultsOfAllOtherKeys) {
  const auto control = make_control("dcqcn_mlx", "{preset: firmware}", k25G);
  control->on_cnp(Time{});
  control->advance(at(1_us));
  EXPECT_NEAR(control->state("alpha"), 1019.0 / 1024, 1e-12);
  const auto paper = make_control("dcqcn_mlx", "{preset: hpcc_sim_paper, g: 0.5}", k25G);
  paper->on_cnp(Time{});
  EXPECT_EQ(paper->next_update(), at(50_us));
  paper->advance(at(50_us));
  EXPECT_NEAR(paper->state("alpha"), 0.5, 1e-12);
  EXPECT_THROW(make_factory("dcqcn_mlx", "{preset: unknown}"), ConfigError);
}

// Marking of the same simulator at 100 Gb/s, a CNP for every mark. It takes its time: R_HAI is 200 Mb/s every 300 us.
TEST(DcqcnMlxTest, TwoFlowsConvergeToEqualShares) {
  const CongestionContext context{.line_rate = 100_Gbps, .base_rtt = 8_us, .packet = 1000_B, .hops = 2};
  FluidLink link{100_Gbps, 8_us, 500_ns, 1000_B, {.kmin = 400e3, .kmax = 1600e3, .pmax = 0.2, .cnp_interval = {}}};
  for (int i = 0; i < 2; ++i) link.add(make_control("dcqcn_mlx", i == 0 ? "{rate_on_first_cnp: 0.4}" : "{}", context));
  link.control(0).on_cnp(Time{});
  link.run(300_ms);
  link.run(50_ms);
  EXPECT_NEAR(link.gbps(0) / link.gbps(1), 1, 0.05);
  EXPECT_GT(link.utilisation(), 0.95);
}

}  // namespace
}  // namespace weft::net
