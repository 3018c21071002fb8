// Attention of serving engines by its shapes: groups of heads, widths, parts of the keys, what is read.
#include "sim/workloads/kernels/paged_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace weft::work {
namespace {

// Half of the peak and of the bandwidth, and nothing else.
PagedAttentionCosts bare_paged() {
  PagedAttentionCosts costs;
  costs.efficiency = costs.memory_efficiency = costs.write_efficiency = 0.5;
  costs.softmax = costs.tail = costs.edge_keys = 0;
  costs.fixed = costs.block_overhead = Duration{};
  costs.fp8_rate = costs.fp8_load = 1;
  costs.sm_bytes_per_clock = 1000;
  return costs;
}

constexpr double kPagedSmFlops = 989e12 * 0.5 / 132;  // an H200's

Kernel paged_kernel(AttentionUse use, std::int64_t queries, std::int64_t keys, std::int64_t heads) {
  Kernel kernel{.kind = KernelKind::kAttentionForward, .m = queries, .n = keys, .k = 128, .batch = heads, .causal = false};
  kernel.use = use;
  kernel.bytes = 1;
  return kernel;
}

double paged_seconds(const Kernel& kernel, const PagedAttentionCosts& costs = bare_paged()) {
  const GpuSpec& gpu = gpu_spec("h200_sxm");
  return paged_attention_seconds(kernel, gpu, costs, gpu.sms);
}

TEST(PagedAttentionTest, HeadsOfAGroupShareBlocksOfAPrompt) {
  // 8 heads of 16 queries: eight blocks of 64 rows each, side by side, or one of 128.
  Kernel kernel = paged_kernel(AttentionUse::kPrefill, 16, 1 << 14, 8);
  EXPECT_NEAR(paged_seconds(kernel), 64.0 * (1 << 14) * 512 / kPagedSmFlops, 1e-12);
  kernel.kv_group = 8;
  EXPECT_NEAR(paged_seconds(kernel), 128.0 * (1 << 14) * 512 / kPagedSmFlops, 1e-12);
}

TEST(PagedAttentionTest, TheSoftmaxWeighsMoreOnNarrowHeads) {
  // (2 x 128 + 512) 512 / 1024 FLOPs a pair in place of 256; heads 128 wide keep theirs.
  PagedAttentionCosts costs = bare_paged();
  costs.softmax = 512;
  Kernel kernel = paged_kernel(AttentionUse::kPrefill, 128, 1 << 14, 8);
  EXPECT_NEAR(paged_seconds(kernel, costs), paged_seconds(kernel), 1e-12);
  kernel.k = 64;
  EXPECT_NEAR(paged_seconds(kernel, costs), 1.5 * paged_seconds(kernel), 1e-12);
}

TEST(PagedAttentionTest, AWindowsBlocksComputeTheKeysAtItsEdges) {
  // 132 x 64 blocks of 128 queries: a window of 128 keys, and 64 at its edges.
  PagedAttentionCosts costs = bare_paged();
  Kernel kernel = paged_kernel(AttentionUse::kPrefill, 128, 1 << 14, 132 * 64);
  kernel.window = 128;
  const double alone = paged_seconds(kernel, costs);
  EXPECT_NEAR(alone, 64 * 128.0 * 128 * 512 / kPagedSmFlops, 1e-12);
  costs.edge_keys = 64;
  EXPECT_NEAR(paged_seconds(kernel, costs), 1.5 * alone, 1e-12);
}

TEST(PagedAttentionTest, DecodingSplitsKeysOverIdleSms) {
  // One group of 16 heads and 8192 keys: parts that take less each, and more to sum, 8 B an element at 4.8 TB/s.
  Kernel kernel = paged_kernel(AttentionUse::kDecode, 1, 8192, 16);
  kernel.kv_group = 16;
  double best = 1;
  for (int parts = 1; parts <= 128; parts *= 2)
    best = std::min(best, 8192.0 / parts * 16 * 512 / kPagedSmFlops + (parts > 1 ? parts * 16 * 128 * 8 / 4.8e12 : 0));
  EXPECT_NEAR(paged_seconds(kernel), best, 1e-12);
  EXPECT_LT(paged_seconds(kernel), 8192.0 * 16 * 512 / kPagedSmFlops / 20);
}

TEST(PagedAttentionTest, AGroupsQueriesArePaddedToARowOfTheTensorCores) {
  Kernel kernel = paged_kernel(AttentionUse::kDecode, 1, 1 << 16, 132 * 17);
  kernel.kv_group = 17;
  const double padded = paged_seconds(kernel);
  kernel.batch = 132 * 32;
  kernel.kv_group = 32;
  EXPECT_NEAR(padded, paged_seconds(kernel), 1e-12);
}

TEST(PagedAttentionTest, LatentKeysHoldTheirValuesAndAreReadOnce) {
  PagedAttentionCosts costs = bare_paged();
  costs.sm_bytes_per_clock = 1;  // loads decide
  Kernel kernel = paged_kernel(AttentionUse::kDecode, 1, 1 << 14, 132);
  kernel.k = 576;
  kernel.value_dim = 512;
  const double apart = paged_seconds(kernel, costs);
  EXPECT_NEAR(apart, (1 << 14) * (576.0 + 512) * 2 / 1.83e9, 1e-9 * apart);
  kernel.latent = true;
  EXPECT_NEAR(paged_seconds(kernel, costs), apart * 576 / (576 + 512), 1e-9 * apart);
  kernel.cached_width = 1;
  EXPECT_NEAR(paged_seconds(kernel, costs), apart * 288 / (576 + 512), 1e-9 * apart);
}

TEST(PagedAttentionTest, AnswersReadWhatIsCached) {
  // 132 groups of 16 heads, 65536 keys and values of 128 elements of 2 B, queries and results beside them; computing is hidden
  // by the square root of the sum of squares.
  Kernel kernel = paged_kernel(AttentionUse::kDecode, 1, 1 << 16, 132 * 16);
  kernel.kv_group = 16;
  const double computing = paged_seconds(kernel);
  kernel.bytes = 0;
  const double bytes = 132.0 * (1 << 16) * 512 + 132.0 * 16 * 512;
  EXPECT_NEAR(paged_seconds(kernel), std::hypot(computing, bytes / 2.4e12), 1e-9);
  kernel.repeated = true;
  EXPECT_NEAR(paged_seconds(kernel), std::hypot(computing, bytes / 2.4e12), 1e-9) << "4 GB do not stay in the L2";
}

TEST(PagedAttentionTest, CallsOfAStepDoNotPayTheGraphOfABenchmarksCall) {
  PagedAttentionCosts costs = bare_paged();
  costs.fixed = 12_us;
  Kernel kernel = paged_kernel(AttentionUse::kPrefill, 1024, 1024, 8);
  const double alone = paged_seconds(kernel);
  EXPECT_NEAR(paged_seconds(kernel, costs), alone + 3e-6, 1e-12);
  kernel.repeated = true;
  EXPECT_NEAR(paged_seconds(kernel, costs), alone + 12e-6, 1e-12);
}

TEST(PagedAttentionTest, WritingTheCacheAddsItsBytes) {
  Kernel kernel = paged_kernel(AttentionUse::kPrefill, 1024, 1024, 8);
  const double alone = paged_seconds(kernel);
  kernel.cache_written = 2.4e9;
  EXPECT_NEAR(paged_seconds(kernel), alone + 1e-3, 1e-9);
}

}  // namespace
}  // namespace weft::work
