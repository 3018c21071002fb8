#include "sim/workloads/kernels/contention.h"

#include <gtest/gtest.h>

namespace weft::work {
namespace {

using namespace literals;

TEST(ContentionTest, FactorsGrowWithTheSmsThatACollectiveHolds) {
  const ContentionCosts costs{.gemm = 1.4, .attention = 1.2, .memory = 1.3};
  EXPECT_DOUBLE_EQ(slowdown_beside(costs, KernelClass::kGemm, 24), 1.4);
  EXPECT_DOUBLE_EQ(slowdown_beside(costs, KernelClass::kGemm, 12), 1.2);
  EXPECT_DOUBLE_EQ(slowdown_beside(costs, KernelClass::kAttention, 24), 1.2);
  EXPECT_DOUBLE_EQ(slowdown_beside(costs, KernelClass::kMemory, 24), 1.3);
  EXPECT_DOUBLE_EQ(slowdown_beside(costs, KernelClass::kOptimizer, 24), 1.3);
  EXPECT_DOUBLE_EQ(slowdown_beside(costs, KernelClass::kGemm, 0), 1.0);
}

TEST(ContentionTest, ACollectiveIsSlowedByComputeBesideIt) {
  EXPECT_EQ(collective_slowdown({.collective = 1.13}, true), 1.13);
  EXPECT_EQ(collective_slowdown({.collective = 1.13}, false), 1.0);
}

TEST(ContentionTest, ACollectiveIsSlowedMostBesideAFullMemory) {
  const ContentionCosts costs{.collective = 1.1, .collective_memory = 1.8};
  EXPECT_EQ(collective_slowdown(costs, true, true), 1.8);
  EXPECT_EQ(collective_slowdown({.collective = 2.0, .collective_memory = 1.8}, true, true), 2.0);
  // Its blocks need 1.2 of the time that it takes alone for their traffic, at what an SM gets, and get half of that.
  const ContentionCosts half{.collective = 1.1, .collective_memory = 1.8, .block_memory_share = 0.5};
  EXPECT_DOUBLE_EQ(collective_slowdown(half, true, true, 1.2), 2.4);
  EXPECT_EQ(collective_slowdown(half, true, true, 0.8), 1.8);
  EXPECT_EQ(collective_slowdown(half, true, false, 1.2), 1.1) << "the memory is not full";
  EXPECT_TRUE(fills_memory(KernelClass::kMemory, 2147483648.0));
  EXPECT_FALSE(fills_memory(KernelClass::kMemory, 1e9));
  EXPECT_FALSE(fills_memory(KernelClass::kGemm, 1e10));
}

TEST(ContentionTest, AGemmFillsTheGpuAndAttentionDoesNot) {
  EXPECT_TRUE(fills_gpu(KernelClass::kGemm));
  EXPECT_FALSE(fills_gpu(KernelClass::kAttention));
}

TEST(ContentionTest, AGemmDrainsBeforeItsEndButForAShareOfItsTimeAtMost) {
  const ContentionCosts costs{.gemm_drain = 30_us, .gemm_drain_share = 0.1};
  EXPECT_EQ(gemm_drain(costs, 1_ms), 30_us);
  EXPECT_EQ(gemm_drain(costs, 300_us), 30_us);
  EXPECT_EQ(gemm_drain(costs, 200_us), 20_us);
  EXPECT_EQ(gemm_drain(costs, 0_us), 0_us);
}

}  // namespace
}  // namespace weft::work
