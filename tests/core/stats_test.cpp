#include "sim/core/stats.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/random.h"

namespace weft {
namespace {

using namespace weft::literals;

TEST(CounterTest, AddsInItsUnit) {
  Counter sent{"sent", Unit::kBytes};
  sent.add(4_KiB);
  sent.add(4);
  EXPECT_EQ(sent.value(), 4'100);
  EXPECT_EQ(sent.name(), "sent");
  EXPECT_EQ(unit_name(sent.unit()), "bytes");
  Counter busy{"busy", Unit::kPicoseconds};
  busy.add(3_ns);
  EXPECT_EQ(busy.value(), 3'000);
  Counter hops{"hops", Unit::kCount};
  hops.add();
  EXPECT_EQ(hops.value(), 1);
}

TEST(TimeWeightedTest, WeighsLevelsByTheTimeTheyHold) {
  // 0 for 10 ns, 4 for 5 ns, 1 for 5 ns: area 25, over 20 ns.
  TimeWeighted queue;
  queue.set(Time{} + 10_ns, 4);
  queue.change(Time{} + 15_ns, -3);
  EXPECT_EQ(queue.level(), 1);
  EXPECT_EQ(queue.maximum(), 4);
  EXPECT_DOUBLE_EQ(queue.mean(Time{} + 20_ns), 25.0 / 20.0);
}

TEST(TimeWeightedTest, CountsAPeakOfNoDurationInTheMaximumOnly) {
  TimeWeighted queue;
  queue.set(Time{} + 10_ns, 100);
  queue.set(Time{} + 10_ns, 0);
  EXPECT_EQ(queue.maximum(), 100);
  EXPECT_DOUBLE_EQ(queue.mean(Time{} + 20_ns), 0.0);
}

TEST(TimeWeightedTest, RestartsAWindowAtTheCurrentLevel) {
  TimeWeighted queue{Time{}, 8};
  queue.set(Time{} + 10_ns, 2);
  queue.restart(Time{} + 30_ns);
  EXPECT_DOUBLE_EQ(queue.mean(Time{} + 30_ns), 2.0);
  EXPECT_EQ(queue.maximum(), 2);
  queue.set(Time{} + 35_ns, 4);
  EXPECT_DOUBLE_EQ(queue.mean(Time{} + 40_ns), 3.0);
}

TEST(TimeWeightedTest, IsExactBeyondSixtyFourBits) {
  // 2^40 bytes for 100 s are 2^40 * 10^14, more than 63 bits.
  TimeWeighted queue{Time{}, std::int64_t{1} << 40};
  queue.set(Time{} + 100_s, 0);
  EXPECT_DOUBLE_EQ(queue.mean(Time{} + 200_s), 0x1p39);
}

TEST(OrderStatisticsTest, PercentileIsTheNearestRank) {
  // The usual example: ranks ceil(p/100 * 5) of 15, 20, 35, 40, 50.
  const std::vector<double> values{35, 20, 15, 50, 40};
  EXPECT_EQ(percentile(values, 5), 15);
  EXPECT_EQ(percentile(values, 30), 20);
  EXPECT_EQ(percentile(values, 40), 20);
  EXPECT_EQ(percentile(values, 40.1), 35);
  EXPECT_EQ(percentile(values, 50), 35);
  EXPECT_EQ(percentile(values, 100), 50);
  EXPECT_EQ(percentile(values, 0), 15);
  EXPECT_THROW((void)percentile(values, 101), InternalError);
  EXPECT_THROW((void)percentile({}, 50), InternalError);
}

TEST(OrderStatisticsTest, PercentileOfTwentyAtNinetyFiveIsTheNineteenth) {
  std::vector<double> values;
  for (int i = 1; i <= 20; ++i) values.push_back(i);
  EXPECT_EQ(percentile(values, 95), 19);
  EXPECT_EQ(percentile(values, 95.01), 20);
}

TEST(OrderStatisticsTest, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
  EXPECT_THROW((void)median({}), InternalError);
}

TEST(OrderStatisticsTest, Means) {
  EXPECT_DOUBLE_EQ(mean(std::vector<double>{1, 2, 6}), 3);
  EXPECT_NEAR(geometric_mean(std::vector<double>{1, 8, 27}), 6.0, 1e-14);
  EXPECT_EQ(geometric_mean(std::vector<double>{1, 0, 27}), 0);
  EXPECT_THROW((void)geometric_mean(std::vector<double>{1, -1}), InternalError);
}

TEST(OrderStatisticsTest, JainIndex) {
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{5, 5, 5, 5}), 1.0);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 3}), 16.0 / 20.0);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{0, 0}), 1.0);
}

