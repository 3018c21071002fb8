#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(OverlapKindTest, GivesAPointForEachStreamOfAnOverlap) {
  MeasuredPoint point;
  point.kind = "overlap";
  point.what = "collective_with_gemm";
  point.ranks = 4;
  point.median_us = 4000;
  OverlapPart reduce;
  reduce.op = "all_reduce";
  reduce.bytes = Bytes{64 << 20};
  reduce.calls = 4;
  reduce.median_us = 3000;
  OverlapPart product;
  product.op = "gemm";
  product.m = product.n = product.k = 8192;
  product.calls = 2;
  product.median_us = 4000;
  point.parts = {reduce};
  const double alone = *predicted(point).predicted_us;
  point.parts = {reduce, product};
  const Predictions both = predict_points(four_gpus(), log_with(point), {});
  ASSERT_EQ(both.points.size(), 2U);
  EXPECT_EQ(both.points[0].algorithm, "all_reduce beside gemm");
  EXPECT_DOUBLE_EQ(both.points[1].measured_us, 4000);
  EXPECT_GT(*both.points[0].predicted_us, alone);  // they cost each other SMs and memory
}

// Collectives alone are predicted at the clock stated; beside compute it is the load's.
TEST(OverlapKindTest, PredictsCollectivesAtTheClockTheyWereMeasuredAt) {
  MeasuredPoint point;
  point.kind = "overlap";
  point.what = "collective_alone";
  point.ranks = 4;
  point.median_us = 1400;
  OverlapPart reduce;
  reduce.op = "all_reduce";
  reduce.bytes = Bytes{1 << 20};
  reduce.calls = 64;
  reduce.median_us = 1400;
  OverlapPart product;
  product.op = "gemm";
  product.m = product.n = product.k = 8192;
  product.calls = 2;
  product.median_us = 4000;
  point.parts = {reduce};
  const double full = *predicted(point).predicted_us;
  point.slowdown = 1.25;
  const double low = *predicted(point).predicted_us;
  // Latencies take 1.125 times as long, the bytes of thread blocks 1.25 times, those of links as long as before.
  EXPECT_GT(low, full * 1.05);
  EXPECT_LT(low, full * 1.25);
  point.parts = {reduce, product};
  const double stated = *predicted(point).predicted_us;
  point.slowdown = 1;
  EXPECT_EQ(*predicted(point).predicted_us, stated);
}

// 0.4 of the median is the limit: 80 to 120 us around 100 are within it.
TEST(OverlapKindTest, TimesWhoseSamplesLieFarApartDoNotCount) {
  ValidationPoint point;
  point.kind = "overlap";
  point.measured_us = 100;
  point.predicted_us = 90;
  point.measured_low_us = 80;
  point.measured_high_us = 120;
  EXPECT_EQ(exclusion_of(point), Exclusion::kNone);
  point.measured_high_us = 121;
  EXPECT_EQ(exclusion_of(point), Exclusion::kUnsteady);
  point.kind = "copy";
  EXPECT_EQ(exclusion_of(point), Exclusion::kNone) << "copies have one outcome";
}

TEST(OverlapKindTest, OfNoPartsIsOnePointThatSaysSo) {
  const std::vector<ValidationPoint> points = all_predicted(record_of("overlap", "nothing"));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].not_modelled, "overlap 'nothing'");
}

TEST(OverlapKindTest, WhatHasNoModelKeepsItsPoints) {
  MeasuredPoint record = record_of("overlap", "odd");
  record.ranks = 2;
  record.parts = {{.op = "all_reduce", .bytes = Bytes{1024}, .groups = {{0}, {1}}}, {.op = "sort", .bytes = Bytes{1024}}};
  const std::vector<ValidationPoint> points = all_predicted(record);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].algorithm, "all_reduce in 2 groups beside sort");
  EXPECT_EQ(points[1].not_modelled, "'sort' beside others");
}

}  // namespace
}  // namespace weft::measured
