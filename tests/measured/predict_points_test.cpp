// Records of measurement files, whatever their kind; what each kind is predicted by has a test in kinds/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/measured/kernel_points.h"
#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(PredictPointsTest, IsTheSameTwice) {
  const PointLog log = log_with(copy({{0, 1}, {1, 0}}, 1 << 20));
  EXPECT_EQ(predict_points(four_gpus(), log, {}).digest, predict_points(four_gpus(), log, {}).digest);
}

TEST(KernelPointsTest, KeepsKernelsOfTheRecordSetHoweverShortUnlessTheHostShows) {
  PointLog log = log_with(gemm(4096, 200));
  log.points[0].record_set = "quick";
  log.points.push_back(gemm(8192, 1500));
  log.points[1].record_set = "full";
  log.points.push_back(gemm(256, 6));
  log.points[2].record_set = "quick";
  log.points.push_back(gemm(512, 6));  // issued one by one, 4 us each
  log.points[3].record_set = "quick";
  log.points[3].host_us = 4;
  const Profile profile = four_gpus().profile;
  const KernelLog quick = kernel_log_of(log, profile, "quick");
  ASSERT_EQ(quick.kernels.size(), 2U);
  EXPECT_EQ(quick.gpu, "h200_sxm");
  EXPECT_DOUBLE_EQ(*quick.kernels[0].us, 200 - 1.7);  // less the gap
  EXPECT_DOUBLE_EQ(*quick.kernels[1].us, 6 - 1.7);
  EXPECT_EQ(kernel_log_of(log, profile, "").kernels.size(), 3U);
  EXPECT_NE(quick.digest, digest_of(log, "full"));
}

// Norms of `weft measure` are its own; those of a framework are what steps have.
TEST(KernelPointsTest, FitsSeeNoNormsOfTheRunner) {
  const Profile profile = four_gpus().profile;
  PointLog log;
  log.file = "points.jsonl";
  log.gpu = "NVIDIA H200";
  for (const char* what : {"rmsnorm", "softmax", "copy"}) {
    MeasuredPoint point;
    point.kind = "memory";
    point.what = what;
    point.bytes = Bytes{1 << 28};
    point.elements = 1 << 26;
    point.median_us = 100;
    point.hand_written = true;
    log.points.push_back(point);
  }
  const KernelLog kernels = kernel_log_of(log, profile, "");
  ASSERT_EQ(kernels.kernels.size(), 1U);
  EXPECT_EQ(kernels.kernels.front().kernel.kind, work::KernelKind::kCopy);
  log.points.front().hand_written = false;
  EXPECT_EQ(kernel_log_of(log, profile, "").kernels.size(), 2U);
}

TEST(PointKindTest, EveryKindIsFoundByItsNameAndNoOtherIs) {
  std::set<std::string_view> names;
  for (const PointKind* kind : point_kinds()) {
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
    EXPECT_EQ(find_point_kind(kind->name), kind);
  }
  EXPECT_EQ(find_point_kind("matmul"), nullptr);
  EXPECT_TRUE(names.contains(ValidationPoint{}.kind));
}

TEST(PointKindTest, ARecordThatSaysNothingIsAPointWithoutAPredictionAndWithAReason) {
  for (const PointKind* kind : point_kinds()) {
    if (kind->predict == nullptr) continue;
    const std::vector<ValidationPoint> points = all_predicted(record_of(std::string{kind->name}, "nothing"));
    ASSERT_EQ(points.size(), 1U) << kind->name;
    EXPECT_EQ(points[0].kind, kind->name);
    EXPECT_FALSE(points[0].predicted_us) << kind->name;
    EXPECT_FALSE(points[0].not_modelled.empty()) << kind->name;
  }
}

}  // namespace
}  // namespace weft::measured
