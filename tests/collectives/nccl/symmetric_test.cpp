// NCCL's choice among its kernels for symmetric memory, by the estimate of its source.
#include "sim/collectives/nccl/symmetric.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::coll::nccl {
namespace {

SymmetricCall all_reduce(int ranks, std::int64_t bytes, int sm = 90) {
  return {.kind = Collective::kAllReduce, .bytes = bytes, .ranks = ranks, .sm = sm, .multicasts = true, .adds_up = true};
}

// Without data LL starts in 4.5 us and the others in 7.8; on Blackwell in 11 and 19.5, an all-gather in 8.5 and 13.
TEST(NcclSymmetricTest, SmallCallsAreLowLatencyOnOneBlock) {
  const auto hopper = symmetric_kernel(all_reduce(8, 8));
  ASSERT_TRUE(hopper);
  EXPECT_EQ(hopper->name, "AGxLLMC_R");
  EXPECT_EQ(hopper->blocks, 1);
  EXPECT_DOUBLE_EQ(hopper->start_us, 4.5);
  EXPECT_DOUBLE_EQ(symmetric_kernel(all_reduce(8, 8, 100))->start_us, 11.0);
  SymmetricCall gather = all_reduce(8, 8, 100);
  gather.kind = Collective::kAllGather;
  EXPECT_DOUBLE_EQ(symmetric_kernel(gather)->start_us, 8.5);
  EXPECT_EQ(symmetric_kernel(gather)->name, "LLMC");
}

// 16 blocks of Hopper are shared by the ranks: 2 for 8. 1 MiB in LL counts as 72 MiB, in the switch as 1 1/8 MiB.
TEST(NcclSymmetricTest, LargeCallsGoThroughTheSwitchOnFewBlocks) {
  const auto large = symmetric_kernel(all_reduce(8, 1 << 20));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->name, "RSxLDMC_AGxSTMC");
  EXPECT_LE(large->blocks, 2);
  EXPECT_TRUE(large->in_switch);
  EXPECT_DOUBLE_EQ(large->bytes, (1 << 20) * 9.0 / 8.0);
  EXPECT_EQ(symmetric_kernel(all_reduce(4, 1 << 24))->name, "RSxLDMC_AGxSTMC");
}

TEST(NcclSymmetricTest, WithoutASwitchThatAddsUpItLoadsAndStores) {
  SymmetricCall call = all_reduce(8, 1 << 24);
  call.adds_up = false;
  EXPECT_EQ(symmetric_kernel(call)->name, "RSxLD_AGxST");
  call.multicasts = false;
  call.bytes = 8;
  EXPECT_EQ(symmetric_kernel(call)->name, "AGxLL_R");
}

TEST(NcclSymmetricTest, OthersThanSumsOfFloatsHaveNoKernelButAllGather) {
  SymmetricCall call = all_reduce(8, 8);
  call.is_summed = false;
  EXPECT_FALSE(symmetric_kernel(call));
  call.kind = Collective::kAllGather;
  EXPECT_TRUE(symmetric_kernel(call));
  call.kind = Collective::kAllToAll;
  EXPECT_FALSE(symmetric_kernel(call));
}

// All-gather and reduce-scatter both have an LL kernel.
TEST(NcclSymmetricTest, AKernelIsFoundByItsNameWithinItsCollective) {
  SymmetricCall call = all_reduce(8, 1 << 20);
  for (const Collective kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
    call.kind = kind;
    for (const std::int64_t bytes : {8, 1 << 24}) {
      call.bytes = bytes;
      const auto picked = symmetric_kernel(call);
      const auto named = symmetric_kernel(call, picked->name);
      ASSERT_TRUE(named);
      EXPECT_EQ(named->blocks, picked->blocks);
      EXPECT_DOUBLE_EQ(named->bytes, picked->bytes);
    }
  }
  EXPECT_FALSE(symmetric_kernel(call, "STMC"));  // an all-gather's
}

// LL counts elements in 32 bits: below 2 GiB; nothing takes 64 GiB.
TEST(NcclSymmetricTest, VeryLargeCallsHaveNoKernel) {
  EXPECT_TRUE(symmetric_kernel(all_reduce(8, (std::int64_t{64} << 30) - 1)));
  EXPECT_FALSE(symmetric_kernel(all_reduce(8, std::int64_t{64} << 30)));
}

// ln(1 + e^(bytes / rate - 1)): 0.3133 us without data, and of 100 us of data 99.
TEST(NcclSymmetricTest, TheFirstMicrosecondOfDataIsInTheStart) {
  const SymmetricKernel kernel{.name = "LL", .bytes = 1e7, .on_links = 1e7, .blocks_per_us = 1e6};
  EXPECT_NEAR(kernel.moving_us(1e5), 99.0, 1e-9);
  EXPECT_NEAR(kernel.moving_us(0), std::log1p(std::exp(9.0)), 1e-9);
  // LL: 90 MB of work for its blocks, 20 MB on the links.
  const SymmetricKernel low_latency{.name = "LL", .bytes = 9e7, .on_links = 2e7, .blocks_per_us = 1e6};
  EXPECT_NEAR(low_latency.moving_us(1e6), 89.0, 1e-9);
  EXPECT_NEAR(low_latency.moving_us(1e5), 199.0, 1e-9);
  EXPECT_NEAR((SymmetricKernel{.name = "LL", .bytes = 0, .blocks_per_us = 1e6}).moving_us(1e5), std::log1p(std::exp(-1.0)),
              1e-9);
}

}  // namespace
}  // namespace weft::coll::nccl
