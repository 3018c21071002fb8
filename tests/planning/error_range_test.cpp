#include "sim/planning/error_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/scenario/four_gpus.h"

namespace weft::plan {
namespace {

// Two nodes that RoCE joins, and a profile with these sets.
net::Cluster with_sets(const std::string& sets) {
  return scenario::test::cluster_of(
      "{name: two, nodes: 2, node: {type: dgx_h100}, nic: {transport: roce}, "
      "fabric: {type: fat_tree, leaf_ports: 32, link: {type: ethernet, rate: 400 Gb/s, latency: 150 ns}}, "
      "profile: {kind: profile, name: p, validation: [" +
      sets + "]}}");
}

const work::TransformerModel kDense{};

TEST(ErrorRangeTest, AStepIsOffByItsPartsTogether) {
  const net::Cluster cluster = with_sets(
      "{data: \"all_reduce of 16 over RoCE, x\", points: 20, median_error: 4 %, max_error: 9 %}, "
      "{data: \"all_gather of 16 over RoCE, x\", points: 20, median_error: 22 %, max_error: 40 %}");
  EXPECT_DOUBLE_EQ(*step_error(cluster, kDense, 0), kPublishedDense.mean) << "kernels alone";
  EXPECT_DOUBLE_EQ(*step_error(cluster, kDense, 1), 0.22) << "the worse of the two collectives";
  EXPECT_NEAR(*step_error(cluster, kDense, 0.3), 0.7 * kPublishedDense.mean + 0.3 * 0.22, 1e-12);
}

TEST(ErrorRangeTest, AStepLooksAtItsOwnNetwork) {
  const net::Cluster cluster = with_sets(
      "{data: \"all_reduce of 16 over RoCE, x\", points: 20, median_error: 15 %, max_error: 19 %}, "
      "{data: \"all_reduce of 16 over EFA, x\", points: 20, median_error: 40 %, max_error: 60 %}");
  EXPECT_DOUBLE_EQ(*step_error(cluster, kDense, 1), 0.15);
  EXPECT_DOUBLE_EQ(
      *step_error(with_sets("{data: \"all_reduce of 16 over EFA, x\", points: 20, median_error: 40 %, max_error: 60 %}"),
                  kDense, 1),
      0.4)
      << "nothing is of its network";
}

TEST(ErrorRangeTest, CollectivesThatAreKnownWellMakeNoStepBetterThanPublishedOnes) {
  const net::Cluster cluster =
      with_sets("{data: \"all_reduce of 16 over RoCE, x\", points: 20, median_error: 4 %, max_error: 9 %}");
  EXPECT_DOUBLE_EQ(*step_error(cluster, kDense, 0.5), kPublishedDense.mean);
}

TEST(ErrorRangeTest, ACollectiveIsOffAsTheNearestSetsOfItsOperation) {
  const net::Cluster cluster = with_sets(
      "{data: \"all_reduce of 2, x\", points: 20, median_error: 3 %, max_error: 9 %}, "
      "{data: \"all_reduce of 8, x\", points: 20, median_error: 4 %, max_error: 9 %}, "
      "{data: \"all_reduce of 16 over RoCE, x\", points: 20, median_error: 6 %, max_error: 9 %}, "
      "{data: \"all_reduce of 16 over EFA, x\", points: 20, median_error: 25 %, max_error: 49 %}, "
      "{data: \"all_gather of 8, x\", points: 20, median_error: 7 %, max_error: 9 %}");
  EXPECT_DOUBLE_EQ(*collective_error(cluster, {.operation = "all_reduce", .gpus = 2}), 0.03) << "exactly";
  EXPECT_DOUBLE_EQ(*collective_error(cluster, {.operation = "all_reduce", .gpus = 4}), 0.04) << "the larger within a host";
  EXPECT_DOUBLE_EQ(*collective_error(cluster, {.operation = "all_reduce", .gpus = 12, .nodes = 2}), 0.06);
  EXPECT_DOUBLE_EQ(*collective_error(cluster, {.operation = "all_gather", .gpus = 16, .nodes = 2}), 0.06)
      << "another over RoCE";
  EXPECT_DOUBLE_EQ(*collective_error(cluster, {.operation = "broadcast", .gpus = 8}), 0.07) << "the largest within a host";
}

TEST(ErrorRangeTest, AReduceIsNotOffAsAReduceScatter) {
  const net::Cluster cluster = with_sets(
      "{data: \"reduce of 8, x\", points: 20, median_error: 3 %, max_error: 9 %}, "
      "{data: \"reduce_scatter of 8, x\", points: 20, median_error: 7 %, max_error: 9 %}");
  EXPECT_DOUBLE_EQ(*collective_error(cluster, {.operation = "reduce", .gpus = 8}), 0.03);
}

TEST(ErrorRangeTest, NothingIsKnownOfAProfileThatWasNotTested) {
  EXPECT_FALSE(step_error(with_sets(""), kDense, 0.2));
  EXPECT_FALSE(collective_error(with_sets(""), {.operation = "all_reduce", .gpus = 8}));
}

TEST(ErrorRangeTest, TimesWithinTheErrorAreNotToldApart) {
  EXPECT_TRUE(is_within_error(100, 112, 0.12));
  EXPECT_TRUE(is_within_error(112, 100, 0.12));
  EXPECT_FALSE(is_within_error(100, 115, 0.12)) << "15 of 115 are 13 %";
}

// Figures of the page: "| **mean over blocks, dense models** | | | **11.7%** | |".
double mean_of(const std::string& page, const std::string& what) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(page, found, std::regex{what + R"(\*\*[ |0-9]*\*\*([0-9.]+)%)"}));
  return std::stod(found[1]) / 100;
}
void expect_rounded_up(double stated, double printed) {
  EXPECT_GE(stated, printed - 1e-9);
  EXPECT_LT(stated, printed + 0.01) << "rounded up to whole per cent";
}

