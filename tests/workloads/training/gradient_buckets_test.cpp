#include "sim/workloads/training/gradient_buckets.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/workloads/training/eager_kernels.h"

namespace weft::work {
namespace {

using namespace weft::literals;

// Known answer 28: 100 tensors of 4 MiB, cap 25 MiB, first 1 MiB. The first closes with one tensor, the others with 7 (28 MiB):
// 99 = 14 x 7 + 1, so 16 buckets.
TEST(BucketFillerTest, KnownAnswer28) {
  BucketFiller filler{1_MiB, 25_MiB};
  std::vector<Bytes> buckets;
  for (int i = 0; i < 100; ++i) {
    if (const auto closed = filler.add(4_MiB)) buckets.push_back(*closed);
  }
  if (const auto rest = filler.flush()) buckets.push_back(*rest);
  ASSERT_EQ(buckets.size(), 16U);
  EXPECT_EQ(buckets.front(), 4_MiB);
  EXPECT_EQ(buckets[1], 28_MiB);
  EXPECT_EQ(buckets.back(), 4_MiB);
}

TEST(BucketFillerTest, ClosesAtItsCapAndNotAByteBelow) {
  BucketFiller filler{4_B, 100_B};
  EXPECT_EQ(filler.add(3_B), std::nullopt);
  EXPECT_EQ(filler.add(1_B), 4_B);
  EXPECT_EQ(filler.add(99_B), std::nullopt);
  EXPECT_EQ(filler.add(1_B), 100_B);
  EXPECT_EQ(filler.flush(), std::nullopt);
}

TEST(MegatronBucketTest, KnownAnswer29) {
  EXPECT_EQ(megatron_bucket_parameters(8), 40'000'000);
  EXPECT_EQ(megatron_bucket_parameters(128), 128'000'000);
  EXPECT_EQ(megatron_bucket_parameters(40), 40'000'000);
  EXPECT_EQ(megatron_bucket_parameters(41), 41'000'000);
}

TEST(MultiTensorLaunchesTest, PackChunksOfSeveralTensorsIntoOneLaunch) {
  // 319 whole chunks, a tensor of one element, which takes a chunk, and the next tensor begins a new launch.
  EXPECT_EQ(multi_tensor_launches({319 * 65'536, 1, 70'000}), (std::vector<std::int64_t>{319 * 65'536 + 1, 70'000}));
  EXPECT_EQ(multi_tensor_launches({320 * 65'536}), (std::vector<std::int64_t>{320 * 65'536}));
  EXPECT_EQ(multi_tensor_launches({320 * 65'536 + 1}), (std::vector<std::int64_t>{320 * 65'536, 1}));
}

}  // namespace
}  // namespace weft::work
