#include "sim/workloads/kernels/clock.h"

#include <gtest/gtest.h>

namespace weft::work {
namespace {

TEST(ClockTest, HoldsUpToAShareOfLoadAndFallsBeyond) {
  const ClockRule rule{.free_share = 0.6, .load_slope = 0.2, .overlap_slope = 0.3, .memory_part = 0.5, .limit = 1.1};
  EXPECT_DOUBLE_EQ(clock_slowdown(rule, {.compute_share = 0.6}).compute, 1.0);
  EXPECT_DOUBLE_EQ(clock_slowdown(rule, {.compute_share = 0.8}).compute, 1.04);
  EXPECT_DOUBLE_EQ(clock_slowdown(rule, {.compute_share = 0.8}).memory, 1.02);
  EXPECT_DOUBLE_EQ(clock_slowdown(rule, {.compute_share = 0.5, .overlap_share = 0.2}).compute, 1.06);
  EXPECT_DOUBLE_EQ(clock_slowdown(rule, {.compute_share = 1.0, .overlap_share = 0.9}).compute, 1.1);
}

TEST(ClockTest, TheSlowestOfManyUnlikeGpusSetsThePace) {
  EXPECT_DOUBLE_EQ(slowest_of({.deviation = 0.02}, 1), 1.0);
  // 0.02 sqrt(2 ln 1024) = 0.02 x 3.7233 (models/workloads §7.2).
  EXPECT_NEAR(slowest_of({.deviation = 0.02}, 1024), 1.07447, 1e-5);
  EXPECT_DOUBLE_EQ(slowest_of({}, 1024), 1.0);
}

}  // namespace
}  // namespace weft::work
