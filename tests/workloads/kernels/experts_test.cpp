#include "sim/workloads/kernels/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/workloads/kernels/kernel_times.h"

namespace weft::work {
namespace {

TEST(ExpertsTest, EvenVisitsAreSharedOutOverRanksAndExperts) {
  // 512 tokens, 8 of 256 experts on 8 ranks: 512 visits a rank, of its 32 experts.
  const ExpertVisits many = even_expert_load(512, 8, 256, 8);
  EXPECT_DOUBLE_EQ(many.rows, 512);
  EXPECT_DOUBLE_EQ(many.experts, 32);
  const ExpertVisits few = even_expert_load(2, 8, 256, 8);  // two visits a rank
  EXPECT_DOUBLE_EQ(few.rows, 2);
  EXPECT_DOUBLE_EQ(few.experts, 2);
  EXPECT_DOUBLE_EQ(even_expert_load(1, 1, 256, 8).rows, 1);  // the rank that has one
}

TEST(ExpertsTest, TheHeaviestRankHasMoreThanItsShareAndNoMoreThanAll) {
  const double all = 4096.0 * 8;
  const ExpertVisits alone = heaviest_expert_load(4096, 8, 128, 1, 1.2);
  EXPECT_NEAR(alone.rows, all, all * 1e-3);
  double before = all;
  for (const std::int64_t ranks : {2, 8, 64}) {
    const double share = all / static_cast<double>(ranks);
    const ExpertVisits heaviest = heaviest_expert_load(4096, 8, 128, ranks, 1.2);
    EXPECT_GT(heaviest.rows, share) << ranks;
    EXPECT_LT(heaviest.rows, before) << ranks;
    EXPECT_LE(heaviest.experts, 128.0 / static_cast<double>(ranks)) << ranks;
    EXPECT_LE(heaviest.rows / heaviest.experts, 4096) << ranks;  // an expert has every token at most
    before = heaviest.rows;
  }
  EXPECT_EQ(heaviest_expert_load(100, 4, 64, 8, 1.0).rows, heaviest_expert_load(100, 4, 64, 8, 1.0).rows);
}

// Costs that leave one term each: 100 experts of 1000 x 1000 in bf16 are 3 x 200 MB, at half of 1 TB/s.
class ExpertsTimesTest : public ::testing::Test {
 protected:
  ExpertsTimesTest() {
    gpu_.sms = 100;
    gpu_.clock_ghz = 1;
    gpu_.l2_bytes = 50'000'000;
    gpu_.hbm_bytes_per_second = 1e12;
    kernel_.kind = KernelKind::kExperts;
    kernel_.m = 100;
    kernel_.n = kernel_.k = 1000;
    kernel_.batch = 100;
    kernel_.visits = kernel_.expert_rows = 100;
    kernel_.experts_used = 100;
    costs_ = {.efficiency = 1,
              .small_tile_penalty = 0,
              .fixed = 0_us,
              .block_overhead = 0_us,
              .loop_latency = 0_us,
              .sm_bytes_per_clock = 1e9,
              .memory_efficiency = 0.5,
              .pass_efficiency = 1e9,
              .elsewhere = 0,
              .l2_share = 1};
  }
  [[nodiscard]] double us(double rate = 1e30) const { return 1e6 * experts_seconds(kernel_, gpu_, costs_, rate, gpu_.sms); }