TEST(HistogramTest, IsExactBelowSixtyFour) {
  Histogram histogram;
  for (std::int64_t value = 0; value < 64; ++value) histogram.add(value);
  EXPECT_EQ(histogram.count(), 64);
  EXPECT_EQ(histogram.percentile(50), 31);
  EXPECT_EQ(histogram.percentile(100), 63);
  EXPECT_EQ(histogram.bins().size(), 64U);
  EXPECT_DOUBLE_EQ(histogram.mean(), 31.5);
}

TEST(HistogramTest, BinsCoverEveryValueWithoutGapOrOverlap) {
  Histogram histogram;
  for (int power = 6; power < 63; ++power) {
    for (const std::int64_t offset : {-1, 0, 1}) histogram.add((std::int64_t{1} << power) + offset);
  }
  histogram.add(std::numeric_limits<std::int64_t>::max());
  std::int64_t total = 0;
  std::int64_t previous = -1;
  for (const auto& bin : histogram.bins()) {
    EXPECT_GT(bin.first, previous);
    EXPECT_GE(bin.last, bin.first);
    EXPECT_LE(bin.last - bin.first, bin.first < 64 ? 0 : bin.first / 32);
    previous = bin.last;
    total += bin.count;
  }
  EXPECT_EQ(total, histogram.count());
  EXPECT_EQ(previous, std::numeric_limits<std::int64_t>::max());
}

TEST(HistogramTest, PercentilesAreAtMostOneThirtySecondHigh) {
  RandomStream random{1, "histogram"};
  Histogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<std::int64_t>(random.lognormal(10.0, 2.0));
    histogram.add(value);
    values.push_back(static_cast<double>(value));
  }
  for (const double percent : {1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const double exact = percentile(values, percent);
    const auto shown = static_cast<double>(histogram.percentile(percent));
    EXPECT_GE(shown, exact);
    EXPECT_LE(shown, exact * (1.0 + 1.0 / 32) + 1.0);
  }
  EXPECT_EQ(static_cast<double>(histogram.maximum()), percentile(values, 100));
  EXPECT_EQ(static_cast<double>(histogram.minimum()), percentile(values, 0));
}

TEST(HistogramTest, MergesAsIfAddedToOne) {
  Histogram a;
  Histogram b;
  Histogram both;
  for (std::int64_t i = 0; i < 100; ++i) {
    (i % 3 == 0 ? a : b).add(i * i, i + 1);
    both.add(i * i, i + 1);
  }
  Histogram merged;
  merged.merge(b);
  merged.merge(a);
  merged.merge(Histogram{});
  EXPECT_EQ(merged.count(), both.count());
  EXPECT_EQ(merged.minimum(), 0);
  EXPECT_EQ(merged.maximum(), 99 * 99);
  EXPECT_EQ(merged.percentile(50), both.percentile(50));
  EXPECT_EQ(merged.mean(), both.mean());
}

TEST(HistogramTest, RefusesNegativeValuesAndEmptyAnswers) {
  Histogram histogram;
  EXPECT_THROW(histogram.add(-1), InternalError);
  EXPECT_THROW((void)histogram.mean(), InternalError);
  EXPECT_THROW((void)histogram.percentile(50), InternalError);
}

}  // namespace
}  // namespace weft
