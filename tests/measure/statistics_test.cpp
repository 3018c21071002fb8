#include "statistics.h"

#include <gtest/gtest.h>

namespace weft::measure {
namespace {

TEST(StatisticsTest, QuartilesLieBetweenRanksByLinearInterpolation) {
  // Sorted 1 2 4 8: positions 0.75, 1.5 and 2.25 of 0..3.
  const Summary summary = summarize({8, 1, 4, 2});
  EXPECT_DOUBLE_EQ(summary.p25, 1.75);
  EXPECT_DOUBLE_EQ(summary.median, 3);
  EXPECT_DOUBLE_EQ(summary.p75, 5);
  EXPECT_DOUBLE_EQ(summary.mean, 3.75);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.max, 8);
}

TEST(StatisticsTest, OneSampleIsItsOwnMedianAndQuartiles) {
  const Summary summary = summarize({7});
  EXPECT_DOUBLE_EQ(summary.p25, 7);
  EXPECT_DOUBLE_EQ(summary.median, 7);
  EXPECT_DOUBLE_EQ(summary.p75, 7);
}

TEST(StatisticsTest, NoSamplesGiveZeros) { EXPECT_DOUBLE_EQ(summarize({}).median, 0); }

TEST(RepetitionTest, FastOperationsFillTheLargestSampleAndTheMostSamples) {
  const Repetition repetition = choose_repetition(1, {.target_us = 1e6, .max_inner = 40, .max_samples = 15});
  EXPECT_EQ(repetition.inner, 40);
  EXPECT_EQ(repetition.samples, 15);
}

TEST(RepetitionTest, SlowOperationsKeepTheLeastOfBoth) {
  const Repetition repetition = choose_repetition(1e6, {.target_us = 1e3, .min_inner = 4, .min_samples = 5});
  EXPECT_EQ(repetition.inner, 4);
  EXPECT_EQ(repetition.samples, 5);
}

TEST(RepetitionTest, OperationsBetweenShareTheTarget) {
  // 100 operations fit: a fifth of them makes a sample, and five samples fit.
  const Repetition repetition = choose_repetition(10, {.target_us = 1000, .max_inner = 40, .min_samples = 5});
  EXPECT_EQ(repetition.inner, 20);
  EXPECT_EQ(repetition.samples, 5);
}

}  // namespace
}  // namespace weft::measure
