#include "sim/measured/fit/robust_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace weft::measured {
namespace {

// Measured times of t(s) = a + s / b, predicted by the same form: r = log of predicted over measured.
class Line {
 public:
  explicit Line(std::vector<double> sizes) : sizes_{std::move(sizes)} {
    for (const double size : sizes_) measured_.push_back(time(kA, kB, size));
  }
  Residuals residuals() const {
    return [this](const std::vector<double>& x, std::vector<double>& out) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) out.push_back(std::log(time(x[0], x[1], sizes_[i]) / measured_[i]));
      return true;
    };
  }
  std::vector<double>& measured() { return measured_; }

  static constexpr double kA = 37.5;
  static constexpr double kB = 2.4;

 private:
  static double time(double a, double b, double size) { return a + size / b; }
  std::vector<double> sizes_;
  std::vector<double> measured_;
};

TEST(HuberTest, IsASquareUpToItsThresholdAndALineAbove) {
  EXPECT_DOUBLE_EQ(huber(0.02), 0.0002);
  EXPECT_DOUBLE_EQ(huber(-0.05), 0.00125);  // where both forms meet
  EXPECT_DOUBLE_EQ(huber(0.15), 0.05 * (0.15 - 0.025));
  EXPECT_DOUBLE_EQ(huber(-0.15), huber(0.15));
}

TEST(RobustFitTest, FindsTheParametersThatMadeTheData) {
  const Line line{{10, 1'000, 100'000}};
  const RobustFit fit =
      fit_robustly({{.start = 5, .min = 0, .max = 1e6}, {.start = 10, .min = 0.1, .max = 1e3}}, line.residuals());
  EXPECT_NEAR(fit.unknowns[0].value, Line::kA, 1e-4 * Line::kA);
  EXPECT_NEAR(fit.unknowns[1].value, Line::kB, 1e-4 * Line::kB);
  EXPECT_TRUE(fit.unknowns[0].determined && fit.unknowns[1].determined);
  EXPECT_TRUE(fit.inseparable.empty());
  EXPECT_LT(fit.objective, 1e-10);
  EXPECT_GT(fit.objective_before, 1e-2);
}

TEST(RobustFitTest, FindsASingleUnknown) {
  const Residuals residuals = [](const std::vector<double>& x, std::vector<double>& out) {
    out.push_back(std::log(x[0] / 0.3));
    return true;
  };
  const RobustFit fit = fit_robustly({{.start = 200, .min = 0, .max = 1e4}}, residuals);
  EXPECT_NEAR(fit.unknowns[0].value, 0.3, 1e-6);
}

// The start, twelve steps of one point each and a slope for each unknown at worst, BOBYQA's first points around where they led,
// and the probe of three points an unknown: a search without slopes alone takes several hundred.
TEST(RobustFitTest, SlopesLeadNearInFewEvaluations) {
  constexpr std::size_t kUnknowns = 5;
  const Residuals residuals = [](const std::vector<double>& x, std::vector<double>& out) {
    for (int i = 0; i < 20; ++i) {
      double time = 0;
      double truth = 0;
      for (std::size_t j = 0; j < kUnknowns; ++j) {
        const double share = 1.0 + static_cast<double>((i * (static_cast<int>(j) + 3)) % 7);
        time += share * x[j];
        truth += share * static_cast<double>(j + 1);
      }
      out.push_back(std::log(time / truth) + (i % 2 == 0 ? 0.01 : -0.01));  // noise of 1 %
    }
    return true;
  };
  const RobustFit fit = fit_robustly(std::vector<Unknown>(kUnknowns, {.start = 2, .min = 0, .max = 1e3}), residuals);
  EXPECT_LT(fit.evaluations, 150);
  EXPECT_LE(fit.objective, 20 * 0.01 * 0.01 / 2);  // no worse than the truth
}

TEST(RobustFitTest, AnOutlierMovesAFitOfManyPointsLittle) {
  std::vector<double> sizes;
  for (int i = 0; i < 20; ++i) sizes.push_back(std::exp2(i));
  Line line{sizes};
  line.measured()[10] *= 3;
  const RobustFit fit =
      fit_robustly({{.start = 5, .min = 0, .max = 1e6}, {.start = 10, .min = 0.1, .max = 1e3}}, line.residuals());
  EXPECT_NEAR(fit.unknowns[0].value, Line::kA, 0.02 * Line::kA);
  EXPECT_NEAR(fit.unknowns[1].value, Line::kB, 0.02 * Line::kB);
}

