#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/measured/fit/calibrate.h"
#include "sim/workloads/kernels/clock.h"
#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

// 700 W: at rest 0.17 of it. A product that wants a power of tensor x share takes the root of that over 0.83 as long.
TEST(ClockKindTest, ThePowerOfTensorCoresComesFromProductsInARowOfNothingElse) {
  const net::Cluster cluster = four_gpus("gpu.power.memory: {value: 0, source: assumed}");
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  KernelLog log{.file = "rows.jsonl", .gpu = "h200_sxm", .machine = "H200", .digest = "0123456789abcdef"};
  for (const std::int64_t size : {4096, 8192}) {
    const work::Kernel kernel = square_gemm(size);
    const Duration alone = times.alone(kernel);
    const double share = kernel.flops() / 989e12 / (alone + times.gap()).seconds();
    log.kernels.push_back({.kernel = kernel, .sustained_us = alone.us() * std::sqrt(1.8 * share / 0.83)});
  }
  const CalibrationResult result = calibrate_kernels(cluster.profile, {log}, "2026-11-21");
  EXPECT_NEAR(result.profile.get(work::power_costs).tensor, 1.8, 0.02);

  log.kernels.pop_back();
  const double kept = cluster.profile.get(work::power_costs).tensor;
  EXPECT_EQ(calibrate_kernels(cluster.profile, {log}, "2026-11-21").profile.get(work::power_costs).tensor, kept);
}

}  // namespace
}  // namespace weft::measured
