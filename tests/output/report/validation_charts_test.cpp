// Charts of validation points: what is drawn of them.
#include "sim/output/report/validation_charts.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::output::detail {
namespace {

// A GPU of 100 TFLOP/s in bf16 and 200 in fp8, and 1 TB/s: the roofs bend at 100 and 200 FLOP/B.
net::GpuSpec gpu() {
  net::GpuSpec made{.name = "gpu", .hbm_bytes_per_second = 1e12};
  made.peaks[static_cast<std::size_t>(net::NumberType::kBf16)] = 100e12;
  made.peaks[static_cast<std::size_t>(net::NumberType::kFp8)] = 200e12;
  return made;
}

// That takes a second.
measured::ValidationPoint gemm(work::Precision precision, double flops, std::int64_t bytes) {
  measured::ValidationPoint point;
  point.kind = "gemm";
  point.bytes = Bytes{bytes};
  point.flops = flops;
  point.precision = precision;
  point.measured_us = 1e6;
  point.predicted_us = 1e6;
  return point;
}

TEST(RooflineChartTest, DrawsTheRoofOfEachPrecisionOverItsPoints) {
  const measured::ValidationPoint wide_low = gemm(work::Precision::kBf16, 10e12, 1'000'000'000'000);   // 10 FLOP/B
  const measured::ValidationPoint wide_high = gemm(work::Precision::kBf16, 80e12, 200'000'000'000);    // 400 FLOP/B
  const measured::ValidationPoint narrow_low = gemm(work::Precision::kFp8, 50e12, 1'000'000'000'000);  // 50 FLOP/B
  const measured::ValidationPoint narrow_high = gemm(work::Precision::kFp8, 180e12, 100'000'000'000);  // 1800 FLOP/B
  const std::vector<const measured::ValidationPoint*> points{&wide_low, &wide_high, &narrow_low, &narrow_high};
  const XyChart chart = roofline_chart(points, roofs_of(gpu(), points));
  ASSERT_EQ(chart.series.size(), 4U);  // two roofs, predicted, measured
  const auto expect_roof = [](const ChartSeries& roof, const std::vector<std::pair<double, double>>& corners) {
    ASSERT_EQ(roof.points.size(), corners.size());
    for (std::size_t i = 0; i < corners.size(); ++i) {
      EXPECT_DOUBLE_EQ(roof.points[i].x, corners[i].first);
      EXPECT_DOUBLE_EQ(roof.points[i].y, corners[i].second);
    }
  };
  EXPECT_EQ(chart.series[0].name, "data sheet, bf16");
  expect_roof(chart.series[0], {{10, 10}, {100, 100}, {400, 100}});
  EXPECT_EQ(chart.series[1].name, "data sheet, fp8");
  expect_roof(chart.series[1], {{50, 50}, {200, 200}, {1800, 200}});
  EXPECT_NE(chart.series[0].colour, chart.series[1].colour);
}

TEST(RooflineChartTest, DrawsNoRoofOfAPrecisionWithoutPoints) {
  const measured::ValidationPoint point = gemm(work::Precision::kBf16, 10e12, 1'000'000'000'000);
  const XyChart chart = roofline_chart({&point}, roofs_of(gpu(), {&point}));
  ASSERT_EQ(chart.series.size(), 3U);
  EXPECT_EQ(chart.series[0].name, "data sheet, bf16");
}

TEST(EfficiencyChartTest, IsOfThePeakOfEachPointsPrecision) {
  const measured::ValidationPoint wide = gemm(work::Precision::kBf16, 80e12, 1);
  const measured::ValidationPoint narrow = gemm(work::Precision::kFp8, 180e12, 1);
  const std::vector<const measured::ValidationPoint*> points{&wide, &narrow};
  const XyChart chart = efficiency_chart(points, roofs_of(gpu(), points));
  const std::vector<ChartPoint>& measured = chart.series.back().points;
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_DOUBLE_EQ(measured[0].y, 0.8);
  EXPECT_DOUBLE_EQ(measured[1].y, 0.9);
}

}  // namespace
}  // namespace weft::output::detail
