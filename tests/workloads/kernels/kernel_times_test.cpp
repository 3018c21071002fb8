#include "sim/workloads/kernels/kernel_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sim/workloads/kernels/kernel_costs.h"

namespace weft::work {
namespace {

// Nothing but the shapes: no fixed costs, no penalty of small tiles, efficiencies of 1/2.
Profile bare() {
  Profile profile = Profile::defaults(kernel_param_groups());
  for (const char* key : {"gpu.gemm.fixed", "gpu.gemm.tile_overhead", "gpu.gemm.split_overhead", "gpu.gemm.loop_latency",
                          "gpu.gemm.memory_latency", "gpu.fp8_tensor.loop_latency", "gpu.attention.block_overhead",
                          "gpu.memory.fixed", "gpu.optimizer.fixed"}) {
    profile = profile.with_value(key, "0 us", "test");
  }
  for (const char* key : {"gpu.gemm.memory_exposed", "gpu.attention.tail", "gpu.attention.softmax"})
    profile = profile.with_value(key, "0", "test");
  profile = profile.with_value("gpu.gemm.wave_rounding", "1", "test").with_value("gpu.gemm.sm_bytes_per_clock", "1000", "test");
  for (const char* key :
       {"gpu.gemm.efficiency", "gpu.gemm.fp8_efficiency", "gpu.gemm.memory_efficiency", "gpu.attention.forward_efficiency",
        "gpu.attention.backward_efficiency", "gpu.attention.memory_efficiency", "gpu.memory.contiguous_efficiency",
        "gpu.memory.softmax_efficiency", "gpu.memory.gather_efficiency", "gpu.memory.fill_efficiency",
        "gpu.optimizer.efficiency"}) {
    profile = profile.with_value(key, "0.5", "test");
  }
  return profile;
}

KernelTimes times_with(std::string_view gpu, const char* key, const char* value) {
  return KernelTimes{gpu_spec(gpu), bare().with_value(key, value, "test")};
}

KernelTimes times_of(std::string_view gpu) { return KernelTimes{gpu_spec(gpu), bare()}; }

double us(const KernelTimes& times, const Kernel& kernel, int sms = 0) { return times.alone(kernel, sms).seconds() * 1e6; }

Kernel gemm_of(std::int64_t m, std::int64_t n, std::int64_t k) { return {.kind = KernelKind::kGemm, .m = m, .n = n, .k = k}; }

TEST(GemmTimesTest, KnownAnswer30TilesThatFillTheLastWave) {
  // models/workloads §8, case 30: 108 SMs, tiles of 128 x 256, 2048 rows.
  const GemmWaves full = gemm_waves(2048, 6912, 1, {128, 256}, 108);
  EXPECT_EQ(full.tiles, 432);
  EXPECT_EQ(full.waves, 4);
  const GemmWaves spilled = gemm_waves(2048, 7168, 1, {128, 256}, 108);
  EXPECT_EQ(spilled.tiles, 448);
  EXPECT_EQ(spilled.waves, 5);
}

TEST(GemmTimesTest, ATileThatIsPartlyFilledCountsWhole) {
  EXPECT_EQ(gemm_waves(128, 256, 3, {128, 256}, 108).tiles, 3);
  EXPECT_EQ(gemm_waves(129, 256, 3, {128, 256}, 108).tiles, 6);
}

TEST(GemmTimesTest, FullWavesRunAtTheEfficiencyOfThePeak) {
  // 432 tiles on 108 SMs: no SM idles, so FLOPs / (0.5 x 312 TFLOP/s).
  const Kernel kernel = gemm_of(2048, 6912, 8192);
  EXPECT_NEAR(us(times_of("a100_sxm"), kernel), 2.0 * 2048 * 6912 * 8192 / 156e12 * 1e6, 1e-5);
}

TEST(GemmTimesTest, HalfTheSmsTakeTwiceAsLong) {
  const KernelTimes times = times_of("a100_sxm");
  const Kernel kernel = gemm_of(2048, 6912, 8192);
  EXPECT_NEAR(us(times, kernel, 54), 2 * us(times, kernel), 1e-5);
  EXPECT_EQ(times.alone(kernel, 108), times.alone(kernel, 0));
  EXPECT_EQ(times.alone(kernel, 1000), times.alone(kernel));
}

TEST(GemmTimesTest, SkinnyOnesReadTheirWeightsAtTheMemorysRate) {
  // One row: 8192 x 8192 weights of 2 B at half of 4.8 TB/s, and 2 x 8192 elements beside them.
  EXPECT_NEAR(us(times_of("h200_sxm"), gemm_of(1, 8192, 8192)), 2.0 * (8192.0 * 8192 + 2 * 8192) / 2.4e12 * 1e6, 1e-5);
}

TEST(GemmTimesTest, SkinnyOnesOfFp8ReadHalfAsMuchAndWriteBf16) {
  Kernel kernel = gemm_of(1, 8192, 8192);
  kernel.precision = Precision::kFp8;
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), (8192.0 * 8192 + 8192 + 2 * 8192) / 2.4e12 * 1e6, 1e-5);
}

