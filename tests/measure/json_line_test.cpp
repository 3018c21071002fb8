#include "json_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "record.h"

namespace weft::measure {
namespace {

TEST(JsonLineTest, MembersComeInTheOrderGiven) {
  JsonObject object;
  object.add("b", 1).add("a", "x").add("c", true).add("d", std::vector<int>{1, 2});
  EXPECT_EQ(object.text(), R"({"b": 1, "a": "x", "c": true, "d": [1, 2]})");
}

TEST(JsonLineTest, StringsAreEscaped) { EXPECT_EQ(json_string("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\""); }

TEST(JsonLineTest, NumbersKeepFourDecimals) {
  EXPECT_EQ(json_number(12.5), "12.5");
  EXPECT_EQ(json_number(1.23456), "1.2346");
  EXPECT_EQ(json_number(-0.00001), "0");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonLineTest, PairsAreListsOfTwo) {
  JsonObject object;
  object.add("transfers", std::vector<std::pair<int, int>>{{-1, 0}, {0, 1}});
  EXPECT_EQ(object.text(), R"({"transfers": [[-1, 0], [0, 1]]})");
}

TEST(RecordTest, HoldsWhatItIsItsSamplesAndItsClock) {
  Measurement measurement{.what = {}, .samples_us = {3, 1, 2}, .inner = 4, .warmup = 5, .gpus = {0, 1}};
  measurement.what.add("op", "copy");
  EXPECT_EQ(record_members(measurement, R"({"sm_mhz": 1980})"),
            R"("op": "copy", "gpus": [0, 1], "median_us": 2, "mean_us": 2, "min_us": 1, "max_us": 3, "p25_us": 1.5, )"
            R"("p75_us": 2.5, "samples": 3, "samples_us": [3, 1, 2], "inner": 4, "warmup": 5, "clock": {"sm_mhz": 1980})");
}

TEST(RecordTest, KeepsThirtyTwoOfManySamples) {
  const Measurement measurement{.what = {}, .samples_us = std::vector<double>(40, 1.0), .gpus = {0}};
  const std::string text = record_members(measurement, {});
  EXPECT_NE(text.find("\"samples\": 40"), std::string::npos);
  const std::size_t begin = text.find("\"samples_us\": [");
  const std::string list = text.substr(begin, text.find(']', begin) - begin);
  EXPECT_EQ(std::count(list.begin(), list.end(), ','), 31);
}

}  // namespace
}  // namespace weft::measure