  GpuSpec gpu_;
  Kernel kernel_;
  ExpertCosts costs_;
};

TEST_F(ExpertsTimesTest, FewTokensReadTheWeightsOfTheExpertsTheyVisit) {
  // And rows: 100 x (1000 + 2000) x 2 bytes of the first product, 100 x 2000 x 2 of the second.
  EXPECT_NEAR(us(), (600e6 + 0.6e6 + 0.4e6) / 0.5e12 * 1e6, 1e-6);
  kernel_.gated = false;
  EXPECT_NEAR(us(), (400e6 + 0.8e6) / 0.5e12 * 1e6, 1e-6);
  kernel_.experts_used = 50;
  EXPECT_NEAR(us(), (200e6 + 0.8e6) / 0.5e12 * 1e6, 1e-6);
}

TEST_F(ExpertsTimesTest, WeightsOfFourBitsAreReadSoAndRowsInBf16) {
  kernel_.precision = Precision::kW4A16;
  // 3 x 100 million weights of 4 + 20/128 bits; rows as before.
  EXPECT_NEAR(us(), (300e6 * (4 + 20.0 / 128) / 8 + 1e6) / 0.5e12 * 1e6, 1e-6);
}

TEST_F(ExpertsTimesTest, WeightsOfABenchmarkStayInTheL2WhereTheyFit) {
  kernel_.experts_used = 4;  // 24 MB
  kernel_.repeated = true;
  EXPECT_LT(us(), 1e-3);
  kernel_.repeated = false;
  EXPECT_NEAR(us(), (24e6 + 1e6) / 0.5e12 * 1e6, 1e-6);
}

TEST_F(ExpertsTimesTest, RowsAreFilledUpToTilesOfEachExpert) {
  costs_.memory_efficiency = 1e9;
  costs_.small_tile_penalty = 0;
  // A row an expert fills a tile of 16: 100 experts x 16 rows x 1000 x (2016 and 1024 columns) x 2 FLOPs at 1 TFLOP/s. Tiles of
  // 32 columns, which waste least: 63 and 32 waves of 100 SMs.
  EXPECT_NEAR(us(1e12), 100.0 * 16 * 1000 * (2016 + 1024) * 2 / 1e12 * 1e6, 1e-3);
  kernel_.expert_rows = 1600;
  EXPECT_NEAR(us(1e12), 100.0 * 16 * 1000 * (2016 + 1024) * 2 / 1e12 * 1e6, 1e-3);
  // Exponentially distributed with a mean of one tile: 1 / (1 - 1 / e) of them.
  const double even = us(1e12);
  kernel_.uneven = true;
  EXPECT_GT(us(1e12), 1.5 * even);
}

TEST_F(ExpertsTimesTest, VisitsElsewhereCostTheirPartOfThePasses) {
  costs_.memory_efficiency = 1e9;
  costs_.pass_efficiency = 0.5;
  const double here = us();
  kernel_.visits = 300;
  EXPECT_NEAR(us(), here, 1e-9);
  costs_.elsewhere = 0.5;
  // 200 visits x (1000 x 2 bytes for the sum, 2000 x 2 + 1000 x 2 around the activation), half of it.
  EXPECT_NEAR(us(), here + 0.5 * 200 * (2000 + 6000) / 0.5e12 * 1e6, 1e-9);
}

TEST(ExpertsTest, FlopsAreThoseOfThreeMatrices) {
  Kernel kernel;
  kernel.kind = KernelKind::kExperts;
  kernel.n = 1536;
  kernel.k = 4096;
  kernel.expert_rows = 100;
  EXPECT_DOUBLE_EQ(kernel.flops(), 2.0 * 100 * 3 * 1536 * 4096);
  kernel.gated = false;
  EXPECT_DOUBLE_EQ(kernel.flops(), 2.0 * 100 * 2 * 1536 * 4096);
  EXPECT_EQ(class_of(kernel.kind), KernelClass::kGemm);
  EXPECT_EQ(to_string(kernel.kind), "experts");
}

// No GPU of a balanced layer has less than the mean, nor more than the busiest without copies; a copy of each expert leaves
// less.
TEST(ExpertsTest, CopiesBalanceTheLoads) {
  constexpr double kTokens = 4096;
  for (const std::int64_t ranks : {8, 32}) {
    const double mean = kTokens * 8 / static_cast<double>(ranks);
    const double unbalanced = heaviest_expert_load(kTokens, 8, 256, ranks, 1.01).rows;
    const double few = balanced_expert_load(kTokens, 8, 256, 32, ranks, 1.01).rows;
    const double many = balanced_expert_load(kTokens, 8, 256, 256, ranks, 1.01).rows;
    EXPECT_GE(few, mean * (1 - 1e-9));
    EXPECT_LT(few, unbalanced);
    EXPECT_LT(many, 1.01 * mean);
    EXPECT_LT(few, 1.1 * mean);
  }
  // One expert a GPU and no copies: as without.
  EXPECT_DOUBLE_EQ(balanced_expert_load(kTokens, 8, 256, 0, 256, 1.01).rows,
                   heaviest_expert_load(kTokens, 8, 256, 256, 1.01).rows);
}

// The density x^-a between 1 and M: the share of all visits above some x grows with a while the mean is in the tail, and its
// tail has no weight once the mean is finite (a > 2). Four draws leave some per cent of chance.
TEST(ExpertsTest, ASteeperLawIsLessEvenAsFarAsItIsRead) {
  struct Case {
    std::int64_t experts, ranks;
    double tokens;
  };
  for (const auto& [experts, ranks, tokens] : {Case{8, 4, 4096}, Case{256, 64, 4096}, Case{128, 8, 4096}, Case{256, 32, 1e6}}) {
    double before = 0;
    for (double exponent = 0.1; exponent <= kSteepestPowerLaw + 1e-9; exponent += 0.1) {
      const double rows = heaviest_expert_load(tokens, 2, experts, ranks, exponent).rows;
      EXPECT_GE(rows, 0.97 * before) << experts << " experts, exponent " << exponent;
      before = std::max(before, rows);
    }
    EXPECT_LT(heaviest_expert_load(tokens, 2, experts, ranks, 4).rows, 0.9 * before) << experts;
  }
}

}  // namespace
}  // namespace weft::work