TEST(GemmTimesTest, Fp8RunsAtItsOwnPeakWhereThereIsOne) {
  Kernel kernel = gemm_of(8192, 8192, 8192);
  const double h100_bf16 = us(times_of("h100_sxm"), kernel);
  const double a100_bf16 = us(times_of("a100_sxm"), kernel);
  kernel.precision = Precision::kFp8;
  EXPECT_NEAR(us(times_of("h100_sxm"), kernel), h100_bf16 * 989 / 1979, 1e-3);
  EXPECT_NEAR(us(times_of("a100_sxm"), kernel), a100_bf16, 1e-3);
}

TEST(GemmTimesTest, ExpertsShareTheWavesOfOneKernel) {
  // Eight experts of 16 tiles each fill 128 of 132 SMs once.
  Kernel one = gemm_of(512, 1024, 4096);
  Kernel grouped = one;
  grouped.batch = 8;
  const KernelTimes times = times_of("h200_sxm");
  EXPECT_LT(us(times, grouped), 8 * us(times, one));
  EXPECT_GE(us(times, grouped), 2.0 * 8 * 512 * 1024 * 4096 / 494.5e12 * 1e6);
}

TEST(GemmTimesTest, OfALastWavesIdleSmsAShareIsLost) {
  // 109 tiles of 128 x 256 on 108 SMs: two waves, or half way from 109 / 108 to them. Smaller tiles lose less, and a k of 256
  // bytes is not split. Nothing is read.
  Kernel kernel = gemm_of(128, 109 * 256, 128);
  kernel.bytes = 1;
  const double full = 109.0 / 108 * 2.0 * 128 * 256 * 128 / (156e12 / 108) * 1e6;
  const double none = us(times_with("a100_sxm", "gpu.gemm.wave_rounding", "0.01"), kernel);
  const double half = us(times_with("a100_sxm", "gpu.gemm.wave_rounding", "0.5"), kernel);
  EXPECT_NEAR(none, full, 0.01 * full);
  EXPECT_GT(half, none);
  EXPECT_LE(half, full * (109.0 / 108 + 2) / 2 * 108 / 109 + 1e-5);
  EXPECT_GT(us(times_of("a100_sxm"), kernel), half);
}

TEST(GemmTimesTest, SmallOnesTakeTheLatencyOfTheirLoops) {
  // 2048 bytes of k in eight parts of two steps each, of 1 us; eight partial sums of 16 x 64 in FP32 at twice 2.4 TB/s.
  const double combined = 8.0 * 16 * 64 * 4 / 4.8e12 * 1e6;
  EXPECT_NEAR(us(times_with("h200_sxm", "gpu.gemm.loop_latency", "1 us"), gemm_of(16, 64, 1024)), 2 + combined, 1e-5);
}

TEST(GemmTimesTest, SumsOfASplitAreAKernelOfTheirOwn) {
  // As before, and 3 us for the sums. Where they take 15 us, two parts and four save less than sixteen steps in one part take.
  const double combined = 8.0 * 16 * 64 * 4 / 4.8e12 * 1e6;
  const auto with = [](const char* sums) {
    return KernelTimes{
        gpu_spec("h200_sxm"),
        bare().with_value("gpu.gemm.loop_latency", "1 us", "test").with_value("gpu.gemm.split_overhead", sums, "test")};
  };
  EXPECT_NEAR(us(with("3 us"), gemm_of(16, 64, 1024)), 2 + combined + 3, 1e-5);
  EXPECT_NEAR(us(with("15 us"), gemm_of(16, 64, 1024)), 16, 1e-5);
}

