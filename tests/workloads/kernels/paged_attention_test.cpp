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

double paged_seconds(const Kernel& kernel, const PagedAttentionCosts& costs = bare_paged(), const char* name = "h200_sxm") {
  const GpuSpec& gpu = gpu_spec(name);
  return paged_attention_seconds(kernel, gpu, costs, gpu.sms);
}

TEST(PagedAttentionTest, HeadsOfAGroupShareBlocksOfAPrompt) {
  // 8 heads of 16 queries: eight blocks of 64 rows each, side by side, or one of 128.
  Kernel kernel = paged_kernel(AttentionUse::kPrefill, 16, 1 << 14, 8);
  EXPECT_NEAR(paged_seconds(kernel), 64.0 * (1 << 14) * 512 / kPagedSmFlops, 1e-12);
  kernel.kv_group = 8;
  EXPECT_NEAR(paged_seconds(kernel), 128.0 * (1 << 14) * 512 / kPagedSmFlops, 1e-12);
}

TEST(PagedAttentionTest, HeadsOfAGroupHaveBlocksOfTheirOwnWithoutFlashAttention3OrFlashInfer) {
  for (const char* gpu : {"a100_sxm", "l40s", "b200"}) {
    Kernel kernel = paged_kernel(AttentionUse::kPrefill, 16, 1 << 14, 8);
    const double alone = paged_seconds(kernel, bare_paged(), gpu);
    kernel.kv_group = 8;
    EXPECT_NEAR(paged_seconds(kernel, bare_paged(), gpu), alone, 1e-12) << gpu;
  }
  // FlashInfer's block of 128 rows in place of eight of 64, side by side.
  Kernel kernel = paged_kernel(AttentionUse::kPrefill, 16, 1 << 14, 8);
  kernel.cached_width = 1;
  const double apart = paged_seconds(kernel, bare_paged(), "l40s");
  kernel.kv_group = 8;
  EXPECT_NEAR(paged_seconds(kernel, bare_paged(), "l40s"), 2 * apart, 1e-12);
}

TEST(PagedAttentionTest, PromptsOfHeadsOf192WithAnFp8CacheAreTritonsOutsideHopper) {
  // One block of 128 queries, and all keys: 768 FLOP a pair, at 250 a clock. An SM of H200 computes at half of its peak.
  Kernel kernel = paged_kernel(AttentionUse::kPrefill, 128, 1 << 14, 1);
  kernel.k = 192;
  kernel.cached_width = 1;
  const double pairs = 128.0 * (1 << 14);
  EXPECT_NEAR(paged_seconds(kernel, bare_paged(), "l40s"), pairs * 768 / (250 * 2.52e9), 1e-9);
  EXPECT_NEAR(paged_seconds(kernel, bare_paged(), "b200"), pairs * 768 / (250 * 1.85e9), 1e-9);
  EXPECT_NEAR(paged_seconds(kernel), pairs * 768 / kPagedSmFlops, 1e-12);
  kernel.flash = false;
  EXPECT_LT(paged_seconds(kernel, bare_paged(), "b200"), pairs * 768 / (1000 * 1.85e9)) << "another engine's";
}

TEST(PagedAttentionTest, FlashAttention2SharesAndSplitsWhereHeadsShareKeysWithoutAWindow) {
  // 32 heads of four groups, 4096 keys: on A100 a block takes 16 rows of 512 FLOP a key at half of 312 TFLOP/s over 108 SMs.
  const double a_key = 16 * 512 / (312e12 * 0.5 / 108);
  Kernel kernel = paged_kernel(AttentionUse::kDecode, 1, 4096, 32);
  kernel.cached_width = 2;
  EXPECT_NEAR(paged_seconds(kernel, bare_paged(), "a100_sxm"), 4096 * a_key, 1e-9) << "no heads share keys: one part each";
  kernel.kv_group = 8;
  EXPECT_LT(paged_seconds(kernel, bare_paged(), "a100_sxm"), 4096 * a_key / 8) << "parts over idle SMs";
  kernel.window = 1024;
  EXPECT_NEAR(paged_seconds(kernel, bare_paged(), "a100_sxm"), (1024 + 64) * a_key, 1e-9)
      << "and a tile, as both ends are masked";
  kernel.batch = 2 * 108;  // blocks of all heads, two on each SM
  EXPECT_NEAR(paged_seconds(kernel, bare_paged(), "a100_sxm"), 2 * (1024 + 64) * a_key, 1e-9);
}

TEST(PagedAttentionTest, LatentKeysAreHardlySplitBeforeHopper) {
  // 16 heads, 576 and 512 wide: one part in TensorRT-LLM's kernel, four in Triton's, whose sums are 8 B an element.
  const double a_key = 16 * 2 * (576 + 512) / (312e12 * 0.5 / 108);
  Kernel kernel = paged_kernel(AttentionUse::kDecode, 1, 1 << 14, 16);
  kernel.k = 576;
  kernel.value_dim = 512;
  kernel.kv_group = 16;
  kernel.latent = true;
  kernel.flash = false;
  EXPECT_NEAR(paged_seconds(kernel, bare_paged(), "a100_sxm"), (1 << 14) * a_key, 1e-9);
  kernel.flash = true;
  const double sums = 4.0 * 16 * 512 * 8 / 2.039e12;
  EXPECT_NEAR(paged_seconds(kernel, bare_paged(), "a100_sxm"), (1 << 12) * a_key + sums, 1e-9);
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

// Keys that a block of one SM loads at 1 B a clock, of heads so wide in bf16 or FP8.
double loaded_keys(std::int64_t width, double cached_width, std::int64_t keys, std::int64_t window = 0) {
  PagedAttentionCosts costs = bare_paged();
  costs.sm_bytes_per_clock = 1;
  costs.block_overhead = 1_s;  // no parts
  Kernel kernel = paged_kernel(AttentionUse::kDecode, 1, keys, 132);
  kernel.k = width;
  kernel.cached_width = cached_width;
  kernel.window = window;
  return (paged_seconds(kernel, costs) - 1) * 1.83e9 / (2.0 * static_cast<double>(width) * cached_width);
}

TEST(PagedAttentionTest, HopperMeetsKeysInTilesOfFlashAttention3) {
  EXPECT_NEAR(loaded_keys(64, 2, 129), 256, 1e-3);
  EXPECT_NEAR(loaded_keys(128, 2, 129), 256, 1e-3);
  EXPECT_NEAR(loaded_keys(128, 2, 128), 128, 1e-3);
  EXPECT_NEAR(loaded_keys(192, 2, 97), 192, 1e-3);
  EXPECT_NEAR(loaded_keys(256, 2, 81), 160, 1e-3);
  EXPECT_NEAR(loaded_keys(64, 1, 129), 256, 1e-3);
  EXPECT_NEAR(loaded_keys(128, 1, 97), 192, 1e-3);
}

TEST(PagedAttentionTest, WiderHeadsOfFp8TakeLongerAByteOnHopper) {
  EXPECT_NEAR(loaded_keys(192, 1, 96), 96 * 1.5, 1e-3);
  EXPECT_NEAR(loaded_keys(256, 1, 128), 128 * 2, 1e-3);
}

TEST(PagedAttentionTest, AWindowIsMaskedAtBothEnds) {
  EXPECT_NEAR(loaded_keys(128, 2, 4096, 256), 256 + 128, 1e-3);
  EXPECT_NEAR(loaded_keys(128, 2, 256, 256), 256, 1e-3) << "all keys are in the window";
  EXPECT_NEAR(loaded_keys(256, 2, 4096, 256), 256 + 64, 1e-3);
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
