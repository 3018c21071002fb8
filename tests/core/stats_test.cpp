#include "sim/core/stats.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "sim/core/error.h"

namespace weft {
namespace {

using namespace weft::literals;

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

TEST(OrderStatisticsTest, Mean) { EXPECT_DOUBLE_EQ(mean(std::vector<double>{1, 2, 6}), 3); }

TEST(OrderStatisticsTest, JainIndex) {
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{5, 5, 5, 5}), 1.0);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 3}), 16.0 / 20.0);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{0, 0}), 1.0);
}

}  // namespace
}  // namespace weft