TEST(ErrorRangeTest, TheErrorOfStepsIsThatOfThePublishedOnes) {
  std::ifstream file{WEFT_SOURCE_DIR "/validate/published/results.md"};
  const std::string page{std::istreambuf_iterator<char>{file}, {}};
  expect_rounded_up(kPublishedDense.mean, mean_of(page, "mean over blocks, dense models"));
  expect_rounded_up(kPublishedMixtures.mean, mean_of(page, "mean over rows, mixtures of experts"));
}

// Errors of the page's rows; those of mixtures of experts are marked: "| 9.14 | 25.11 qwen3 on 8 B200* | 9299.00 | ...".
std::vector<double> errors_of_rows(bool mixtures) {
  std::ifstream file{WEFT_SOURCE_DIR "/validate/published/results.md"};
  const std::regex error_of_row{R"(\| ([+-][0-9.]+)% \| .)"};
  std::vector<double> errors;
  for (std::string line; std::getline(file, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, error_of_row)) continue;
    const bool is_mixture = line.find("* |") != std::string::npos;
    if (is_mixture == mixtures) errors.push_back(std::abs(std::stod(found[1])) / 100);
  }
  return errors;
}

TEST(ErrorRangeTest, TheWorstErrorsAreThoseOfTheRows) {
  expect_rounded_up(kPublishedDense.worst, std::ranges::max(errors_of_rows(false)));
  expect_rounded_up(kPublishedMixtures.worst, std::ranges::max(errors_of_rows(true)));
}

// As docs/cost_and_power.md and the planner's tutorial say.
TEST(ErrorRangeTest, MoreThanHalfOfThePublishedRowsLieWithinItAndSevenInEightWithinAQuarter) {
  const std::vector<double> errors = errors_of_rows(false);
  const auto within = [&](double limit) { return std::ranges::count_if(errors, [&](double error) { return error <= limit; }); };
  EXPECT_EQ(errors.size(), 200U);
  EXPECT_GT(within(kPublishedDense.mean), static_cast<std::ptrdiff_t>(errors.size() / 2));
  EXPECT_GE(static_cast<double>(within(0.25)), 0.875 * static_cast<double>(errors.size()));
  EXPECT_EQ(errors_of_rows(true).size(), 32U);
}

TEST(ErrorRangeTest, AStepOfExpertsIsOffAsPublishedMixturesAre) {
  const net::Cluster cluster =
      with_sets("{data: \"all_reduce of 16 over RoCE, x\", points: 20, median_error: 4 %, max_error: 9 %}");
  work::TransformerModel mixture;
  mixture.moe.experts = 8;
  EXPECT_DOUBLE_EQ(*step_error(cluster, mixture, 0.5), kPublishedMixtures.mean);
  EXPECT_DOUBLE_EQ(published_error(mixture).worst, kPublishedMixtures.worst);
  EXPECT_DOUBLE_EQ(published_error(kDense).worst, kPublishedDense.worst);
}

}  // namespace
}  // namespace weft::plan
