#include "sim/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/stats.h"

namespace weft {
namespace {

TEST(SplitMix64Test, GivesThePublishedSequence) {
  std::uint64_t state = 1'234'567;
  for (const std::uint64_t expected : {6'457'827'717'110'365'317U, 3'203'168'211'198'807'973U, 9'817'491'932'198'370'423U,
                                       4'593'380'528'125'082'431U, 16'408'922'859'458'223'821U}) {
    EXPECT_EQ(split_mix_64(state), expected);
  }
}

TEST(Fnv1aTest, GivesThePublishedHashes) {
  EXPECT_EQ(fnv1a_64(""), 0xCBF2'9CE4'8422'2325U);
  EXPECT_EQ(fnv1a_64("a"), 0xAF63'DC4C'8601'EC8CU);
  EXPECT_EQ(fnv1a_64("foobar"), 0x8594'4171'F739'67E8U);
}

TEST(Xoshiro256Test, GivesThePublishedSequence) {
  Xoshiro256 generator{{1, 2, 3, 4}};
  constexpr std::uint64_t kExpected[] = {11'520U,
                                         0U,
                                         1'509'978'240U,
                                         1'215'971'899'390'074'240U,
                                         1'216'172'134'540'287'360U,
                                         607'988'272'756'665'600U,
                                         16'172'922'978'634'559'625U,
                                         8'476'171'486'693'032'832U,
                                         10'595'114'339'597'558'777U,
                                         2'904'607'092'377'533'576U};
  for (const std::uint64_t expected : kExpected) EXPECT_EQ(generator.next(), expected);
}

TEST(RandomStreamTest, IsNamedBySeedAndPath) {
  const auto draws = [](std::uint64_t seed, std::string_view path) {
    RandomStream stream{seed, path};
    return std::array{stream.bits(), stream.bits(), stream.bits()};
  };
  EXPECT_EQ(draws(1, "leaf0/port1"), draws(1, "leaf0/port1"));
  EXPECT_NE(draws(1, "leaf0/port1"), draws(2, "leaf0/port1"));
  EXPECT_NE(draws(1, "leaf0/port1"), draws(1, "leaf0/port2"));
  EXPECT_NE(draws(1, ""), draws(2, ""));
}

TEST(RandomStreamTest, BelowStaysBelowAndReachesEveryValue) {
  RandomStream random{1, "below"};
  std::array<int, 7> seen{};
  for (int i = 0; i < 70'000; ++i) ++seen.at(random.below(7));
  // 10,000 each, with a standard deviation of sqrt(70000 * 1/7 * 6/7) = 92.6.
  for (const int times : seen) EXPECT_NEAR(times, 10'000, 5 * 92.6);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.below(1), 0U);
  EXPECT_THROW(random.below(0), InternalError);
}

TEST(RandomStreamTest, BelowIsUnbiasedForBoundsThatDoNotDivideTheRange) {
  // With the bound 3 * 2^62 a plain modulo would give the lower third half of all draws.
  RandomStream random{2, "below"};
  int lower = 0;
  for (int i = 0; i < 30'000; ++i) lower += random.below(std::uint64_t{3} << 62) < (std::uint64_t{1} << 62) ? 1 : 0;
  EXPECT_NEAR(lower, 10'000, 5 * std::sqrt(30'000.0 * 2 / 9));
}

TEST(RandomStreamTest, BetweenIncludesBothEnds) {
  RandomStream random{1, "between"};
  std::array<int, 3> seen{};
  for (int i = 0; i < 1'000; ++i) ++seen.at(static_cast<std::size_t>(random.between(-1, 1) + 1));
  for (const int times : seen) EXPECT_GT(times, 0);
  EXPECT_EQ(random.between(5, 5), 5);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(random.between(kLeast, kMost), random.between(kLeast, kMost));
  EXPECT_THROW(random.between(1, 0), InternalError);
}

// Mean and variance of `count` draws.
struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};
template <class Draw>
Moments moments(int count, Draw draw) {
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < count; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

// Tolerances are five standard errors: of a mean sqrt(variance/n), of a variance sqrt((fourth moment - variance^2)/n).
constexpr int kDraws = 400'000;

TEST(RandomStreamTest, UnitIsUniform) {
  RandomStream random{1, "unit"};
  double least = 1.0;
  double most = 0.0;
  const Moments m = moments(kDraws, [&] {
    const double x = random.unit();
    least = std::min(least, x);
    most = std::max(most, x);
    return x;
  });
  EXPECT_GE(least, 0.0);
  EXPECT_LT(most, 1.0);
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(m.variance, 1.0 / 12, 5 * std::sqrt((1.0 / 80 - 1.0 / 144) / kDraws));
}

TEST(RandomStreamTest, ExponentialHasItsMoments) {
  RandomStream random{1, "exponential"};
  const Moments m = moments(kDraws, [&] { return random.exponential(3.0); });
  EXPECT_NEAR(m.mean, 3.0, 5 * 3.0 / std::sqrt(kDraws));
  EXPECT_NEAR(m.variance, 9.0, 5 * 9.0 * std::sqrt(8.0 / kDraws));
}

TEST(RandomStreamTest, NormalHasItsMoments) {
  RandomStream random{1, "normal"};
  const Moments m = moments(kDraws, [&] { return random.normal(-2.0, 0.5); });
  EXPECT_NEAR(m.mean, -2.0, 5 * 0.5 / std::sqrt(kDraws));
  EXPECT_NEAR(m.variance, 0.25, 5 * 0.25 * std::sqrt(2.0 / kDraws));
}

TEST(RandomStreamTest, NormalIsWithinOneTwoAndThreeDeviationsAsOftenAsItShould) {
  RandomStream random{2, "normal"};
  std::array<int, 3> within{};
  for (int i = 0; i < kDraws; ++i) {
    const double x = std::abs(random.normal(0.0, 1.0));
    for (std::size_t k = 0; k < 3; ++k) within[k] += x < static_cast<double>(k + 1) ? 1 : 0;
  }
  constexpr std::array kShare{0.682689492, 0.954499736, 0.997300204};  // erf(k / sqrt(2))
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(within[k], kDraws * kShare[k], 5 * std::sqrt(kDraws * kShare[k] * (1 - kShare[k])));
  }
}

TEST(RandomStreamTest, LognormalHasItsMean) {
  // Mean exp(mu + sigma^2/2) = exp(1.125), variance mean^2 (exp(sigma^2) - 1).
  RandomStream random{1, "lognormal"};
  const Moments m = moments(kDraws, [&] { return random.lognormal(1.0, 0.5); });
  const double mean = std::exp(1.125);
  EXPECT_NEAR(m.mean, mean, 5 * mean * std::sqrt((std::exp(0.25) - 1) / kDraws));
}

TEST(RandomStreamTest, ParetoHasItsMinimumMeanAndTail) {
  // Shape 3, minimum 2: mean 3, variance 3 * 4 / (4 * 1) = 3, P(X > 4) = 1/8.
  RandomStream random{1, "pareto"};
  int beyond = 0;
  double least = 1e9;
  const Moments m = moments(kDraws, [&] {
    const double x = random.pareto(2.0, 3.0);
    least = std::min(least, x);
    beyond += x > 4.0 ? 1 : 0;
    return x;
  });
  EXPECT_GE(least, 2.0);
  EXPECT_NEAR(m.mean, 3.0, 5 * std::sqrt(3.0 / kDraws));
  EXPECT_NEAR(beyond, kDraws / 8.0, 5 * std::sqrt(kDraws * 7.0 / 64));
}

TEST(RandomStreamTest, ShuffleReachesEveryPermutationEquallyOften) {
  RandomStream random{1, "shuffle"};
  std::array<int, 6> seen{};
  for (int i = 0; i < 60'000; ++i) {
    std::vector<int> items{0, 1, 2};
    random.shuffle(std::span{items});
    const int permutation = items[0] * 2 + (items[1] > items[2] ? 1 : 0);
    ++seen.at(static_cast<std::size_t>(permutation));
  }
  for (const int times : seen) EXPECT_NEAR(times, 10'000, 5 * std::sqrt(60'000.0 * 5 / 36));
}

TEST(RandomStreamTest, ChooseFollowsTheWeights) {
  RandomStream random{1, "choose"};
  const std::vector<double> weights{1.0, 0.0, 3.0, 0.0};
  std::array<int, 4> seen{};
  for (int i = 0; i < 40'000; ++i) ++seen.at(random.choose(weights));
  EXPECT_EQ(seen[1], 0);
  EXPECT_EQ(seen[3], 0);
  EXPECT_NEAR(seen[0], 10'000, 5 * std::sqrt(40'000.0 * 3 / 16));
  EXPECT_THROW(random.choose(std::vector<double>{}), InternalError);
  EXPECT_THROW(random.choose(std::vector<double>{0.0, 0.0}), InternalError);
  EXPECT_THROW(random.choose(std::vector<double>{1.0, -1.0}), InternalError);
}

TEST(RandomStreamTest, ChanceOfNothingAndOfCertainty) {
  RandomStream random{1, "chance"};
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_FALSE(random.chance(0.0));
    ASSERT_TRUE(random.chance(1.0));
  }
}

}  // namespace
}  // namespace weft
