#include "sim/workloads/kernels/kernel.h"

#include <gtest/gtest.h>

namespace weft::work {
namespace {

TEST(KernelTest, AGemmMultipliesAndAddsForEveryInnerElement) {
  EXPECT_EQ((Kernel{.kind = KernelKind::kGemm, .m = 3, .n = 5, .k = 7, .batch = 2}.flops()), 2 * 2 * 3 * 5 * 7);
}

TEST(KernelTest, CausalAttentionComputesHalfAndItsBackwardTwoAndAHalfTimesThat) {
  // models/workloads §1.2: 4 T s h in full, 2 T s h causal; T = s = 2048, h = 32 x 128.
  Kernel kernel{.kind = KernelKind::kAttentionForward, .m = 2048, .n = 2048, .k = 128, .batch = 32};
  EXPECT_EQ(kernel.flops(), 2.0 * 2048 * 2048 * 4096);
  kernel.kind = KernelKind::kAttentionBackward;
  EXPECT_EQ(kernel.flops(), 5.0 * 2048 * 2048 * 4096);
  kernel.causal = false;
  EXPECT_EQ(kernel.flops(), 10.0 * 2048 * 2048 * 4096);
}

TEST(KernelTest, LatentAttentionCountsScoreAndValueWidthsApart) {
  // DeepSeek-V3: 192 for scores, 128 for values.
  const Kernel kernel{
      .kind = KernelKind::kAttentionForward, .m = 4096, .n = 4096, .k = 192, .batch = 128, .causal = false, .value_dim = 128};
  EXPECT_EQ(kernel.flops(), 2.0 * 128 * 4096 * 4096 * (192 + 128));
}

TEST(KernelTest, AQueryOfAWindowMeetsItsWidthOnceItHasThatManyKeysBeforeIt) {
  // 1024 keys, a window of 256: the first 256 queries meet 128 on average, the other 768 meet 256.
  Kernel kernel{.kind = KernelKind::kAttentionForward, .m = 1024, .n = 1024, .k = 64, .window = 256};
  EXPECT_DOUBLE_EQ(kernel.keys_per_query(), (256 * 128 + 768 * 256) / 1024.0);
  kernel.window = 4096;  // wider than the sequence: none
  EXPECT_DOUBLE_EQ(kernel.keys_per_query(), 512);
  kernel.window = 256;
  kernel.causal = false;
  EXPECT_DOUBLE_EQ(kernel.keys_per_query(), 256);
}

TEST(KernelTest, QueriesAtTheEndOfALongerSequenceMeetTheKeysBeforeThemToo) {
  // The last 256 of 1024 positions: from 768 to 1024 keys.
  Kernel kernel{.kind = KernelKind::kAttentionForward, .m = 256, .n = 1024, .k = 64};
  EXPECT_DOUBLE_EQ(kernel.keys_per_query(), 896);
  kernel.window = 512;
  EXPECT_DOUBLE_EQ(kernel.keys_per_query(), 512);
}

TEST(KernelTest, KernelsBoundByMemoryHaveNoFlops) {
  EXPECT_EQ((Kernel{.kind = KernelKind::kNormForward, .elements = 1e6}.flops()), 0);
}

TEST(KernelTest, KindsFallIntoFourClasses) {
  EXPECT_EQ(class_of(KernelKind::kGemm), KernelClass::kGemm);
  EXPECT_EQ(class_of(KernelKind::kAttentionForward), KernelClass::kAttention);
  EXPECT_EQ(class_of(KernelKind::kAttentionBackward), KernelClass::kAttention);
  EXPECT_EQ(class_of(KernelKind::kOptimizer), KernelClass::kOptimizer);
  for (const KernelKind kind :
       {KernelKind::kElementwise, KernelKind::kStrided, KernelKind::kNormForward, KernelKind::kSoftmaxLoss,
        KernelKind::kEmbeddingBackward, KernelKind::kCopy, KernelKind::kMemset}) {
    EXPECT_EQ(class_of(kind), KernelClass::kMemory) << to_string(kind);
  }
  EXPECT_EQ(to_string(KernelKind::kMemset), "memset");
  EXPECT_EQ(to_string(KernelKind::kEmbeddingBackward), "embedding_backward");
  EXPECT_EQ(to_string(KernelClass::kOptimizer), "optimizer");
  EXPECT_EQ(to_string(StridedKind::kAttentionEnds), "attention_ends");
  EXPECT_EQ(to_string(StridedKind::kScoresSoftmax), "scores_softmax");
  EXPECT_EQ(to_string(StridedKind::kGeluBackward), "gelu_backward");
}

}  // namespace
}  // namespace weft::work
