#include "sim/measured/fit/calibrate_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/measured/point_models.h"
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

double fitted(const KernelCalibration& result, const char* key) { return std::get<double>(result.profile.value(key)); }

TEST(CalibrateKernelsTest, FindsTheParametersThatMadeTheLog) {
  const KernelCalibration result = calibrate_kernels(defaults(), {log_of_truth()}, "2026-11-21");
  // A prior that counts as a row or two holds them towards the defaults.
  EXPECT_NEAR(fitted(result, "gpu.gemm.efficiency"), 0.7, 0.01);
  EXPECT_NEAR(fitted(result, "gpu.memory.contiguous_efficiency"), 0.7, 0.01);
  EXPECT_NEAR(fitted(result, "gpu.memory.strided_copy_ps"), 5, 0.1);
  EXPECT_NEAR(fitted(result, "gpu.contention.gemm"), 1.5, 0.01);
  for (const KernelFit& fit : result.fits) EXPECT_LT(fit.after.max, 0.03) << fit.id;
}

// In one fit, efficiency and the fixed part share what rows say; in two, as copies and strided kernels are, nothing.
TEST(CalibrateKernelsTest, StatesHowWellEachValueIsKnown) {
  KernelLog log = log_of_truth();
  double noise = 0.01;
  for (KernelRow& row : log.kernels) {
    row.us = *row.us * (1 + noise);
    noise = -noise;
  }
  const KernelCalibration result = calibrate_kernels(defaults(), {log}, "2026-11-21");
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

// Copies on four GPUs, as a memory of 100 and 80 GB/s and a start of 5 us would have them.
TEST(CalibrateKernelsTest, FindsWhatCopiesCost) {
  const net::Cluster cluster = test::four_gpus();
  const Profile made = cluster.profile.with_value("gpu.copy.engine_start", "5 us", "test")
                           .with_value("gpu.contention.collective_links", "1.15", "test")
                           .with_value("network.host_memory.read", "100 GB/s", "test")
                           .with_value("network.host_memory.write", "80 GB/s", "test");
  KernelLog log{.file = "points.jsonl", .gpu = "h200_sxm", .machine = "H200", .digest = "0123456789abcdef"};
  const auto add = [&](std::vector<std::pair<int, int>> transfers, std::int64_t bytes) {
    MeasuredPoint point;
    point.kind = "copy";
    point.what = "copy_engine";
    point.transfers = std::move(transfers);
    point.bytes = Bytes{bytes};
    point.median_us = *detail::predict_copy(cluster, made, point, {}).us;
    log.copies.push_back(std::move(point));
  };
  const int host = kHostMemory;
  for (const std::int64_t bytes : {1 << 12, 1 << 28}) {
    add({{0, 1}}, bytes);
    add({{0, host}}, bytes);
    add({{host, 0}}, bytes);
    add({{0, host}, {1, host}, {2, host}, {3, host}}, bytes);
    add({{host, 0}, {host, 1}, {host, 2}, {host, 3}}, bytes);
  }
  const KernelCalibration result = calibrate_kernels(cluster.profile, {log}, "2026-11-25", "_points", &cluster);
  const auto rate = [&](const char* key) { return std::get<Bandwidth>(result.profile.value(key)).gigabytes_per_second(); };
  // A prior that counts as a row or two holds them towards the defaults.
  EXPECT_NEAR(std::get<Duration>(result.profile.value("gpu.copy.engine_start")).us(), 5, 0.1);
  EXPECT_NEAR(fitted(result, "gpu.contention.collective_links"), 1.15, 0.01);
  EXPECT_NEAR(rate("network.host_memory.read"), 100, 2);
  EXPECT_NEAR(rate("network.host_memory.write"), 80, 2);
  EXPECT_TRUE(result.profile.trained_on("0123456789abcdef", "copy", 1, {}));
  EXPECT_EQ(result.profile.provenance("network.host_memory.write").calibration, "copies_points");
  // Without the cluster nothing is said of them.
  EXPECT_TRUE(calibrate_kernels(cluster.profile, {log}, "2026-11-25").profile.calibrations().empty());
}

TEST(CalibrateKernelsTest, WritesWhatEachClassWasFittedTo) {
  const KernelCalibration result = calibrate_kernels(defaults(), {log_of_truth()}, "2026-11-21");
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
  const KernelCalibration result = calibrate_kernels(defaults(), {log_of_truth()}, "2026-11-21");
  EXPECT_EQ(result.profile.value("gpu.attention.tail"), defaults().value("gpu.attention.tail"));
  EXPECT_TRUE(result.profile.provenance("gpu.attention.tail").is_default);
  EXPECT_THAT(result.warnings, Contains(HasSubstr("attention: no rows; gpu.attention.forward_efficiency")));
}

TEST(CalibrateKernelsTest, FittingAFittedProfileChangesNothing) {
  const Profile once = calibrate_kernels(defaults(), {log_of_truth()}, "2026-11-21").profile;
  EXPECT_EQ(calibrate_kernels(once, {log_of_truth()}, "2026-11-21").profile.to_yaml(), once.to_yaml());
}

TEST(CalibrateKernelsTest, TheClocksSlopesComeFromSteps) {
  // 1 + 0.5 (share - 0.4) + 0.4 overlap.
  KernelLog log{.file = "steps.jsonl", .gpu = "h200_sxm", .machine = "H200", .digest = "0123456789abcdef"};
  for (const double share : {0.5, 0.6, 0.8, 0.9}) {
    for (const double overlap : {0.0, 0.3})
      log.clocks.push_back({.load = {share, overlap}, .slowdown = 1 + 0.5 * (share - 0.4) + 0.4 * overlap});
  }
  const KernelCalibration result =
      calibrate_kernels(defaults().with_value("gpu.clock.limit", "2", "test"), {log}, "2026-11-21");
  const work::ClockRule rule = result.profile.get(work::clock_rule);
  for (const ClockRow& row : log.clocks) EXPECT_NEAR(clock_slowdown(rule, row.load).compute, row.slowdown, 0.01);
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
