#include "sim/collectives/call.h"

#include <gtest/gtest.h>

#include "sim/core/error.h"

namespace weft::coll {
namespace {

using namespace weft::literals;

CallSizes sizes(Collective kind, Bytes bytes, int ranks, std::int64_t element_size = 4) {
  return sizes_of({.kind = kind, .bytes = bytes, .element_size = element_size, .root = 0}, ranks);
}

TEST(CallTest, NamesOfCollectivesReadBack) {
  for (const auto name :
       {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv", "gather", "scatter"}) {
    ASSERT_TRUE(collective_from(name).has_value()) << name;
    EXPECT_EQ(to_string(*collective_from(name)), name);
  }
  EXPECT_FALSE(collective_from("allreduce").has_value());
}

TEST(CallTest, VectorCollectivesHoldTheWholeSizeOnEveryRank) {
  for (const Collective kind : {Collective::kAllReduce, Collective::kBroadcast, Collective::kReduce, Collective::kSendRecv}) {
    const CallSizes s = sizes(kind, 1_MiB, 8);
    EXPECT_EQ(s.input, 1_MiB);
    EXPECT_EQ(s.output, 1_MiB);
    EXPECT_EQ(s.reported, 1_MiB);
    EXPECT_EQ(s.count, 262'144);
  }
}

TEST(CallTest, WhatIsLessThanAnElementIsCutOff) {
  EXPECT_EQ(sizes(Collective::kAllReduce, 11_B, 8).count, 2);
  EXPECT_EQ(sizes(Collective::kAllReduce, 11_B, 8).reported, 8_B);
  EXPECT_EQ(sizes(Collective::kAllReduce, 3_B, 8).reported, 0_B);
}

TEST(CallTest, SharedCollectivesCutTheSizeOverTheRanks) {
  const CallSizes gather = sizes(Collective::kAllGather, 1024_B, 4);
  EXPECT_EQ(gather.input, 256_B);
  EXPECT_EQ(gather.output, 1024_B);
  EXPECT_EQ(gather.count, 64);  // floats of one rank

  const CallSizes scatter = sizes(Collective::kReduceScatter, 1024_B, 4);
  EXPECT_EQ(scatter.input, 1024_B);
  EXPECT_EQ(scatter.output, 256_B);
  EXPECT_EQ(scatter.count, 64);

  const CallSizes exchange = sizes(Collective::kAllToAll, 1024_B, 4);
  EXPECT_EQ(exchange.input, 1024_B);
  EXPECT_EQ(exchange.output, 1024_B);
  EXPECT_EQ(exchange.count, 64);

  EXPECT_EQ(sizes(Collective::kGather, 1024_B, 4).input, 256_B);
  EXPECT_EQ(sizes(Collective::kGather, 1024_B, 4).output, 1024_B);
  EXPECT_EQ(sizes(Collective::kScatter, 1024_B, 4).input, 1024_B);
  EXPECT_EQ(sizes(Collective::kScatter, 1024_B, 4).output, 256_B);
}

// As nccl-tests printed on four and on two GPUs: 8, 16, 32 B become 0 for an all-gather of four, 64 B is 4 floats a rank.
TEST(CallTest, SharesAreWholeUnitsOfSixteenBytesAndTooSmallOnesAreZero) {
  EXPECT_EQ(sizes(Collective::kAllGather, 63_B, 4).reported, 0_B);
  EXPECT_EQ(sizes(Collective::kAllGather, 63_B, 4).count, 0);
  EXPECT_EQ(sizes(Collective::kAllGather, 64_B, 4).reported, 64_B);
  EXPECT_EQ(sizes(Collective::kAllGather, 64_B, 4).count, 4);
  EXPECT_EQ(sizes(Collective::kAllGather, 127_B, 4).reported, 64_B);
  EXPECT_EQ(sizes(Collective::kAllGather, 128_B, 4).reported, 128_B);
  EXPECT_EQ(sizes(Collective::kAllToAll, 16_B, 2).reported, 0_B);
  EXPECT_EQ(sizes(Collective::kAllToAll, 32_B, 2).count, 4);
  // 100 floats over 3 ranks: 33 each, cut to 32.
  EXPECT_EQ(sizes(Collective::kScatter, 400_B, 3).output, 128_B);
  EXPECT_EQ(sizes(Collective::kScatter, 400_B, 3).reported, 384_B);
}

TEST(CallTest, TheUnitOfSixteenBytesHoldsForEveryElementSize) {
  for (const std::int64_t element : {1, 2, 4, 8}) {
    EXPECT_EQ(sizes(Collective::kAllGather, 79_B, 5, element).count, 0);
    EXPECT_EQ(sizes(Collective::kAllGather, 80_B, 5, element).count, 16 / element);
  }
}

// NCCL builds kernels that add nothing up for bytes alone.
TEST(CallTest, KernelsThatCopyHandleBytes) {
  for (const Collective kind : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce})
    EXPECT_EQ(kernel_element_size({.kind = kind, .element_size = 2}), 2);
  for (const Collective kind : {Collective::kAllGather, Collective::kBroadcast, Collective::kAllToAll, Collective::kSendRecv})
    EXPECT_EQ(kernel_element_size({.kind = kind, .element_size = 2}), 1);
}

TEST(CallTest, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllToAll, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kReduce, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kSendRecv, 8), 1);
}

TEST(CallTest, NegativeSizesAndOddElementsAreBugsOfTheCaller) {
  EXPECT_THROW((void)sizes(Collective::kAllReduce, Bytes{-1}, 2), InternalError);
  EXPECT_THROW((void)sizes(Collective::kAllReduce, 8_B, 2, 3), InternalError);
  EXPECT_THROW((void)sizes(Collective::kAllReduce, 8_B, 0), InternalError);
}

}  // namespace
}  // namespace weft::coll
