#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;
using work::Kernel;
using work::KernelKind;

MeasuredPoint attention_record(const std::string& method) {
  MeasuredPoint point = record_of("attention", method, 100);
  point.type = "bf16";
  point.m = point.n = 2048;
  point.k = 128;
  point.batch = 32;
  return point;
}

Kernel attention_of(KernelKind kind) { return {.kind = kind, .m = 2048, .n = 2048, .k = 128, .batch = 32, .causal = false}; }

TEST(AttentionKindTest, OfSingleKernelsIsTwoProductsAndASoftmaxBetweenThem) {
  const net::Cluster cluster = four_gpus();
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  const double scores = 32.0 * 2048 * 2048;  // rows of more than the least
  // Written and read again, two bytes each.
  const Kernel softmax{
      .kind = KernelKind::kStrided, .strided = work::StridedKind::kScoresSoftmax, .elements = scores, .bytes = 4 * scores};
  const double alone = times.alone({.kind = KernelKind::kGemm, .m = 2048, .n = 2048, .k = 128, .batch = 32}).us() +
                       times.alone(softmax).us() +
                       times.alone({.kind = KernelKind::kGemm, .m = 2048, .n = 128, .k = 2048, .batch = 32}).us();
  const ValidationPoint point = predicted(attention_record("gemm_softmax_gemm"));
  EXPECT_NEAR(*point.predicted_us, alone + 3 * times.gap().us(), 1e-6);
  EXPECT_EQ(point.algorithm, "gemm_softmax_gemm: 32 x 2048 x 128");
  EXPECT_EQ(point.bytes, Bytes{4 * 2 * 32 * 2048 * 128}) << "queries, keys, values and the result";
}

TEST(AttentionKindTest, FlashIsOneKernelForwardAndFourMoreBackward) {
  const net::Cluster cluster = four_gpus();
  const work::KernelTimes times{work::gpu_spec("h200_sxm"), cluster.profile};
  MeasuredPoint record = attention_record("flash");
  const double forward = times.alone(attention_of(KernelKind::kAttentionForward)).us();
  EXPECT_NEAR(*predicted(record).predicted_us, forward + times.gap().us(), 1e-6);
  record.backward = true;
  const double backward = times.alone(attention_of(KernelKind::kAttentionBackward)).us();
  const double ends =
      times.alone({.kind = KernelKind::kStrided, .strided = work::StridedKind::kAttentionEnds, .elements = 32.0 * 2048 * 128})
          .us();
  EXPECT_NEAR(*predicted(record).predicted_us, forward + backward + 2 * ends + 4 * times.gap().us(), 1e-6);
}

TEST(AttentionKindTest, OverAPagedCacheIsOneKernelOfItsGroups) {
  // 64 heads of 8 keys' each, 2 sequences: 4 B an element of bf16 to make the query's, 3 B to write a cache of FP8.
  MeasuredPoint record = attention_record("flash");
  record.batch = 2 * 64;
  record.heads = 64;
  record.kv_group = 8;
  record.value_width = 128;
  record.window = 1024;
  record.cache_type = "fp8";
  Kernel kernel = kernels_of(record).front();
  EXPECT_EQ(kernel.use, work::AttentionUse::kPrefill);
  EXPECT_EQ(kernel.kv_group, 8);
  EXPECT_EQ(kernel.window, 1024);
  EXPECT_DOUBLE_EQ(kernel.cached_width, 1);
  EXPECT_DOUBLE_EQ(kernel.cache_written, 2.0 * 2048 * 8 * 256 * 3);
  record.m = 1;
  kernel = kernels_of(record).front();
  EXPECT_EQ(kernel.use, work::AttentionUse::kDecode);
  EXPECT_DOUBLE_EQ(kernel.cache_written, 0);
  record.cache_type.clear();
  EXPECT_EQ(kernels_of(record).front().use, work::AttentionUse::kTraining);
}

TEST(AttentionKindTest, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(predicted(attention_record("linear")).not_modelled, "attention kernels 'linear'");
}

TEST(AttentionKindTest, IsFittedToBothDirections) {
  KernelLog log = kernel_log();
  for (const KernelKind kind : {KernelKind::kAttentionForward, KernelKind::kAttentionBackward, KernelKind::kGemm})
    log.kernels.push_back({.kernel = attention_of(kind), .us = 50.0});
  const std::vector<FitPart> parts = fits_of("attention", {log}, four_gpus().profile);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].samples.size(), 2U);
}

}  // namespace
}  // namespace weft::measured
