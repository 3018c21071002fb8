#include "sim/planning/sweep/axis_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AxisRange range(const std::string& text, AxisRange::Use use = AxisRange::Use::kStepped) {
  Diagnostics diagnostics;
  return AxisRange{*ConfigNode::parse("x: " + text + "\n", "sweep.yaml").find("x"), use, diagnostics};
}

std::vector<std::string> values(const std::string& text) { return range(text).values(); }

std::string range_message_of(const std::string& text) {
  try {
    static_cast<void>(values(text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(AxisRangeTest, StepsUpToTheEndAndNotBeyond) {
  EXPECT_THAT(values("{from: 1, to: 4, step: 1}"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(values("{from: 1, to: 4, step: 2}"), ElementsAre("1", "3"));
  EXPECT_THAT(values("{from: 100 Gb/s, to: 300 Gb/s, step: 100 Gb/s}"), ElementsAre("100 Gb/s", "200 Gb/s", "300 Gb/s"));
  EXPECT_EQ(values("{from: 0, to: 1, step: 0.1}").size(), 11U);  // 0.1 has no exact double
}

TEST(AxisRangeTest, DoublesOnALogarithmicScaleOfTwo) {
  EXPECT_THAT(values("{from: 1 MiB, to: 8 MiB, scale: log2}"), ElementsAre("1 MiB", "2 MiB", "4 MiB", "8 MiB"));
  EXPECT_THAT(values("{from: 1, to: 9, scale: log2}"), ElementsAre("1", "2", "4", "8"));
}

TEST(AxisRangeTest, TimesTenOnALogarithmicScaleOfTen) {
  EXPECT_THAT(values("{from: 1 us, to: 1 ms, scale: log10}"), ElementsAre("1 us", "10 us", "100 us", "1 ms"));
}

TEST(AxisRangeTest, CountsEvenlyWithBothEnds) {
  EXPECT_THAT(values("{from: 0, to: 100, count: 5}"), ElementsAre("0", "25", "50", "75", "100"));
  EXPECT_THAT(values("{from: 0.0, to: 1, count: 3}"), ElementsAre("0", "0.5", "1"));
  // 1024 times the fourth root of 2^20: 5 places up.
  EXPECT_THAT(values("{from: 1 KiB, to: 1 GiB, count: 5, scale: log2}"),
              ElementsAre("1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"));
}

TEST(AxisRangeTest, SharesAreNumbers) { EXPECT_THAT(values("{from: 0 %, to: 10 %, count: 2}"), ElementsAre("0", "0.1")); }

TEST(AxisRangeTest, RefusesWhatHasNoValues) {
  EXPECT_THAT(range_message_of("{from: 4, to: 1, step: 1}"), HasSubstr("the range is empty: 'from' is above 'to'"));
  EXPECT_THAT(range_message_of("{from: 1, to: 4}"), HasSubstr("a range takes either a step or a count"));
  EXPECT_THAT(range_message_of("{from: 1, to: 4, step: 1, count: 2}"), HasSubstr("a range takes either a step or a count"));
  EXPECT_THAT(range_message_of("{from: 1, to: 4, step: 0}"), HasSubstr("a step is more than 0"));
  EXPECT_THAT(range_message_of("{from: 0, to: 4, scale: log2}"), HasSubstr("a logarithmic range begins above 0"));
  EXPECT_THAT(range_message_of("{from: 1 us, to: 4 KiB, count: 3}"), HasSubstr("the ends of a range are of one kind"));
  EXPECT_THAT(range_message_of("{from: 1, to: 3, count: 10}"), HasSubstr("10 values from 1 to 3 are not all different"));
  EXPECT_THAT(range_message_of("{from: 0, to: 1, count: 5}"), HasSubstr("from: 0.0 takes numbers between"));
  EXPECT_THAT(range_message_of("{from: small, to: 3, count: 10}"), HasSubstr("expected a number or a quantity"));
}

TEST(AxisRangeTest, RefusesMoreValuesThanItMay) {
  EXPECT_EQ(values("{from: 1, to: 1000000, step: 1}").size(), 1'000'000U);
  EXPECT_THAT(range_message_of("{from: 1, to: 1000001, step: 1}"),
              HasSubstr("the range has 1000001 values, more than 1000000"));
}

TEST(AxisRangeTest, DrawsWholeNumbersWithBothEnds) {
  const AxisRange dice = range("{from: 1, to: 6}", AxisRange::Use::kDrawn);
  EXPECT_EQ(dice.drawn(0), "1");
  EXPECT_EQ(dice.drawn(0.166), "1");  // one sixth of the draws each
  EXPECT_EQ(dice.drawn(0.167), "2");
  EXPECT_EQ(dice.drawn(0.999'999), "6");
}

TEST(AxisRangeTest, DrawsEvenlyInTheLogarithm) {
  const AxisRange sizes = range("{from: 1 KiB, to: 1 MiB, scale: log2}", AxisRange::Use::kDrawn);
  EXPECT_EQ(sizes.drawn(0), "1 KiB");
  EXPECT_EQ(sizes.drawn(0.5), "32 KiB");
}

}  // namespace
}  // namespace weft::plan