TEST(GemmTimesTest, LibrariesOfScalesForRowsOrBlocksDoNotSplit) {
  // 2048 bytes of k are sixteen steps of 1 us, in one part or in eight.
  const KernelTimes times{gpu_spec("h200_sxm"), bare()
                                                    .with_value("gpu.fp8_tensor.loop_latency", "1 us", "test")
                                                    .with_value("gpu.fp8_row.loop_latency", "1 us", "test")
                                                    .with_value("gpu.fp8_block.loop_latency", "1 us", "test")};
  Kernel kernel = gemm_of(16, 64, 2048);
  kernel.precision = Precision::kFp8;
  kernel.scaling = Scaling::kTensor;
  EXPECT_NEAR(us(times, kernel), 2 + 8.0 * 16 * 64 * 4 / 4.8e12 * 1e6, 1e-5);
  for (const Scaling scaling : {Scaling::kRow, Scaling::kBlock}) {
    kernel.scaling = scaling;
    EXPECT_NEAR(us(times, kernel), 16, 1e-5);
  }
}

TEST(GemmTimesTest, QuantisingTakesATimeARow) {
  // 4096 rows of 3 us each: short rows take that, and a long one also what moving its 3 bytes an element at 0.4 of 4.8 TB/s
  // does.
  const KernelTimes times{
      gpu_spec("h200_sxm"),
      bare().with_value("gpu.fp8_row.quantize_fixed", "5 us", "test").with_value("gpu.fp8_row.quantize_row", "3 us", "test")};
  const auto quantizing = [&](std::int64_t m, std::int64_t k) {
    Kernel kernel = gemm_of(m, 64, k);
    kernel.precision = Precision::kFp8;
    kernel.scaling = Scaling::kRow;
    const double bare_us = us(times, kernel);
    kernel.quantizes = true;
    return us(times, kernel) - bare_us;
  };
  const double moving = 4096.0 * 256 * 3 / (0.4 * 4.8e12) * 1e6;
  EXPECT_NEAR(quantizing(4096, 256), 5 + std::hypot(4096 * 3, moving), 1e-4);
  EXPECT_NEAR(quantizing(1, 1 << 20), 5 + std::hypot(3, 3.0 * (1 << 20) / (0.4 * 4.8e12) * 1e6), 1e-5);
}

TEST(MemoryTimesTest, CallsAgainFindInTheL2WhatTheOneBeforeUsed) {
  // Half of the L2 of 50 MiB: 25 MiB go at twice the speed, 31.25 MiB half so, and 37.5 MiB not at all.
  const KernelTimes times = times_with("h200_sxm", "gpu.memory.l2_share", "0.5");
  for (const auto& [mib, share] : {std::pair{25.0, 0.5}, std::pair{31.25, 0.75}, std::pair{37.5, 1.0}}) {
    Kernel kernel{.kind = KernelKind::kElementwise};
    kernel.bytes = mib * (1 << 20);
    const double once = us(times, kernel);
    kernel.repeated = true;
    EXPECT_NEAR(us(times, kernel), share * once, 1e-5) << mib;
  }
}

TEST(GemmTimesTest, WeightsOfHbmComeAfterItsLatency) {
  Kernel kernel = gemm_of(1, 8192, 8192);
  const KernelTimes times = times_with("h200_sxm", "gpu.gemm.memory_latency", "3 us");
  EXPECT_NEAR(us(times, kernel), us(times_of("h200_sxm"), kernel) + 3, 1e-5);
  kernel = gemm_of(1, 1024, 1024);
  kernel.weight_copies = 1;  // the L2 has them
  EXPECT_NEAR(us(times, kernel), us(times_of("h200_sxm"), kernel), 1e-9);
}

TEST(GemmTimesTest, ATileWaitsForItsOperandsFromTheL2) {
  // 132 tiles of 128 x 256 on 132 SMs: 384 elements of 2 B for each k, at 16 B a clock of 1.83 GHz. Nothing is read from HBM.
  Kernel kernel = gemm_of(128, 132 * 256, 4096);
  kernel.bytes = 1;
  EXPECT_NEAR(us(times_with("h200_sxm", "gpu.gemm.sm_bytes_per_clock", "16"), kernel), 4096 * 384 * 2 / (16 * 1.83e9) * 1e6,
              1e-5);
}

