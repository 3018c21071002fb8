#include "sim/measured/prediction_uncertainty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/measured/measurement_support.h"

namespace weft::measured {
namespace {

using test::cluster_of;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

// Base and hop latency are known to 10 and 20 %, with the correlation given. The base was fitted again in `later`, if that is.
net::Cluster calibrated(const std::string& correlation, const std::string& of_base = "fit") {
  const std::string fit = "date: d, tool: t, machine: m, samples: 2, fit_error: 1 %, training: []";
  return cluster_of(
      "{name: four, node: {type: h200x4}, profile: {kind: profile, name: test, parameters: {"
      "collectives.ll.base_latency: {value: 10 us, source: measured, calibration: " +
      of_base + "}, collectives.ll.hop_latency: {value: 2 us, source: measured, calibration: fit}}, calibrations: {fit: {" +
      fit +
      ", uncertainty: [{parameter: collectives.ll.base_latency, std_error: 10 %}, "
      "{parameter: collectives.ll.hop_latency, std_error: 20 %, correlations: [" +
      correlation + "]}]}, later: {" + fit + "}}}}");
}

// Predictions that go as the product of powers: base^a hop^b.
PredictAll powers(double a, double b) {
  return [=](const net::Cluster& cluster, std::string_view) -> std::optional<std::vector<ValidationPoint>> {
    const auto us = [&](const char* key) { return std::get<Duration>(cluster.profile.value(key)).us(); };
    ValidationPoint point;
    point.predicted_us = std::pow(us("collectives.ll.base_latency"), a) * std::pow(us("collectives.ll.hop_latency"), b);
    return std::vector<ValidationPoint>{point, ValidationPoint{}};
  };
}

std::vector<ValidationPoint> known(const net::Cluster& cluster, const PredictAll& predict_all) {
  std::vector<ValidationPoint> points = *predict_all(cluster, {});
  EXPECT_TRUE(add_uncertainty(cluster, predict_all, points));
  return points;
}

// The error of a product of powers, by hand: of a logarithm, log 1.1 and log 1.2 are its steps.
TEST(PredictionUncertaintyTest, IsWhatErrorPropagationSays) {
  const double base = std::log(1.1);
  const double hop = std::log(1.2);
  const auto near = [](double value) { return Optional(DoubleNear(value, 1e-6)); };
  EXPECT_THAT(known(calibrated("0"), powers(1, 0))[0].predicted_sd, near(base));
  EXPECT_THAT(known(calibrated("0"), powers(0.5, 1))[0].predicted_sd, near(std::hypot(0.5 * base, hop)));
  EXPECT_THAT(known(calibrated("1"), powers(1, 1))[0].predicted_sd, near(base + hop));
  EXPECT_THAT(known(calibrated("-1"), powers(1, 1))[0].predicted_sd, near(hop - base));
  EXPECT_THAT(known(calibrated("-0.5"), powers(1, 1))[0].predicted_sd, near(std::sqrt(base * base + hop * hop - base * hop)));
}

TEST(PredictionUncertaintyTest, ValuesFittedAgainAreNotMovedByTheOlderFit) {
  const net::Cluster cluster = calibrated("1", "later");
  EXPECT_THAT(uncertain_parameters(cluster.profile), ElementsAre("collectives.ll.hop_latency"));
  EXPECT_THAT(known(cluster, powers(1, 1))[0].predicted_sd, Optional(DoubleNear(std::log(1.2), 1e-6)));
}

TEST(PredictionUncertaintyTest, SaysNothingWhereNothingIsKnown) {
  const std::vector<ValidationPoint> points = known(calibrated("0"), powers(1, 1));
  EXPECT_EQ(points[1].predicted_sd, std::nullopt) << "not predicted";
  EXPECT_EQ(known(calibrated("0"), powers(0, 0))[0].predicted_sd, std::nullopt) << "neither value acts on it";
  const net::Cluster plain = test::four_gpus();
  EXPECT_THAT(uncertain_parameters(plain.profile), IsEmpty());
  EXPECT_EQ(known(plain, powers(1, 1))[0].predicted_sd, std::nullopt);
}

TEST(PredictionUncertaintyTest, TellsWhichParameterIsMoved) {
  const net::Cluster cluster = calibrated("0");
  std::vector<std::string> moved;
  const auto predict_all = [&](const net::Cluster& other, std::string_view parameter) {
    if (!parameter.empty()) {
      moved.emplace_back(parameter);
      EXPECT_NE(to_string(other.profile.value(parameter)), to_string(cluster.profile.value(parameter)));
    }
    return powers(1, 1)(other, parameter);
  };
  (void)known(cluster, predict_all);
  EXPECT_THAT(moved, ElementsAre("collectives.ll.base_latency", "collectives.ll.hop_latency"));
}

TEST(PredictionUncertaintyTest, StopsWhereThePredictionsDo) {
  const net::Cluster cluster = calibrated("0");
  std::vector<ValidationPoint> points = *powers(1, 1)(cluster, {});
  const auto stopped = [](const net::Cluster&, std::string_view) { return std::optional<std::vector<ValidationPoint>>{}; };
  EXPECT_FALSE(add_uncertainty(cluster, stopped, points));
  EXPECT_EQ(points[0].predicted_sd, std::nullopt);
}

}  // namespace
}  // namespace weft::measured
