#include "sim/measured/fit/fitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.h"

namespace weft::measured {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kGemm = "gpu.gemm.efficiency";
const std::string kForward = "gpu.attention.forward_efficiency";
const std::string kBackward = "gpu.attention.backward_efficiency";

Profile fitter_profile() { return Profile::defaults(scenario::all_param_groups()); }

double value_in(const Profile& profile, const std::string& key) { return std::get<double>(profile.value(key)); }

// A machine whose time is 1 over the parameter; measured where that is `truth`.
Sample sample_at(const std::string& key, double truth, double weight = 1, Bytes bytes = {}) {
  Sample sample;
  sample.point.file = "some/log.txt";
  sample.point.kind = "gemm";
  sample.point.measured_us = 1 / truth;
  sample.training = {.file = "log.txt", .digest = "d", .collective = "gemm", .ranks = 1, .bytes = {bytes}};
  sample.weight = weight;
  sample.predict = [key](Trial& trial, ValidationPoint& point) {
    point.predicted_us = 1 / value_in(trial.profile(), key);
    return true;
  };
  return sample;
}

FitPart part_of(std::string id, std::vector<std::string> keys, std::vector<Sample> samples) {
  return {.id = std::move(id), .keys = std::move(keys), .samples = std::move(samples)};
}

CalibrationResult fitted(std::vector<FitPart> parts, FitSettings settings = {}) {
  Fitter fitter{fitter_profile(), nullptr, std::move(settings)};
  for (FitPart& part : parts) EXPECT_TRUE(fitter.fit(std::move(part)));
  return fitter.finish().value();
}

TEST(FitterTest, MovesAParameterToWhereItsSamplesAreMet) {
  const CalibrationResult result = fitted({part_of("a", {kGemm}, {sample_at(kGemm, 0.5), sample_at(kGemm, 0.5)})});
  EXPECT_NEAR(value_in(result.profile, kGemm), 0.5, 1e-4);
  EXPECT_EQ(result.profile.provenance(kGemm).calibration, "a");
  EXPECT_NEAR(result.fits[0].before.median, std::abs(0.5 / value_in(fitter_profile(), kGemm) - 1), 1e-6);
  EXPECT_LT(result.fits[0].after.max, 1e-3);
}

// Within Huber's threshold squares are least: (1 x log 0.50 + 9 x log 0.52) / 10, for a weight of 3.
TEST(FitterTest, SamplesActByTheSquareOfTheirWeight) {
  const CalibrationResult result = fitted({part_of("a", {kGemm}, {sample_at(kGemm, 0.50), sample_at(kGemm, 0.52, 3)})});
  EXPECT_NEAR(std::log(value_in(result.profile, kGemm)), (std::log(0.50) + 9 * std::log(0.52)) / 10, 3e-4);
}

// As a row 3 % off for a factor of e^prior: one sample 3 % away weighs as one over (0.03 / prior)^2 of the prior.
TEST(FitterTest, APriorHoldsAParameterNearItsValue) {
  const double start = value_in(fitter_profile(), kGemm);
  const auto moved = [&](double prior) {
    return std::log(
        value_in(fitted({part_of("a", {kGemm}, {sample_at(kGemm, start * 0.97)})}, {.prior = prior}).profile, kGemm) / start);
  };
  const double pull = 0.03 / 0.05 * (0.03 / 0.05);
  EXPECT_NEAR(moved(0.05), std::log(0.97) / (1 + pull), 3e-4);
  EXPECT_NEAR(moved(0), std::log(0.97), 3e-4);
}

TEST(FitterTest, LaterPartsSeeWhatEarlierOnesFound) {
  // The second parameter is met at the first one's value.
  Sample follows = sample_at(kForward, 1);
  follows.point.measured_us = 1;
  follows.predict = [](Trial& trial, ValidationPoint& point) {
    point.predicted_us = value_in(trial.profile(), kGemm) / value_in(trial.profile(), kForward);
    return true;
  };
  const CalibrationResult result =
      fitted({part_of("a", {kGemm}, {sample_at(kGemm, 0.45)}), part_of("b", {kForward}, {follows})});
  EXPECT_NEAR(value_in(result.profile, kForward), 0.45, 1e-3);
  ASSERT_THAT(result.profile.calibrations(), SizeIs(2));
}

TEST(FitterTest, PartsOfOneIdMakeUpOneCalibration) {
  const CalibrationResult result =
      fitted({part_of("a", {kForward}, {sample_at(kForward, 0.5, 1, Bytes{8})}), part_of("b", {kGemm}, {sample_at(kGemm, 0.5)}),
              part_of("a", {kBackward}, {sample_at(kBackward, 0.4, 1, Bytes{4})})});
  ASSERT_THAT(result.profile.calibrations(), SizeIs(2));
  const Calibration& both = result.profile.calibrations()[0];
  EXPECT_EQ(both.id, "a");
  EXPECT_EQ(both.samples, 2);
  ASSERT_THAT(both.training, SizeIs(1));
  EXPECT_THAT(both.training[0].bytes, ElementsAre(Bytes{4}, Bytes{8}));
  ASSERT_THAT(result.fits[0].correlations, SizeIs(2));
  EXPECT_THAT(result.fits[0].correlations[0], ElementsAre(1, 0)) << "not fitted together";
}

TEST(FitterTest, WithoutSamplesKeysKeepTheirValuesAndSaySo) {
  const CalibrationResult result = fitted({part_of("a", {kGemm, kForward}, {})});
  EXPECT_EQ(result.profile.to_yaml(), fitter_profile().to_yaml());
  EXPECT_THAT(result.fits, IsEmpty());
  EXPECT_THAT(result.warnings, ElementsAre("a: no rows; " + kGemm + ", " + kForward + " keep their values"));
}

TEST(FitterTest, AParameterThatNoSampleDependsOnKeepsItsValueAndItsSource) {
  const CalibrationResult result = fitted({part_of("a", {kGemm, kForward}, {sample_at(kGemm, 0.5), sample_at(kGemm, 0.51)})});
  EXPECT_TRUE(result.profile.provenance(kForward).is_default);
  EXPECT_THAT(result.warnings, Contains(HasSubstr(kForward + " is not determined")));
  ASSERT_THAT(result.profile.calibrations()[0].uncertainty, SizeIs(1));
}

TEST(FitterTest, StopsWhereTheUserDoes) {
  Sample stops = sample_at(kGemm, 0.5);
  int left = 5;
  stops.predict = [&left, predict = stops.predict](Trial& trial, ValidationPoint& point) {
    return --left > 0 && predict(trial, point);
  };
  Fitter fitter{fitter_profile(), nullptr, {}};
  EXPECT_FALSE(fitter.fit(part_of("a", {kGemm}, {stops})));
}

TEST(FitterTest, WholeNumbersAndWhatMayBeNegativeAreNotFitted) {
  ParamInfo info = fitter_profile().info(kGemm);
  EXPECT_EQ(why_not_fitted(info, ParamValue{0.5}), "");
  info.min.reset();
  EXPECT_THAT(why_not_fitted(info, ParamValue{0.5}), HasSubstr("may be negative"));
  info.default_value = ParamValue{std::int64_t{3}};
  EXPECT_THAT(why_not_fitted(info, info.default_value), HasSubstr("whole number"));
}

// The machine of a log is made once for all of its samples, and anew for the next parameters.
TEST(TrialTest, SamplesOfOneLogShareWhatTheFirstOneMade) {
  int made = 0;
  const int first_log = 0;
  const int second_log = 0;
  const auto make = [&made] { return std::make_shared<int>(++made); };
  Trial trial{fitter_profile(), nullptr};
  EXPECT_EQ(trial.shared<int>(&first_log, make), 1);
  EXPECT_EQ(trial.shared<int>(&first_log, make), 1);
  EXPECT_EQ(trial.shared<int>(&second_log, make), 2);
  EXPECT_EQ(trial.shared<int>(&first_log, make), 3);
}

}  // namespace
}  // namespace weft::measured