TEST(GemmTimesTest, TheShorterOfComputingAndReadingAddsItsSquare) {
  // One row of 8192 x 8192: 55.9 us of reading, and less of computing.
  const Kernel kernel = gemm_of(1, 8192, 8192);
  const auto squared = [&](const char* exposed) {
    const double time = us(times_with("h200_sxm", "gpu.gemm.memory_exposed", exposed), kernel);
    return time * time;
  };
  const double reading = squared("0");
  EXPECT_GT(squared("1"), reading);
  EXPECT_NEAR(squared("0.25") - reading, (squared("1") - reading) / 4, 1e-3);
}

TEST(GemmTimesTest, WeightsUsedInTurnAreReadFromTheL2WhereTheyFit) {
  // 4096 x 2560 of 2 B are 21 MB, and the L2 keeps half of 50 MiB, 26.2 MB: one copy is held, four are not.
  Kernel kernel = gemm_of(1, 4096, 2560);
  const double cold = us(times_of("h200_sxm"), kernel);
  EXPECT_NEAR(cold, 2.0 * (4096.0 * 2560 + 4096 + 2560) / 2.4e12 * 1e6, 1e-5);
  kernel.weight_copies = 4;
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), 2.0 * 4096 * 2560 / 2.4e12 * 1e6, 1e-5);
  kernel.weight_copies = 1;
  EXPECT_LT(us(times_of("h200_sxm"), kernel), cold / 2);
}

TEST(GemmTimesTest, QuantisingReadsBf16AndWritesFp8) {
  // 4096 x 8192 elements, 2 B read and 1 B written, at 0.4 of 4.8 TB/s, after 4 us; with a scale for a tensor 100 ps for each
  // row.
  Kernel kernel = gemm_of(4096, 4096, 8192);
  kernel.precision = Precision::kFp8;
  const double alone = us(times_of("h200_sxm"), kernel);
  kernel.quantizes = true;
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), alone + 4 + std::hypot(3.0 * 4096 * 8192 / (0.4 * 4.8e12) * 1e6, 4096 * 1e-4),
              1e-5);
  kernel.precision = Precision::kBf16;
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), us(times_of("h200_sxm"), gemm_of(4096, 4096, 8192)), 1e-9);
}

// Costs of integers that leave bytes and FLOPs: those of bf16 in bare().
Profile bare_integers() {
  Profile profile = bare();
  for (const std::string group : {"gpu.int8.", "gpu.weight_only."}) {
    for (const char* key : {"fixed", "tile_overhead", "loop_latency"})
      profile = profile.with_value(group + key, "0 us", "test");
    profile = profile.with_value(group + "rate", "1", "test").with_value(group + "memory_efficiency", "0.5", "test");
  }
  return profile.with_value("gpu.weight_only.weights_per_clock", "1000", "test");
}

Kernel gemm_in(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
  Kernel kernel = gemm_of(m, n, k);
  kernel.precision = precision;
  return kernel;
}

TEST(IntegerGemmTimesTest, AProductOfOneRowReadsItsWeightsAsTheyAreStored) {
  // 8192 x 8192 weights, a row of 8192 read and one written, at half of 2.039 TB/s. INT8 activations are a byte each.
  const KernelTimes times{gpu_spec("a100_sxm"), bare_integers()};
  const double weights = 8192.0 * 8192;
  const auto reading = [](double bytes) { return bytes / (0.5 * 2.039e12) * 1e6; };
  EXPECT_NEAR(us(times, gemm_in(Precision::kBf16, 1, 8192, 8192)), reading(2 * weights + 2 * 8192 + 2 * 8192), 1e-5);
  EXPECT_NEAR(us(times, gemm_in(Precision::kW8A16, 1, 8192, 8192)), reading(weights + 2 * 8192 + 2 * 8192), 1e-5);
  EXPECT_NEAR(us(times, gemm_in(Precision::kInt8, 1, 8192, 8192)), reading(weights + 8192 + 2 * 8192), 1e-5);
  // 4 bits, and 16 + 4 for 128 weights.
  EXPECT_NEAR(us(times, gemm_in(Precision::kW4A16, 1, 8192, 8192)), reading(weights * (4 + 20.0 / 128) / 8 + 4 * 8192), 1e-5);
}

