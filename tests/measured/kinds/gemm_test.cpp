#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "sim/workloads/kernels/clock.h"
#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(GemmKindTest, TakesAKernelsTimeAloneAndTheGapBeforeIt) {
  const net::Cluster cluster = four_gpus();
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  const ValidationPoint point = predicted(gemm(4096, 200));
  EXPECT_NEAR(*point.predicted_us, (times.alone(square_gemm(4096)) + times.gap()).us(), 1e-6);
  EXPECT_DOUBLE_EQ(point.flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_EQ(point.bytes, Bytes{3 * 2 * 4096 * 4096});
}

TEST(GemmKindTest, InAGraphTheGapBeforeItIsTheGraphs) {
  const net::Cluster cluster = four_gpus("gpu.stream.graph_gap: {value: 300 ns, source: assumed}");
  MeasuredPoint point = gemm(4096, 200);
  const double in_stream = *predicted(point, cluster).predicted_us;
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  point.graph = true;
  EXPECT_NEAR(*predicted(point, cluster).predicted_us, in_stream - times.gap().us() + 0.3, 1e-6);
}

TEST(GemmKindTest, ARecordSaysHowItsOperandsAreScaledAndReused) {
  MeasuredPoint point = gemm(1024, 10);
  point.type = "fp8";
  point.scales = "block";
  point.quantized = true;
  point.weight_copies = 5;
  const std::vector<work::Kernel> kernels = kernels_of(point);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels.front().scaling, work::Scaling::kBlock);
  EXPECT_TRUE(kernels.front().quantizes);
  EXPECT_EQ(kernels.front().weight_copies, 5);
}

TEST(GemmKindTest, IntegersHaveFitsOfTheirOwn) {
  MeasuredPoint point = gemm(1024, 10);
  KernelLog log = kernel_log();
  for (const auto& [type, precision] : {std::pair{"int8", work::Precision::kInt8}, std::pair{"w8a16", work::Precision::kW8A16},
                                        std::pair{"w4a16", work::Precision::kW4A16}}) {
    point.type = type;
    const work::Kernel kernel = kernels_of(point).front();
    EXPECT_EQ(kernel.precision, precision);
    for (int i = 0; i < 100; ++i) log.kernels.push_back({.kernel = kernel, .us = 10.0});
  }
  // 200 rows tell costs apart: of weights of 8 and of 4 bits together, and not of the 100 of INT8.
  const std::vector<FitPart> parts = fits_of("gemm", {log}, four_gpus().profile);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_TRUE(parts[0].samples.empty()) << "bf16";
  EXPECT_EQ(parts[1].id, "gemm_weight_only");
  EXPECT_EQ(parts[1].samples.size(), 200U);
}

TEST(GemmKindTest, TakesTheHostsTimeWhereAFrameworkIsSlowerThanTheKernel) {
  MeasuredPoint small = gemm(256, 17.3);
  small.host_us = 17;
  const ValidationPoint point = predicted(small);
  EXPECT_DOUBLE_EQ(*point.predicted_us, 17);
  EXPECT_TRUE(point.is_cpu_time);
  EXPECT_EQ(exclusion_of(point), Exclusion::kCpuTime);
}

TEST(GemmKindTest, WhatIsQueuedBeforehandTakesNoLaunch) {
  // Records of `weft measure` are times on the device: a launch of 1 ms is in none of them.
  const net::Cluster cluster = four_gpus("device.launch.host_cost: {value: 1 ms, source: assumed}");
  for (const MeasuredPoint& point : {gemm(64, 3), copy({{0, 1}}, 4096)})
    EXPECT_LT(*predicted(point, cluster).predicted_us, 20.0) << point.kind;
}

TEST(GemmKindTest, InARowOfNothingElseTheClockFalls) {
  const net::Cluster cluster = four_gpus("gpu.power.memory: {value: 0, source: assumed}");
  MeasuredPoint sustained = gemm(8192, 1500);
  sustained.sustained = true;
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  const Duration alone = times.alone(square_gemm(8192));
  // 120 of 700 W at rest; tensor cores want 1.49 of them for their whole peak rate of 989 TFLOP/s.
  const double share = 2 * std::pow(8192.0, 3) / 989e12 / (alone + times.gap()).seconds();
  const double slowdown = std::sqrt(1.49 * share / 0.83);
  EXPECT_GT(slowdown, 1.1);
  EXPECT_NEAR(*predicted(sustained, cluster).predicted_us, alone.us() * slowdown + times.gap().us(), 0.005 * alone.us());
  EXPECT_EQ(predicted(sustained).algorithm, "8192 x 8192 x 8192 bf16, sustained");
}

TEST(GemmKindTest, NumbersOfOneByteTakeHalfTheBytesOfTwoAndWordsTwice) {
  MeasuredPoint point = gemm(1024, 10);
  const Bytes of_two = predicted(point).bytes;
  point.type = "fp8";
  EXPECT_EQ(2 * predicted(point).bytes, of_two);
  point.type = "tf32";
  EXPECT_EQ(predicted(point).bytes, 2 * of_two);
}

TEST(GemmKindTest, SaysWhatItDoesNotKnow) {
  MeasuredPoint point = gemm(1024, 10);
  point.type = "int4";
  EXPECT_EQ(predicted(point).not_modelled, "element type 'int4'");
  point.type = "bf16";
  point.k = 0;
  EXPECT_EQ(predicted(point).not_modelled, "the record does not say how large it is");
}

TEST(GemmKindTest, IsFittedToProductsAndNothingElse) {
  KernelLog log = kernel_log();
  log.kernels = {{.kernel = square_gemm(4096), .us = 200.0}, {.kernel = square_gemm(64)}};
  log.kernels.push_back({.kernel = {.kind = work::KernelKind::kCopy, .bytes = 1e8}, .us = 70.0});
  const std::vector<FitPart> parts = fits_of("gemm", {log}, four_gpus().profile);
  ASSERT_EQ(parts.size(), 1U);
  ASSERT_EQ(parts[0].samples.size(), 1U) << "one was never seen alone";
  EXPECT_EQ(parts[0].samples[0].point.measured_us, 200.0);
  EXPECT_EQ(parts[0].samples[0].point.algorithm, "gemm 4096 x 4096 x 4096");
}

}  // namespace
}  // namespace weft::measured
