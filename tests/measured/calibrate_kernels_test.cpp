#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/measured/fit/calibrate.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "tests/measured/measurement_support.h"

namespace weft::measured {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using work::Kernel;
using work::KernelKind;

Profile defaults() { return Profile::defaults(scenario::all_param_groups()); }

// The machine that the logs below are taken on.
Profile truth() {
  return defaults()
      .with_value("gpu.gemm.efficiency", "0.7", "test")
      .with_value("gpu.memory.contiguous_efficiency", "0.7", "test")
      .with_value("gpu.memory.strided_copy_ps", "5", "test")
      .with_value("gpu.contention.gemm", "1.5", "test")
      .with_value("gpu.stream.gap", "3 us", "test");
}

KernelLog log_of_truth() {
  const Profile profile = truth();
  const work::KernelTimes times{work::gpu_spec("h100_sxm"), profile};
  KernelLog log{.file = "some/where.jsonl", .gpu = "h100_sxm", .machine = "H100", .digest = "0123456789abcdef"};
  const auto add = [&](const Kernel& kernel) {
    KernelRow row{.kernel = kernel, .us = times.alone(kernel).seconds() * 1e6, .beside_us = {}, .sustained_us = {}};
    row.beside_ctas = 12;
    row.beside_us = *row.us * work::slowdown_beside(profile.get(work::contention_costs), class_of(kernel.kind), 12);
    log.kernels.push_back(row);
  };
  for (const std::int64_t m : {4096, 8192, 16384}) {
    for (const std::int64_t k : {1024, 4096, 16384}) add({.kind = KernelKind::kGemm, .m = m, .n = 8192, .k = k});
  }
  for (const double bytes : {1e8, 1e9, 4e9}) add({.kind = KernelKind::kCopy, .bytes = bytes});
  for (const double elements : {1e7, 1e8}) {
    add({.kind = KernelKind::kStrided, .strided = work::StridedKind::kCopy, .elements = elements});
  }
  log.gaps_us = {3, 3};
  return log;
}

double fitted(const CalibrationResult& result, const char* key) { return std::get<double>(result.profile.value(key)); }

TEST(CalibrateKernelsTest, FindsTheParametersThatMadeTheLog) {
  const CalibrationResult result = calibrate_kernels(defaults(), {log_of_truth()}, "2026-11-21");
  // A prior that counts as a row or two holds them towards the defaults.
  EXPECT_NEAR(fitted(result, "gpu.gemm.efficiency"), 0.7, 0.01);
  EXPECT_NEAR(fitted(result, "gpu.memory.contiguous_efficiency"), 0.7, 0.01);
  EXPECT_NEAR(fitted(result, "gpu.memory.strided_copy_ps"), 5, 0.1);
  EXPECT_NEAR(fitted(result, "gpu.contention.gemm"), 1.5, 0.01);
  for (const CalibrationFit& fit : result.fits) EXPECT_LT(fit.after.max, 0.03) << fit.id;
}

// In one fit, efficiency and the fixed part share what rows say; in two, as copies and strided kernels are, nothing.
TEST(CalibrateKernelsTest, StatesHowWellEachValueIsKnown) {
  KernelLog log = log_of_truth();
  double noise = 0.01;
  for (KernelRow& row : log.kernels) {
    row.us = *row.us * (1 + noise);
    noise = -noise;
  }
  const CalibrationResult result = calibrate_kernels(defaults(), {log}, "2026-11-21");
  EXPECT_NEAR(result.profile.std_error("gpu.gemm.efficiency").value_or(0), 0.01, 0.009);
  EXPECT_EQ(result.profile.std_error("gpu.attention.tail"), std::nullopt) << "there are no rows of attention";
  const auto& calibrations = result.profile.calibrations();
  const auto memory = std::ranges::find(calibrations, "memory", &Calibration::id);
  ASSERT_NE(memory, calibrations.end());
  const auto place = [&](const char* key) {
    return std::ranges::find(memory->uncertainty, key, &Calibration::Uncertainty::parameter) - memory->uncertainty.begin();
  };
  const auto contiguous = place("gpu.memory.contiguous_efficiency");
  const auto fixed = place("gpu.memory.fixed");
  const auto strided = place("gpu.memory.strided_copy_ps");
  ASSERT_EQ(memory->uncertainty.size(), 3U);
  EXPECT_EQ(contiguous, 0);
  EXPECT_EQ(fixed, 1);
  EXPECT_EQ(strided, 2);
  EXPECT_NE(memory->uncertainty[1].correlations[0], 0);
  EXPECT_THAT(memory->uncertainty[2].correlations, Each(0.0));
}

TEST(CalibrateKernelsTest, WritesWhatEachClassWasFittedTo) {
  const CalibrationResult result = calibrate_kernels(defaults(), {log_of_truth()}, "2026-11-21");
  const Provenance& provenance = result.profile.provenance("gpu.gemm.efficiency");
  EXPECT_EQ(provenance.source, ParamSource::kFitted);
  EXPECT_EQ(provenance.calibration, "gemm");
  const auto& calibrations = result.profile.calibrations();
  ASSERT_THAT(calibrations, Contains(Field(&Calibration::id, "gemm")));
  EXPECT_EQ(calibrations.front().date, "2026-11-21");
  EXPECT_EQ(calibrations.front().machine, "H100");
  EXPECT_EQ(calibrations.front().samples, 9);
  EXPECT_EQ(calibrations.front().training.front().file, "where.jsonl");
  EXPECT_TRUE(result.profile.trained_on("0123456789abcdef", "gemm", 1, {}));
  EXPECT_FALSE(result.profile.trained_on("0123456789abcdef", "attention", 1, {}));
  const Profile read =
      Profile::from_node(ConfigNode::parse(result.profile.to_yaml(), "written.yaml"), scenario::all_param_groups());
  EXPECT_EQ(read.to_yaml(), result.profile.to_yaml());
}

TEST(CalibrateKernelsTest, ClassesWithoutRowsKeepTheirValuesAndSaySo) {
  const CalibrationResult result = calibrate_kernels(defaults(), {log_of_truth()}, "2026-11-21");
  EXPECT_EQ(result.profile.value("gpu.attention.tail"), defaults().value("gpu.attention.tail"));
  EXPECT_TRUE(result.profile.provenance("gpu.attention.tail").is_default);
  EXPECT_THAT(result.warnings, Contains(HasSubstr("attention: no rows; gpu.attention.forward_efficiency")));
}

TEST(CalibrateKernelsTest, FittingAFittedProfileChangesNothing) {
  const Profile once = calibrate_kernels(defaults(), {log_of_truth()}, "2026-11-21").profile;
  EXPECT_EQ(calibrate_kernels(once, {log_of_truth()}, "2026-11-21").profile.to_yaml(), once.to_yaml());
}

TEST(CalibrateKernelsTest, PredictsEveryRowAndKnowsWhatItWasFittedTo) {
  const KernelLog log = log_of_truth();
  const std::vector<ValidationPoint> points = predict_kernels(truth(), log);
  ASSERT_EQ(points.size(), log.kernels.size());
  for (const ValidationPoint& point : points) {
    EXPECT_NEAR(*point.predicted_us, point.measured_us, 1e-9);
    EXPECT_FALSE(point.training);
  }
  EXPECT_EQ(points.front().kind, "gemm");
  EXPECT_EQ(points.back().kind, "memory");
  for (const ValidationPoint& point : predict_kernels(calibrate_kernels(defaults(), {log}, "2026-11-21").profile, log))
    EXPECT_TRUE(point.training);
}

TEST(CalibrateKernelsTest, RefusesLogsOfTwoGpusAndOfOneThatIsNotKnown) {
  KernelLog other = log_of_truth();
  other.gpu = "b200";
  EXPECT_THROW(static_cast<void>(calibrate_kernels(defaults(), {log_of_truth(), other}, "2026-11-21")), ConfigError);
  other.gpu = "h300";
  EXPECT_THROW(static_cast<void>(calibrate_kernels(defaults(), {other}, "2026-11-21")), ConfigError);
}

}  // namespace
}  // namespace weft::measured