// 108 tiles of 16 columns, one on each SM, which makes a weight bf16 in a clock of 1.41 GHz. Reading takes a sixth of that.
TEST(IntegerGemmTimesTest, WeightsAloneAreMadeBf16ByEachTile) {
  const KernelTimes times{gpu_spec("a100_sxm"), bare_integers().with_value("gpu.weight_only.weights_per_clock", "1", "test")};
  const double converting = 16.0 * 8192 / 1.41e9 * 1e6;
  EXPECT_NEAR(us(times, gemm_in(Precision::kW8A16, 1, 108 * 16, 8192)), converting, 1e-5);
  EXPECT_NEAR(us(times, gemm_in(Precision::kW4A16, 1, 108 * 16, 8192)), converting, 1e-5);
  EXPECT_LT(us(times, gemm_in(Precision::kInt8, 1, 108 * 16, 8192)), converting / 2) << "computes in integers";
}

TEST(IntegerGemmTimesTest, ManyRowsRunAtThePeakOfBf16OrOfInt8) {
  // 432 tiles of 128 x 256 on 108 SMs: FLOPs over half of 312 TFLOP/s, and of 624 TOP/s.
  const KernelTimes times{gpu_spec("a100_sxm"), bare_integers()};
  const double flops = 2.0 * 2048 * 6912 * 8192;
  for (const Precision precision : {Precision::kBf16, Precision::kW8A16, Precision::kW4A16})
    EXPECT_NEAR(us(times, gemm_in(precision, 2048, 6912, 8192)), flops / 156e12 * 1e6, 1e-4) << to_string(precision);
  EXPECT_NEAR(us(times, gemm_in(Precision::kInt8, 2048, 6912, 8192)), flops / 312e12 * 1e6, 1e-4);
}

TEST(IntegerGemmTimesTest, CostsOfTheirLibrariesAreTheirOwn) {
  const Kernel one = gemm_in(Precision::kW4A16, 1, 8192, 8192);
  const auto with = [](const char* key, const char* value) {
    return KernelTimes{gpu_spec("a100_sxm"), bare_integers().with_value(key, value, "test")};
  };
  const double plain = us(with("gpu.weight_only.fixed", "0 us"), one);
  EXPECT_NEAR(us(with("gpu.weight_only.fixed", "3 us"), one), plain + 3, 1e-5);
  EXPECT_NEAR(us(with("gpu.int8.fixed", "3 us"), one), plain, 1e-9);
  const Kernel many = gemm_in(Precision::kInt8, 2048, 6912, 8192);
  EXPECT_NEAR(us(with("gpu.int8.rate", "0.5"), many), 2 * us(with("gpu.int8.rate", "1"), many), 1e-4);
  // 1024 elements of k are sixteen steps of 1 us in one part: the inner dimension is not split.
  EXPECT_NEAR(us(with("gpu.weight_only.loop_latency", "1 us"), gemm_in(Precision::kW8A16, 16, 64, 1024)), 16, 1e-5);
}

TEST(GemmTimesTest, UpToTwoWavesOfLargeTilesAreSharedOutInAdvance) {
  // 8 x 32 tiles on 132 SMs are two waves, 9 x 32 three. The kernels of the traces without a counter of tiles are the first.
  const KernelTimes times = times_of("h200_sxm");
  EXPECT_TRUE(times.splits_statically(gemm_of(2048, 4096, 22016)));
  EXPECT_TRUE(times.splits_statically(gemm_of(4096, 2048, 8192)));
  EXPECT_FALSE(times.splits_statically(gemm_of(2049, 4096, 22016)));
  EXPECT_FALSE(times.splits_statically(gemm_of(4096, 4096, 2048)));
  EXPECT_FALSE(times.splits_statically({.kind = KernelKind::kCopy, .bytes = 1e6}));
}

TEST(GemmTimesTest, MoreRowsNeverTakeLess) {
  const KernelTimes times{gpu_spec("h200_sxm"), Profile::defaults(kernel_param_groups())};
  Duration last;
  for (std::int64_t m = 1; m <= 16384; m += 37) {
    const Duration now = times.alone(gemm_of(m, 4096, 4096));
    EXPECT_GE(now, last) << m;
    last = now;
  }
}

