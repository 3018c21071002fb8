// Standard errors and what cannot be told apart, on Jacobians whose answers are known.
#include "sim/measured/fit/identifiability.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::measured {
namespace {

TEST(SymmetricEigenTest, FindsTheAxesOfATwoByTwoMatrix) {
  // [[2, 1], [1, 2]]: 1 along (1, -1), 3 along (1, 1).
  const SymmetricEigen eigen = symmetric_eigen({{2, 1}, {1, 2}});
  ASSERT_EQ(eigen.values.size(), 2U);
  EXPECT_NEAR(eigen.values[0], 1, 1e-12);
  EXPECT_NEAR(eigen.values[1], 3, 1e-12);
  EXPECT_NEAR(eigen.vectors[0][0], -eigen.vectors[0][1], 1e-12);
  EXPECT_NEAR(eigen.vectors[1][0], eigen.vectors[1][1], 1e-12);
}

TEST(SymmetricEigenTest, LeavesADiagonalMatrixAsItIs) {
  const SymmetricEigen eigen = symmetric_eigen({{5, 0, 0}, {0, 2, 0}, {0, 0, 7}});
  EXPECT_EQ(eigen.values, (std::vector<double>{2, 5, 7}));
}

TEST(IdentifiabilityTest, GivesTheStandardErrorOfIndependentUnknowns) {
  // Two rows of slope 1 for the first unknown, two of slope 2 for the second; residuals of spread s around 0:
  // sd = s / sqrt(2), and s / sqrt(8).
  const std::vector<double> residuals{0.01, -0.01, 0.01, -0.01};
  const Identifiability known = identify({{1, 1, 0, 0}, {0, 0, 2, 2}}, residuals);
  EXPECT_NEAR(known.spread, 0.014826, 1e-9);
  EXPECT_NEAR(known.relative_sd[0], 0.014826 / std::sqrt(2), 1e-9);
  EXPECT_NEAR(known.relative_sd[1], 0.014826 / std::sqrt(8), 1e-9);
  EXPECT_NEAR(known.correlations[0][1], 0, 1e-9);
  EXPECT_TRUE(known.weak.empty());
}

TEST(IdentifiabilityTest, NamesTheCombinationThatTheDataDoNotSee) {
  // Both unknowns act alike: only their sum is seen, the difference is not.
  const Identifiability known = identify({{1, 1, 1}, {1, 1, 1}}, {0.01, 0, -0.01});
  ASSERT_EQ(known.weak.size(), 1U);
  EXPECT_TRUE(std::isinf(known.weak[0].relative_sd));
  EXPECT_NEAR(known.weak[0].weights[0], -known.weak[0].weights[1], 1e-9);
  EXPECT_NEAR(std::abs(known.weak[0].weights[0]), std::sqrt(0.5), 1e-9);
}

TEST(IdentifiabilityTest, SaysThatAnUnknownWithoutEffectIsNotKnown) {
  const Identifiability known = identify({{1, 1}, {0, 0}}, {0.01, -0.01});
  EXPECT_TRUE(std::isfinite(known.relative_sd[0]));
  EXPECT_TRUE(std::isinf(known.relative_sd[1]));
}

TEST(IdentifiabilityTest, WeighsOutliersAsTheFitDoes) {
  // A row whose residual is twice Huber's threshold counts half: sd = s / sqrt(1 + 1 + 1/2).
  const std::vector<double> residuals{0.01, -0.01, 0.1};
  const Identifiability known = identify({{1, 1, 1}}, residuals);
  EXPECT_NEAR(known.relative_sd[0], known.spread / std::sqrt(2.5), 1e-9);
}

TEST(IdentifiabilityTest, AnErrorThatAllRowsShareDoesNotAverageOut) {
  // Four rows of slope 1 that are all off by o: the unknown is off by o, however many rows there are.
  const std::vector<double> residuals{0.01, -0.01, 0.01, -0.01};
  const Identifiability known = identify({{1, 1, 1, 1}}, residuals, {{0.03, 0.03, 0.03, 0.03}});
  EXPECT_NEAR(known.relative_sd[0], std::hypot(0.014826 / 2, 0.03), 1e-9);
}

TEST(IdentifiabilityTest, ErrorsOfSeveralGroupsAverageOut) {
  // Two groups of two rows, each off by its own: each moves the unknown by half of it. What is beyond an error's end is 0.
  const std::vector<double> residuals{0.01, -0.01, 0.01, -0.01};
  const Identifiability known = identify({{1, 1, 1, 1}}, residuals, {{0.04, 0.04}, {0, 0, 0.04, 0.04}});
  EXPECT_NEAR(known.relative_sd[0], std::hypot(0.014826 / 2, 0.02, 0.02), 1e-9);
}

TEST(IdentifiabilityTest, ASharedErrorCorrelatesWhatItMoves) {
  // One error over all rows moves both unknowns, by o and by o / 2.
  const std::vector<double> residuals{0.01, -0.01, 0.01, -0.01};
  const Identifiability known = identify({{1, 1, 0, 0}, {0, 0, 2, 2}}, residuals, {{0.06, 0.06, 0.06, 0.06}});
  const double first = std::hypot(0.014826 / std::sqrt(2), 0.06);
  const double second = std::hypot(0.014826 / std::sqrt(8), 0.03);
  EXPECT_NEAR(known.relative_sd[0], first, 1e-9);
  EXPECT_NEAR(known.relative_sd[1], second, 1e-9);
  EXPECT_NEAR(known.correlations[0][1], 0.06 * 0.03 / (first * second), 1e-9);
}

}  // namespace
}  // namespace weft::measured
