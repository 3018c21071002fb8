#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/workloads/kernels/contention.h"
#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(ContentionKindTest, IsATimeBesideACollectiveOverTheTimeAlone) {
  const Profile profile = four_gpus().profile;
  const work::KernelTimes times{work::gpu_spec("h100_sxm"), profile};
  KernelLog log = kernel_log();
  log.kernels = {{.kernel = square_gemm(16384), .us = 100.0, .beside_us = 150.0, .beside_ctas = 16},
                 {.kernel = square_gemm(8192), .beside_us = 150.0, .beside_ctas = 16}};  // never seen alone
  const std::vector<FitPart> parts = fits_of("contention", {log}, profile);
  ASSERT_EQ(parts[0].samples.size(), 2U);
  EXPECT_DOUBLE_EQ(parts[0].samples[0].point.measured_us, 1.5);
  EXPECT_DOUBLE_EQ(parts[0].samples[1].point.measured_us, 150 / times.alone(square_gemm(8192)).us());
  ValidationPoint point = parts[0].samples[0].point;
  Trial trial{profile, nullptr};
  ASSERT_TRUE(parts[0].samples[0].predict(trial, point));
  const double rule = slowdown_beside(profile.get(work::contention_costs), work::KernelClass::kGemm, 16);
  EXPECT_DOUBLE_EQ(*point.predicted_us, rule);
}

// A collective is still starting beside a kernel of less than 10 us.
TEST(ContentionKindTest, ShortKernelsSayNothing) {
  KernelLog log = kernel_log();
  for (const double us : {9.9, 10.0})
    log.kernels.push_back({.kernel = square_gemm(16384), .us = 8.0, .beside_us = us, .beside_ctas = 16});
  const std::vector<FitPart> parts = fits_of("contention", {log}, four_gpus().profile);
  ASSERT_EQ(parts[0].samples.size(), 1U);
  EXPECT_DOUBLE_EQ(parts[0].samples[0].point.measured_us, 1.25);
}

// Two waves of tiles of 256 x 128 on 132 SMs: 8 x 16 are one wave.
TEST(ContentionKindTest, ProductsThatSplitStaticallySayNothing) {
  KernelLog log = kernel_log();
  log.kernels = {{.kernel = square_gemm(2048), .us = 20.0, .beside_us = 30.0, .beside_ctas = 16}};
  EXPECT_TRUE(fits_of("contention", {log}, four_gpus().profile)[0].samples.empty());
}

}  // namespace
}  // namespace weft::measured