TEST(AttentionTimesTest, LongSequencesRunAtTheEfficiencyOfThePeak) {
  // 128 heads of 64 blocks; no tail: 2 T s h / (0.5 x 989 TFLOP/s), and 2.5 times that backward.
  Kernel kernel{.kind = KernelKind::kAttentionForward, .m = 8192, .n = 8192, .k = 128, .batch = 128};
  const double forward = 2.0 * 8192 * 8192 * 128 * 128 / 494.5e12 * 1e6;
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), forward, 1e-5);
  kernel.kind = KernelKind::kAttentionBackward;
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), 2.5 * forward, 1e-5);
}

// At the same widths, without overheads: in inverse proportion to the rate.
TEST(AttentionTimesTest, FlashAttention2HasRatesOfItsOwnWhereTheProfileSaysSo) {
  Kernel kernel{.kind = KernelKind::kAttentionForward, .m = 8192, .n = 8192, .k = 128, .batch = 128};
  Profile profile = bare().with_value("gpu.attention.flash2_softmax", "0", "test");
  const auto seconds = [&](bool flash2) {
    kernel.flash2 = flash2;
    return KernelTimes{gpu_spec("h100_sxm"), profile}.alone(kernel).seconds();
  };
  EXPECT_DOUBLE_EQ(seconds(true), seconds(false));
  profile = profile.with_value("gpu.attention.flash2_forward_efficiency", "0.25", "test")
                .with_value("gpu.attention.flash2_backward_efficiency", "0.2", "test");
  EXPECT_NEAR(seconds(true) / seconds(false), 0.5 / 0.25, 1e-6);
  kernel.kind = KernelKind::kAttentionBackward;
  EXPECT_NEAR(seconds(true) / seconds(false), 0.5 / 0.2, 1e-6);
}

TEST(AttentionTimesTest, OneBlockTakesItsOwnTimeOnOneSm) {
  // 128 queries of one head over 2048 keys: 2 x 128 x 2048 x (128 + 128) FLOPs on 1/132 of the GPU, causal or not.
  const Kernel kernel{.kind = KernelKind::kAttentionForward, .m = 128, .n = 2048, .k = 128};
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), 2.0 * 128 * 2048 * 256 / (494.5e12 / 132) * 1e6, 1e-5);
}

TEST(AttentionTimesTest, DecodingReadsKeysAndValuesAtTheMemorysRate) {
  // 64 sequences x 32 heads, one query each over 4096 keys of 128, values as wide: 2 B each at 2.4 TB/s.
  const Kernel kernel{.kind = KernelKind::kAttentionForward, .m = 1, .n = 4096, .k = 128, .batch = 64 * 32};
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), 64.0 * 32 * 4097 * 256 * 2 / 2.4e12 * 1e6, 1e-5);
}

TEST(AttentionTimesTest, AWindowShortensItToTheTimeOfReadingItsTensors) {
  // 64 heads of 64: queries, keys, values and output of 8192 tokens, 2 B each, at half of 7.7 TB/s.
  Kernel kernel{.kind = KernelKind::kAttentionForward, .m = 8192, .n = 8192, .k = 64, .batch = 64};
  EXPECT_NEAR(us(times_of("b200"), kernel), 2.0 * 8192 * 8192 * 64 * 64 / 1125e12 * 1e6, 1e-5);
  kernel.window = 128;
  EXPECT_NEAR(us(times_of("b200"), kernel), 4.0 * 64 * 8192 * 64 * 2 / 3.85e12 * 1e6, 1e-5);
}

TEST(MemoryTimesTest, ContiguousKernelsMoveTheirBytesAtAShareOfTheBandwidth) {
  const Kernel add{.kind = KernelKind::kElementwise, .elements = 1e8, .bytes = 6e8};
  EXPECT_NEAR(us(times_of("h200_sxm"), add), 6e8 / 2.4e12 * 1e6, 1e-6);
  EXPECT_NEAR(us(times_of("a100_sxm"), add), 6e8 / (0.5 * 2.039e12) * 1e6, 1e-6);
}

