#include "sim/workloads/kernels/clock.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::work {
namespace {

// At a limit of 1 tensor cores alone may draw 0.8, half of their peak rate.
const GpuPower kPower{.costs = {.idle = 0.2, .tensor = 1.6, .memory = 0.4, .window = 16_ms}, .limit = 1};

TEST(ClockTest, HoldsUpToTheLimitAndFallsWithTheRootOfWhatIsWantedBeyond) {
  EXPECT_DOUBLE_EQ(slowdown_under(kPower, {.tensor = 0.8}), 1.0);
  EXPECT_DOUBLE_EQ(slowdown_under(kPower, {.tensor = 1.2}), std::sqrt(1.2 / 0.8));
  EXPECT_DOUBLE_EQ(slowdown_under(kPower, {.tensor = 1.6}), std::sqrt(1.6 / 0.8));
}

TEST(ClockTest, WhatTheMemoryTakesIsMissingToTheTensorCores) {
  EXPECT_DOUBLE_EQ(slowdown_under(kPower, {.memory = 0.4}), 1.0);
  EXPECT_DOUBLE_EQ(slowdown_under(kPower, {.tensor = 0.8, .memory = 0.4}), std::sqrt(0.8 / 0.4));
}

// 3, 4 and 5: tensor cores at 0.3 / 1.6 of their peak, all of HBM.
TEST(ClockTest, TensorCoresAndMemoryOfOneKernelAddAsSquares) {
  const PowerDraw both = draw_of(kPower.costs, {.tensor = 0.3 / 1.6, .memory = 1.0});
  EXPECT_DOUBLE_EQ(both.tensor, 0.3);
  EXPECT_DOUBLE_EQ(both.memory, 0.2);
  EXPECT_DOUBLE_EQ(draw_of(kPower.costs, {.memory = 0.5}).memory, 0.2);
  EXPECT_DOUBLE_EQ(draw_of(kPower.costs, {.tensor = 0.5}).memory, 0.0);
}

TEST(ClockTest, ALowerLimitLeavesLess) {
  GpuPower half = kPower;
  half.limit = 0.6;
  EXPECT_DOUBLE_EQ(slowdown_under(half, {.tensor = 0.8}), std::sqrt(0.8 / 0.4));
  half.limit = 0.1;  // less than at rest: the lowest clock there is
  EXPECT_DOUBLE_EQ(slowdown_under(half, {.tensor = 0.8}), 5.0);
  half.limit = 0;  // nobody knows it
  EXPECT_DOUBLE_EQ(slowdown_under(half, {.tensor = 1.6}), 1.0);
}

TEST(ClockTest, KernelsSeeWhatHbmDoesNotBound) {
  EXPECT_DOUBLE_EQ(stretch_of(1.5, 0.0), 1.5);
  EXPECT_DOUBLE_EQ(stretch_of(1.5, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(stretch_of(2.0, 0.6), std::sqrt(0.64 * 4 + 0.36));
}

// Busy for half of an iteration of ten windows.
TEST(ClockTest, FallsAsTheWindowFillsAndRecoversAsItEmpties) {
  PowerTimeline timeline{160, 16};  // 160 bins
  timeline.add(0, 80, {.tensor = 1.6});
  const std::vector<double> slowdowns = timeline.slowdowns(kPower);
  ASSERT_EQ(slowdowns.size(), 160U);
  const auto at = [&](double time) { return slowdowns[timeline.bin_of(time)]; };
  EXPECT_NEAR(at(0.5), 1.0, 1e-12);  // the last iteration ended at rest
  EXPECT_NEAR(at(8.5), 1.0, 1e-12);  // half a window
  EXPECT_NEAR(at(12.5), std::sqrt(1.2 / 0.8), 1e-12);
  EXPECT_NEAR(at(16.5), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(at(79.5), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(at(84.5), std::sqrt(1.2 / 0.8), 1e-12);
  EXPECT_NEAR(at(88.5), 1.0, 1e-12);
}

TEST(ClockTest, ShortIterationsSeeTheirMeanAllAlong) {
  PowerTimeline timeline{16, 32};  // two of them in a window
  timeline.add(0, 12, {.tensor = 1.6});
  for (const double slowdown : timeline.slowdowns(kPower)) EXPECT_NEAR(slowdown, std::sqrt(1.2 / 0.8), 1e-12);
}

TEST(ClockTest, HoweverALoadIsSpreadItSlowsByTheLeastOrMore) {
  EXPECT_DOUBLE_EQ(least_slowdown(kPower, 0.5), 1.0);
  EXPECT_DOUBLE_EQ(least_slowdown(kPower, 0.75), 1.0 + 0.5 * (std::sqrt(2.0) - 1.0));
  EXPECT_DOUBLE_EQ(least_slowdown(kPower, 1.0), std::sqrt(2.0));
}

TEST(ClockTest, TheLimitIsTheDataSheetsWhereNoneIsSet) {
  const Profile profile = Profile::defaults(kernel_param_groups());
  EXPECT_DOUBLE_EQ(gpu_power(gpu_spec("h100_sxm"), profile).limit, 1.0);
  EXPECT_DOUBLE_EQ(gpu_power(gpu_spec("h100_sxm"), profile.with_value("gpu.power_limit", "500 W", "test")).limit, 500.0 / 700);
}

// Shares of 700 W and 989 TFLOP/s, on a GPU of 500 W with the same tensor cores and on one of 350 W with 756 TFLOP/s: 119 W at
// rest, and 1071 W (1071 x 756 / 989) at the peak.
TEST(ClockTest, SharesAreThoseOfTheGpuThatTheyWereMeasuredOn) {
  const Profile profile = Profile::defaults(kernel_param_groups())
                              .with_value("gpu.power.tensor", "1.53", "test")
                              .with_value("gpu.power.of_limit", "700", "test")
                              .with_value("gpu.power.of_peak", "989", "test");
  const auto costs = [&](const char* gpu) { return gpu_power(gpu_spec(gpu), profile).costs; };
  EXPECT_DOUBLE_EQ(costs("h100_sxm").tensor, 1.53);
  EXPECT_NEAR(costs("h100_sxm").memory, 0.85, 1e-12);
  EXPECT_DOUBLE_EQ(costs("h100_hbm2e").idle, 119.0 / 500);
  EXPECT_DOUBLE_EQ(costs("h100_hbm2e").tensor, 1071.0 / 500);
  EXPECT_DOUBLE_EQ(costs("h100_pcie").idle, 119.0 / 350);
  EXPECT_DOUBLE_EQ(costs("h100_pcie").tensor, 1071.0 / 350 * 756 / 989);
  // Rest and memory together: as on the other.
  EXPECT_DOUBLE_EQ(costs("h100_pcie").idle + costs("h100_pcie").memory, 0.17 + 0.85);
}

// A product of 8192 takes 842 of 700 W at full clock, at 0.81 of the peak, beside 120 W at rest (models/training_steps §7).
TEST(ClockTest, AProductInARowOfNothingElseIsAFifthSlowerOnH200) {
  const Profile profile = Profile::defaults(kernel_param_groups());
  const GpuPower power = gpu_power(gpu_spec("h200_sxm"), profile);
  EXPECT_NEAR(slowdown_under(power, draw_of(power.costs, {.tensor = 0.809})), 1.2, 0.01);
}

TEST(ClockTest, KernelsLoadTensorCoresAndMemoryByTheirOwnPeaks) {
  const KernelTimes times{gpu_spec("h200_sxm"), Profile::defaults(kernel_param_groups())};
  Kernel gemm;
  gemm.kind = KernelKind::kGemm;
  gemm.m = gemm.n = gemm.k = 4096;
  // 2 x 4096^3 FLOPs at 989 TFLOP/s, and 3 x 2 x 4096^2 bytes at 4.8 TB/s.
  EXPECT_NEAR(times.load(gemm, 1_ms).tensor, 2 * 68.72e9 / 989e12 / 1e-3, 1e-4);
  EXPECT_NEAR(times.load(gemm, 1_ms).memory, 100.66e6 / 4.8e12 / 1e-3, 1e-4);
  gemm.precision = Precision::kFp8;
  EXPECT_NEAR(times.load(gemm, 1_ms).tensor, 2 * 68.72e9 / 1979e12 / 1e-3, 1e-4);
  Kernel copy;
  copy.kind = KernelKind::kCopy;
  copy.bytes = 2.4e9;
  EXPECT_NEAR(times.load(copy, 1_ms).memory, 0.5, 1e-9);
  EXPECT_EQ(times.load(copy, 1_ms).tensor, 0.0);
}

// 120 W of 700 at rest: 0.17.
TEST(ClockTest, ALimitIsAboveThePowerAtRestAndNotAboveTheDataSheets) {
  const Profile profile = Profile::defaults(kernel_param_groups());
  const auto problem = [&](const char* limit) {
    return limit_problem(gpu_spec("h100_sxm"), profile.with_value("gpu.power_limit", limit, "test"));
  };
  EXPECT_EQ(problem("0"), "");
  EXPECT_EQ(problem("120 W"), "");
  EXPECT_EQ(problem("700 W"), "");
  EXPECT_EQ(problem("118 W"),
            "expected above 119 W, which h100_sxm takes at rest, and at most its data sheet's 700 W, got 118 W");
  EXPECT_NE(problem("701 W"), "");
}

TEST(ClockTest, TheOneOfManyUnlikeGpusThatNeedsMostPowerSetsThePace) {
  EXPECT_DOUBLE_EQ(most_of({.deviation = 0.02}, 1), 1.0);
  // 0.02 sqrt(2 ln 1024) = 0.02 x 3.7233 (models/workloads §7.2).
  EXPECT_NEAR(most_of({.deviation = 0.02}, 1024), 1.07447, 1e-5);
  EXPECT_DOUBLE_EQ(most_of({.deviation = 0}, 1024), 1.0);
}

}  // namespace
}  // namespace weft::work
