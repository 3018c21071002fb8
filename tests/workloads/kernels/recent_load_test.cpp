#include "sim/workloads/kernels/recent_load.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::work {
namespace {

// At a limit of 1 tensor cores alone may draw 0.8, half of their peak rate.
const GpuPower kRecentPower{.costs = {.idle = 0.2, .tensor = 1.6, .memory = 0.4, .window = 16_ms}, .limit = 1};
const double kAtPeak = std::sqrt(1.6 / 0.8);

TEST(RecentLoadTest, AShortStepAfterAPauseRunsAtFullClock) {
  RecentLoad recent{kRecentPower};
  EXPECT_DOUBLE_EQ(recent.slowdown_of(Time{}, 8_ms, {.tensor = 1.6}), 1.0);  // half of a window at the peak
}

TEST(RecentLoadTest, StepsInARowComeToTheSlowdownOfALoop) {
  RecentLoad recent{kRecentPower};
  Time now;
  double slowdown = 0;
  for (int step = 0; step < 20; ++step) {
    slowdown = recent.slowdown_of(now, 4_ms, {.tensor = 1.2, .memory = 0.2});
    now += Duration::nearest_ps(4e9 * slowdown);
    recent.ended(now);
  }
  EXPECT_NEAR(slowdown, slowdown_under(kRecentPower, {.tensor = 1.2, .memory = 0.2}), 1e-12);
}

TEST(RecentLoadTest, APauseOfAWindowForgetsWhatWasBefore) {
  RecentLoad recent{kRecentPower};
  EXPECT_GT(recent.slowdown_of(Time{}, 160_ms, {.tensor = 1.6}), 1.0);
  EXPECT_DOUBLE_EQ(recent.slowdown_of(Time{} + 160_ms + 16_ms, 8_ms, {.tensor = 1.6}), 1.0);
}

// Half of a window's load is free; then the clock falls until one window is full, and stays.
TEST(RecentLoadTest, ALongStepIsSlowedFromTheTimeThatItsPowerCounts) {
  RecentLoad recent{kRecentPower};
  const double mean = recent.slowdown_of(Time{}, 160_ms, {.tensor = 1.6});
  double sum = 0;
  for (int eighth = 1; eighth <= 80; ++eighth) sum += std::sqrt(std::max(1.0, 1.6 * std::min(eighth, 8) / 8.0 / 0.8));
  EXPECT_NEAR(mean, sum / 80, 1e-9);
  EXPECT_LT(mean, kAtPeak);
}

TEST(RecentLoadTest, AnUnknownLimitSlowsNothing) {
  GpuPower unknown = kRecentPower;
  unknown.limit = 0;
  EXPECT_DOUBLE_EQ(RecentLoad{unknown}.slowdown_of(Time{}, 1_s, {.tensor = 1.6}), 1.0);
}

}  // namespace
}  // namespace weft::work