TEST(MemoryTimesTest, StridedKernelsTakeTheirTimePerElement) {
  // 45.1 M elements at 2.83 ps: 128 us (models/training_steps §3 saw 126), more than 4 B at 2.4 TB/s.
  Kernel kernel{.kind = KernelKind::kStrided, .elements = 45.1e6};
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), 45.1 * 2.83, 1e-6);
  kernel.strided = StridedKind::kStack;
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), 45.1 * 4.2, 1e-6);
  // On other GPUs in proportion to SMs x clock: 56 at 1.48 GHz against 132 at 1.83.
  EXPECT_NEAR(us(times_of("p100"), kernel), 45.1 * 4.2 * (132 * 1.83) / (56 * 1.48), 1e-5);
}

TEST(MemoryTimesTest, StridedKernelsAreNoFasterThanTheMemory) {
  // 100 B per element at 2.4 TB/s are 41.7 ps.
  const Kernel kernel{.kind = KernelKind::kStrided, .elements = 1e6, .bytes = 1e8};
  EXPECT_NEAR(us(times_of("h200_sxm"), kernel), 1e8 / 2.4e12 * 1e6, 1e-6);
}

TEST(MemoryTimesTest, ANormReadsFasterWhatTheCacheHolds) {
  // 60 % of 50 MiB hold a 4-byte pair of 7.86 M elements. All cached: half of 1.7 ps; far beyond: all but those.
  const KernelTimes times = times_of("h200_sxm");
  EXPECT_NEAR(us(times, {.kind = KernelKind::kNormForward, .elements = 4e6}), 4 * 1.7 / 2, 1e-6);
  const double cached = 0.6 * 50 * 1024 * 1024 / 4;
  EXPECT_NEAR(us(times, {.kind = KernelKind::kNormForward, .elements = 64e6}), (64e6 - cached / 2) * 1.7e-6, 1e-6);
}

TEST(MemoryTimesTest, FillingIsBoundByBytesOrByElements) {
  const KernelTimes times = times_of("h200_sxm");
  EXPECT_NEAR(us(times, {.kind = KernelKind::kMemset, .bytes = 2.4e8}), 100, 1e-6);
  EXPECT_NEAR(us(times, {.kind = KernelKind::kMemset, .elements = 1e9, .bytes = 1e6}), 600, 1e-6);
}

// The fourth root of the sum of both limits' fourth powers: 14 or 30 bytes at half of 4.8 TB/s, and 4.3 or 8.3 ps a parameter.
TEST(OptimizerTimesTest, AdamMeetsTheBandwidthAndItsArithmeticTogether) {
  const KernelTimes times = times_of("h200_sxm");
  const auto together = [](double bytes, double picoseconds) {
    const double moving = bytes / 2.4e12 * 1e12;
    return 20 * std::sqrt(std::sqrt(std::pow(moving, 4) + std::pow(picoseconds, 4)));
  };
  Kernel adam{.kind = KernelKind::kOptimizer, .elements = 20e6};
  EXPECT_NEAR(us(times, adam), together(14, 4.3), 1e-6);
  adam.mostly_zero = true;
  EXPECT_NEAR(us(times, adam), together(14, 8.3), 1e-6);
  adam.bytes = 30 * adam.elements;  // fp32 states
  EXPECT_NEAR(us(times, adam), together(30, 8.3), 1e-6);
}

TEST(KernelTimesTest, EveryKindTakesItsFixedTimeAndMoreWithItsSize) {
  const KernelTimes times{gpu_spec("h200_sxm"), Profile::defaults(kernel_param_groups())};
  for (int kind = 0; kind <= static_cast<int>(KernelKind::kMemset); ++kind) {
    Kernel small{.kind = static_cast<KernelKind>(kind)};
    EXPECT_GE(times.alone(small), 1_us) << to_string(small.kind);
    Kernel large = small;
    small.m = small.n = small.k = 512;
    large.m = large.n = large.k = 4096;
    small.elements = 1e6;
    large.elements = 1e8;
    EXPECT_GT(times.alone(large), 2 * times.alone(small)) << to_string(small.kind);
  }
}

TEST(KernelTimesTest, TheGapIsTheProfiles) {
  EXPECT_EQ(KernelTimes(gpu_spec("b200"), bare().with_value("gpu.stream.gap", "2 us", "test")).gap(), 2_us);
}

}  // namespace
}  // namespace weft::work
