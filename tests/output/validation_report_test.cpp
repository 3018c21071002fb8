#include "sim/measured/validation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/output/report/validation_charts.h"

namespace weft::output {
namespace {

using namespace weft::literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A point measured at 100 us and predicted with the given error.
measured::ValidationPoint point(double error, Bytes bytes = 1_MiB, const std::string& file = "a.txt",
                                const std::string& collective = "all_reduce") {
  measured::ValidationPoint p;
  p.file = file;
  p.collective = collective;
  p.ranks = 4;
  p.nodes = 1;
  p.bytes = bytes;
  p.algorithm = "Ring";
  p.protocol = "LL";
  p.channels = 24;
  p.measured_us = 100;
  p.predicted_us = 100 * (1 + error);
  return p;
}

template <class Change>
measured::ValidationPoint changed(Change change) {
  measured::ValidationPoint p = point(0.5);
  change(p);
  return p;
}

TEST(ValidationReportTest, ErrorIsPredictedOverMeasuredLessOne) {
  measured::ValidationPoint p = point(0);
  p.measured_us = 80;
  p.predicted_us = 100;
  EXPECT_DOUBLE_EQ(*measured::relative_error(p), 0.25);
  p.predicted_us = 60;
  EXPECT_DOUBLE_EQ(*measured::relative_error(p), -0.25);
  p.predicted_us.reset();
  EXPECT_EQ(measured::relative_error(p), std::nullopt);
  p.predicted_us = 60;
  p.measured_us = 0;
  EXPECT_EQ(measured::relative_error(p), std::nullopt);
}

TEST(ValidationReportTest, CurvesGoFromSmallToLarge) {
  measured::ValidationReport report;
  report.points = {point(0.1, 8_KiB), point(0.2, 4_MiB), point(0.3, 64_KiB), point(0.4, 1_MiB)};
  const std::vector<detail::CurveGroup> groups = detail::curves_of(report);
  ASSERT_THAT(groups, SizeIs(1));
  std::vector<Bytes> sizes;
  for (const measured::ValidationPoint* one : groups.front().points) sizes.push_back(one->bytes);
  EXPECT_THAT(sizes, ElementsAre(8_KiB, 64_KiB, 1_MiB, 4_MiB));
}

TEST(ValidationReportTest, SummaryOfAnOddNumber) {
  const measured::ErrorSummary s = measured::summarize({0.04, 0.01, 0.02});
  EXPECT_EQ(s.points, 3u);
  EXPECT_DOUBLE_EQ(s.median, 0.02);
  EXPECT_NEAR(s.geomean, std::cbrt(0.04 * 0.01 * 0.02), 1e-15);  // 0.02
  EXPECT_DOUBLE_EQ(s.p95, 0.04);                                 // ceil(2.85) = the third
  EXPECT_DOUBLE_EQ(s.max, 0.04);
}

TEST(ValidationReportTest, MedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(measured::summarize({0.5, 0.1, 0.3, 0.2}).median, 0.25);
}

TEST(ValidationReportTest, Percentile95IsTheNearestRank) {
  // The 95th percentile of n errors 1, 2, ... n is ceil(0.95 n): 19 of 19 is 19 (18.05), 20 gives 19 (exactly), 21 gives 20
  // (19.95).
  const auto p95 = [](int n) {
    std::vector<double> errors;
    for (int i = n; i >= 1; --i) errors.push_back(i);
    return measured::summarize(errors).p95;
  };
  EXPECT_EQ(p95(1), 1);
  EXPECT_EQ(p95(19), 19);
  EXPECT_EQ(p95(20), 19);
  EXPECT_EQ(p95(21), 20);
  EXPECT_EQ(p95(100), 95);
  EXPECT_EQ(p95(101), 96);
}

TEST(ValidationReportTest, GeomeanIsZeroIfOneErrorIs) {
  EXPECT_EQ(measured::summarize(std::vector<double>{0, 0.1}).geomean, 0);
  EXPECT_EQ(measured::summarize(std::vector<double>{}).points, 0u);
  EXPECT_EQ(measured::summarize(std::vector<double>{}).max, 0);
}

TEST(ValidationReportTest, SizeClassesMeetAt2And32MiB) {
  EXPECT_EQ(measured::size_class_of(2_MiB - 1_B), measured::SizeClass::kBelow2MiB);
  EXPECT_EQ(measured::size_class_of(2_MiB), measured::SizeClass::k2To32MiB);
  EXPECT_EQ(measured::size_class_of(32_MiB), measured::SizeClass::k2To32MiB);
  EXPECT_EQ(measured::size_class_of(32_MiB + 1_B), measured::SizeClass::kAbove32MiB);
}

TEST(ValidationReportTest, LeavesOutWhatDoesNotCount) {
  EXPECT_EQ(measured::exclusion_of(point(0.5)), measured::Exclusion::kNone);
  EXPECT_EQ(measured::exclusion_of(changed([](auto& p) { p.in_place = true; })), measured::Exclusion::kInPlace);
  EXPECT_EQ(measured::exclusion_of(changed([](auto& p) { p.bytes = 0_B; })), measured::Exclusion::kZeroBytes);
  EXPECT_EQ(measured::exclusion_of(changed([](auto& p) { p.bytes = 1_B; })), measured::Exclusion::kNone);
  EXPECT_EQ(measured::exclusion_of(changed([](auto& p) { p.has_debug_output = true; })), measured::Exclusion::kDebugLog);
  EXPECT_EQ(measured::exclusion_of(changed([](auto& p) { p.is_cpu_time = true; })), measured::Exclusion::kCpuTime);
  EXPECT_EQ(measured::exclusion_of(changed([](auto& p) { p.predicted_us.reset(); })), measured::Exclusion::kNotPredicted);
  EXPECT_EQ(measured::exclusion_of(changed([](auto& p) { p.training = true; })), measured::Exclusion::kTraining);
  const auto spread = [](const char* kind, double low, double high) {
    return measured::exclusion_of(changed([&](auto& p) {
      p.kind = kind;
      p.measured_us = 100;
      p.measured_low_us = low;
      p.measured_high_us = high;
    }));
  };
  EXPECT_EQ(spread("overlap", 70, 110), measured::Exclusion::kNone) << "by 0.4 of the median";
  EXPECT_EQ(spread("overlap", 70, 111), measured::Exclusion::kUnsteady);
  EXPECT_EQ(spread("overlap", 0, 300), measured::Exclusion::kNone) << "not known";
  EXPECT_EQ(spread("memory", 70, 200), measured::Exclusion::kNone);
  // A kernel has no size column.
  EXPECT_EQ(measured::exclusion_of(changed([](auto& p) {
              p.kind = "gemm";
              p.collective.clear();
              p.bytes = 0_B;
            })),
            measured::Exclusion::kNone);

  measured::ValidationReport report;
  report.points = {point(0.02),
                   point(-0.04),
                   changed([](auto& p) { p.in_place = true; }),
                   changed([](auto& p) { p.bytes = 0_B; }),
                   changed([](auto& p) { p.has_debug_output = true; }),
                   changed([](auto& p) { p.is_cpu_time = true; }),
                   changed([](auto& p) { p.predicted_us.reset(); }),
                   changed([](auto& p) { p.training = true; })};
  const measured::ErrorSummary summary = report.summary();
  EXPECT_EQ(summary.points, 2u);
  EXPECT_NEAR(summary.median, 0.03, 1e-12);
  EXPECT_NEAR(summary.max, 0.04, 1e-12);
}

TEST(ValidationReportTest, SummariesByFileCollectiveAndSize) {
  measured::ValidationReport report;
  report.points = {point(0.01, 1_MiB, "a.txt"), point(0.02, 2_MiB, "a.txt"), point(0.03, 64_MiB, "b.txt", "all_gather"),
                   point(0.04, 64_MiB, "b.txt", "all_gather")};
  ASSERT_THAT(report.summary_by_file(), SizeIs(2));
  EXPECT_NEAR(report.summary_by_file().at("a.txt").max, 0.02, 1e-12);
  EXPECT_NEAR(report.summary_by_collective().at("all_gather").median, 0.035, 1e-12);
  EXPECT_NEAR(report.summary_by_size().at(measured::SizeClass::k2To32MiB).max, 0.02, 1e-12);
  const auto nested = report.summary_by_collective_and_size();
  EXPECT_THAT(nested.at("all_reduce"), SizeIs(2));
  EXPECT_EQ(nested.at("all_gather").at(measured::SizeClass::kAbove32MiB).points, 2u);
}

TEST(ValidationReportTest, KindsThatAreNoCollectiveAreSummarisedByKind) {
  measured::ValidationReport report;
  report.points = {changed([](auto& p) {
    p.kind = "gemm";
    p.collective.clear();
  })};
  EXPECT_EQ(report.summary_by_collective().at("gemm").points, 1u);
}

TEST(ValidationReportTest, LimitsAreMetAtTheLimitAndMissedAboveIt) {
  measured::ValidationReport report;
  report.points = {point(0.25), point(-0.5), point(0.125)};  // exact in binary: median 0.25, p95 and max 0.5
  EXPECT_TRUE(report.within({}));
  EXPECT_TRUE(report.within({.max_median = 0.25, .max_p95 = 0.5, .max_error = 0.5}));
  EXPECT_THAT(report.missed({.max_median = 0.2499, .max_p95 = 0.4999, .max_error = 0.4999}),
              ElementsAre("median error is 25.00 %, over the limit of 24.99 %",
                          "95th percentile of the error is 50.00 %, over the limit of 49.99 %",
                          "largest error is 50.00 %, over the limit of 49.99 %"));
}

TEST(ValidationReportTest, LimitsAreMissedWhereNothingCounts) {
  measured::ValidationReport report;
  report.points = {changed([](auto& p) { p.training = true; })};
  EXPECT_FALSE(report.within({.max_median = 0.05, .max_p95 = {}, .max_error = {}}));
  EXPECT_THAT(report.missed({.max_median = 0.05, .max_p95 = {}, .max_error = {}}),
              ElementsAre("median error is not known: no point counts (limit 5 %)"));
  EXPECT_THAT(report.missed({}), IsEmpty());
}

TEST(ValidationReportTest, TablesAreAlignedAndMarked) {
  measured::ValidationReport report;
  report.points = {point(0.0125, 1_KiB), changed([](auto& p) {
                     p.in_place = true;
                     p.training = true;
                   }),
                   changed([](auto& p) {
                     p.training = true;
                     p.bytes = 4_GiB;
                   }),
                   changed([](auto& p) { p.predicted_us.reset(); })};
  report.points[1].measured_us = report.points[2].measured_us = 12345.678;
  EXPECT_EQ(
      measured::points_table(report),
      "# a.txt\n"
      "# collective      ranks          size  place  algorithm      protocol  channels    measured   predicted     error\n"
      "#                                 (B)                                                  (us)        (us)       (%)\n"
      "  all_reduce          4          1024  out    Ring           LL              24      100.00      101.25     +1.25\n"
      "  all_reduce          4       1048576  in     Ring           LL              24    12345.68      150.00    -98.78  in "
      "place, training\n"
      "  all_reduce          4    4294967296  out    Ring           LL              24    12345.68      150.00    -98.78  "
      "training\n"
      "  all_reduce          4       1048576  out    Ring           LL              24      100.00           -         -  not "
      "modelled\n");
  EXPECT_EQ(measured::summary_table(report),
            "# 4 points: 1 counted, 1 in place, 1 not modelled, 1 training\n"
            "#\n"
            "# file        size       points   median  geomean      p95      max\n"
            "#                                    (%)      (%)      (%)      (%)\n"
            "  a.txt       all             1     1.25     1.25     1.25     1.25\n"
            "#\n"
            "# collective  size       points   median  geomean      p95      max\n"
            "#                                    (%)      (%)      (%)      (%)\n"
            "  all_reduce  all             1     1.25     1.25     1.25     1.25\n"
            "              < 2 MiB         1     1.25     1.25     1.25     1.25\n"
            "              > 32 MiB        0        -        -        -        -\n"
            "#\n"
            "# all         size       points   median  geomean      p95      max\n"
            "#                                    (%)      (%)      (%)      (%)\n"
            "  all         all             1     1.25     1.25     1.25     1.25\n"
            "              < 2 MiB         1     1.25     1.25     1.25     1.25\n"
            "              > 32 MiB        0        -        -        -        -\n");
}

TEST(ValidationReportTest, JsonHasTheKeysThatProgramsRelyOn) {
  measured::ValidationReport report;
  report.points = {point(0.25), changed([](auto& p) {
                     p.predicted_us.reset();
                     p.collective = "alltoall";
                     p.file = "b.txt";
                   })};
  const auto json = nlohmann::json::parse(measured::to_json(report));
  const auto& first = json["points"][0];
  for (const char* key :
       {"file", "kind", "collective", "ranks", "nodes", "bytes", "algorithm", "protocol", "channels", "time_us", "algbw_GBps",
        "busbw_GBps", "in_place", "measured_us", "predicted_us", "relative_error", "training"}) {
    EXPECT_TRUE(first.contains(key)) << key;
  }
  EXPECT_EQ(first["bytes"], 1'048'576);
  EXPECT_EQ(first["measured_us"], 100.0);
  EXPECT_EQ(first["predicted_us"], 125.0);
  EXPECT_EQ(first["relative_error"], 0.25);
  EXPECT_EQ(first["training"], false);
  EXPECT_TRUE(json["points"][1]["predicted_us"].is_null());
  EXPECT_TRUE(json["points"][1]["relative_error"].is_null());
  EXPECT_EQ(json["summary"]["points"], 1);
  EXPECT_EQ(json["summary"]["median"], 0.25);
  EXPECT_EQ(json["summary_by"]["all_reduce"]["max"], 0.25);
  EXPECT_EQ(json["summary_by"]["alltoall"]["points"], 0);
  EXPECT_TRUE(json["summary_by"]["alltoall"]["median"].is_null());
  EXPECT_EQ(json["summary_by_file"]["a.txt"]["p95"], 0.25);
  EXPECT_EQ(json["summary_by_size"]["< 2 MiB"]["geomean"], 0.25);
  EXPECT_EQ(json["summary_by_collective_and_size"]["all_reduce"]["< 2 MiB"]["points"], 1);
}

TEST(ValidationReportTest, JsonOfNothingIsStillWhole) {
  const auto json = nlohmann::json::parse(measured::to_json({}));
  EXPECT_TRUE(json["points"].is_array());
  EXPECT_EQ(json["summary"]["points"], 0);
  EXPECT_TRUE(json["summary_by"].is_object());
}

}  // namespace
}  // namespace weft::output
