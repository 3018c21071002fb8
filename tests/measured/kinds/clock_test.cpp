#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/measured/fit/calibrate.h"
#include "sim/workloads/kernels/clock.h"
#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(ClockKindTest, TheClocksSlopesComeFromSteps) {
  // 1 + 0.5 (share - 0.4) + 0.4 overlap.
  KernelLog log{.file = "steps.jsonl", .gpu = "h200_sxm", .machine = "H200", .digest = "0123456789abcdef"};
  for (const double share : {0.5, 0.6, 0.8, 0.9}) {
    for (const double overlap : {0.0, 0.3})
      log.clocks.push_back({.load = {share, overlap}, .slowdown = 1 + 0.5 * (share - 0.4) + 0.4 * overlap});
  }
  const CalibrationResult result =
      calibrate_kernels(four_gpus().profile.with_value("gpu.clock.limit", "2", "test"), {log}, "2026-11-21");
  const work::ClockRule rule = result.profile.get(work::clock_rule);
  for (const ClockRow& row : log.clocks) EXPECT_NEAR(clock_slowdown(rule, row.load).compute, row.slowdown, 0.01);
}

TEST(ClockKindTest, ProductsInARowOfNothingElseAreAStepOfProductsAlone) {
  const Profile profile = four_gpus().profile;
  const work::KernelTimes times{work::gpu_spec("h100_sxm"), profile};
  KernelLog log = kernel_log();
  log.kernels = {{.kernel = square_gemm(8192), .sustained_us = 2 * times.alone(square_gemm(8192)).us()}};
  const std::vector<FitPart> parts = fits_of("clock", {log}, profile);
  ASSERT_EQ(parts[0].samples.size(), 1U);
  ValidationPoint point = parts[0].samples[0].point;
  EXPECT_NEAR(point.measured_us, 2, 1e-9);
  Trial trial{profile, nullptr};
  ASSERT_TRUE(parts[0].samples[0].predict(trial, point));
  EXPECT_DOUBLE_EQ(*point.predicted_us, clock_slowdown(profile.get(work::clock_rule), {.compute_share = 1}).compute);
}

}  // namespace
}  // namespace weft::measured
