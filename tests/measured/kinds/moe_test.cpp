#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/workloads/kernels/experts.h"
#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

// 64 experts on 8 GPUs, columns halved over two more: 8 experts of 768 columns, 1024 x 4 / 8 visits.
MeasuredPoint moe() {
  MeasuredPoint point = record_of("moe", "", 100);
  point.type = "bf16";
  point.m = 1024;
  point.n = 768;
  point.k = 2048;
  point.experts = 64;
  point.top_k = 4;
  point.expert_ranks = 8;
  return point;
}

TEST(MoeKindTest, ARecordIsOneCallOfTheGpuWithMostToDo) {
  const std::vector<work::Kernel> even = kernels_of(moe());
  ASSERT_EQ(even.size(), 1U);
  EXPECT_EQ(even.front().kind, work::KernelKind::kExperts);
  EXPECT_EQ(even.front().batch, 8);
  EXPECT_DOUBLE_EQ(even.front().visits, 4096);
  EXPECT_DOUBLE_EQ(even.front().expert_rows, 512);
  EXPECT_DOUBLE_EQ(even.front().experts_used, 8);
  EXPECT_FALSE(even.front().uneven);
  MeasuredPoint skewed = moe();
  skewed.power_law = 1.2;
  const work::Kernel heavy = kernels_of(skewed).front();
  EXPECT_TRUE(heavy.uneven);
  EXPECT_DOUBLE_EQ(heavy.expert_rows, work::heaviest_expert_load(1024, 4, 64, 8, 1.2).rows);
}

TEST(MoeKindTest, TakesTheCallsTimeAndTheGapBeforeIt) {
  const net::Cluster cluster = four_gpus();
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  const ValidationPoint point = predicted(moe(), cluster);
  EXPECT_NEAR(*point.predicted_us, (times.alone(kernels_of(moe()).front()) + times.gap()).us(), 1e-6);
  EXPECT_DOUBLE_EQ(point.flops, 2.0 * 512 * 3 * 768 * 2048);
  EXPECT_EQ(point.bytes, Bytes{2 * 3 * 8 * 768 * 2048});
}

TEST(MoeKindTest, ATypeWithoutAModelSaysSo) {
  MeasuredPoint point = moe();
  point.type = "w4a8";
  EXPECT_EQ(predicted(point).predicted_us, std::nullopt);
  point = moe();
  point.top_k = 0;
  EXPECT_EQ(predicted(point).predicted_us, std::nullopt);
}

}  // namespace
}  // namespace weft::measured