TEST(RobustFitTest, StopsAtTheEndOfTheRangeAndSaysSo) {
  const Line line{{10, 1'000, 100'000}};
  const RobustFit above =
      fit_robustly({{.start = 30, .min = 0, .max = 1e6}, {.start = 5, .min = 3, .max = 10}}, line.residuals());
  EXPECT_TRUE(above.unknowns[1].at_min);
  EXPECT_EQ(above.unknowns[1].value, 3);
  const RobustFit below =
      fit_robustly({{.start = 30, .min = 0, .max = 1e6}, {.start = 1, .min = 0.5, .max = 2}}, line.residuals());
  EXPECT_TRUE(below.unknowns[1].at_max);
  EXPECT_NEAR(below.unknowns[1].value, 2, 2e-4);
}

// Fits end where a step gains little, so that a value may stop short of the end that it would go to.
TEST(RobustFitTest, AThousandthShortOfTheEndIsTheEnd) {
  const Line line{{10, 1'000, 100'000}};
  const auto at_max = [&](double share) {
    return fit_robustly({{.start = 30, .min = 0, .max = 1e6}, {.start = 1, .min = 0.5, .max = Line::kB / share}},
                        line.residuals())
        .unknowns[1]
        .at_max;
  };
  EXPECT_TRUE(at_max(0.999));
  EXPECT_FALSE(at_max(0.99));
  const auto at_min = [&](double share) {
    return fit_robustly({{.start = 30, .min = 0, .max = 1e6}, {.start = 5, .min = Line::kB * share, .max = 10}},
                        line.residuals())
        .unknowns[1]
        .at_min;
  };
  EXPECT_TRUE(at_min(0.999));
  EXPECT_FALSE(at_min(0.99));
}

TEST(RobustFitTest, AnUnknownThatIsBestAbsentBecomesZeroAndIsDetermined) {
  // Without a constant term: t(s) = s / b.
  const std::array sizes{10.0, 1'000.0, 100'000.0};
  const Residuals residuals = [&sizes](const std::vector<double>& x, std::vector<double>& out) {
    for (const double size : sizes) out.push_back(std::log((x[0] + size / x[1]) / (size / 2.4)));
    return true;
  };
  const RobustFit fit = fit_robustly({{.start = 50, .min = 0, .max = 1e6}, {.start = 10, .min = 0.1, .max = 1e3}}, residuals);
  EXPECT_EQ(fit.unknowns[0].value, 0);
  EXPECT_TRUE(fit.unknowns[0].at_min);
  EXPECT_TRUE(fit.unknowns[0].determined);
}

TEST(RobustFitTest, TellsAnUnknownThatDoesNotAct) {
  const Residuals residuals = [](const std::vector<double>& x, std::vector<double>& out) {
    out.push_back(std::log(x[0] / 3));
    return true;
  };
  const RobustFit fit = fit_robustly({{.start = 2, .min = 0, .max = 1e3}, {.start = 7, .min = 0, .max = 1e3}}, residuals);
  EXPECT_TRUE(fit.unknowns[0].determined);
  EXPECT_FALSE(fit.unknowns[1].determined);
}

TEST(RobustFitTest, TellsUnknownsOfWhichOnlyTheProductActs) {
  const Residuals residuals = [](const std::vector<double>& x, std::vector<double>& out) {
    for (const double size : {1.0, 10.0}) out.push_back(std::log((1 + size * x[0] * x[1]) / (1 + size * 6)));
    return true;
  };
  const RobustFit fit = fit_robustly({{.start = 1, .min = 0, .max = 1e3}, {.start = 1, .min = 0, .max = 1e3}}, residuals);
  ASSERT_EQ(fit.inseparable.size(), 1u);
  EXPECT_EQ(fit.inseparable[0], (std::pair<std::size_t, std::size_t>{0, 1}));
}

TEST(RobustFitTest, EndsWhenTheResidualsSayStop) {
  int calls = 0;
  const Residuals residuals = [&calls](const std::vector<double>& x, std::vector<double>& out) {
    out.push_back(std::log(x[0]));
    return ++calls < 5;
  };
  EXPECT_TRUE(fit_robustly({{.start = 2, .min = 0, .max = 1e3}}, residuals).stopped);
  EXPECT_EQ(calls, 5);
}

TEST(RobustFitTest, PassesOnWhatTheResidualsThrow) {
  int calls = 0;
  const Residuals residuals = [&calls](const std::vector<double>& x, std::vector<double>& out) {
    if (++calls == 3) throw std::runtime_error("no");
    out.push_back(std::log(x[0]));
    return true;
  };
  EXPECT_THROW(static_cast<void>(fit_robustly({{.start = 2, .min = 0, .max = 1e3}}, residuals)), std::runtime_error);
}

}  // namespace
}  // namespace weft::measured
