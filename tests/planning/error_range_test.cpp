#include "sim/planning/error_range.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>

#include "sim/core/config/node.h"

namespace weft::plan {
namespace {

Profile with_sets(const std::string& sets) {
  return Profile::from_node(ConfigNode::parse("kind: profile\nname: p\nvalidation: [" + sets + "]", "p.yaml", "profile"), {});
}

TEST(ErrorRangeTest, AStepIsOffByItsPartsTogether) {
  const Profile profile = with_sets(
      "{data: \"all_reduce of 8, x\", points: 20, median_error: 4 %, max_error: 9 %}, "
      "{data: \"all_gather of 8, x\", points: 20, median_error: 22 %, max_error: 40 %}");
  EXPECT_DOUBLE_EQ(*step_error(profile, 0), 0.12) << "kernels alone";
  EXPECT_DOUBLE_EQ(*step_error(profile, 1), 0.22) << "the worse of the two collectives";
  EXPECT_NEAR(*step_error(profile, 0.3), 0.7 * 0.12 + 0.3 * 0.22, 1e-12);
}

TEST(ErrorRangeTest, CollectivesThatAreKnownWellMakeNoStepBetterThanPublishedOnes) {
  const Profile profile = with_sets("{data: \"all_reduce of 8, x\", points: 20, median_error: 4 %, max_error: 9 %}");
  EXPECT_DOUBLE_EQ(*step_error(profile, 0.5), 0.12);
}

TEST(ErrorRangeTest, ACollectiveIsOffAsThoseOfItsOperation) {
  const Profile profile = with_sets(
      "{data: \"all_reduce of 2, x\", points: 20, median_error: 3 %, max_error: 9 %}, "
      "{data: \"all_reduce of 8, x\", points: 20, median_error: 4 %, max_error: 9 %}, "
      "{data: \"all_gather of 8, x\", points: 20, median_error: 6 %, max_error: 9 %}");
  EXPECT_DOUBLE_EQ(*collective_error(profile, "all_reduce"), 0.04);
  EXPECT_DOUBLE_EQ(*collective_error(profile, "all_gather"), 0.06);
  EXPECT_DOUBLE_EQ(*collective_error(profile, "broadcast"), 0.06) << "no set of its own: the largest";
}

TEST(ErrorRangeTest, AReduceIsNotOffAsAReduceScatter) {
  const Profile profile = with_sets(
      "{data: \"reduce of 8, x\", points: 20, median_error: 3 %, max_error: 9 %}, "
      "{data: \"reduce_scatter of 8, x\", points: 20, median_error: 7 %, max_error: 9 %}");
  EXPECT_DOUBLE_EQ(*collective_error(profile, "reduce"), 0.03);
}

TEST(ErrorRangeTest, NothingIsKnownOfAProfileThatWasNotTested) {
  EXPECT_FALSE(step_error(with_sets(""), 0.2));
  EXPECT_FALSE(collective_error(with_sets(""), "all_reduce"));
}

TEST(ErrorRangeTest, TimesWithinTheErrorAreNotToldApart) {
  EXPECT_TRUE(is_within_error(100, 112, 0.12));
  EXPECT_TRUE(is_within_error(112, 100, 0.12));
  EXPECT_FALSE(is_within_error(100, 115, 0.12)) << "15 of 115 are 13 %";
}

// The page says "| **mean over blocks** | | | **11.7%** | |".
TEST(ErrorRangeTest, TheErrorOfStepsIsThatOfThePublishedOnes) {
  std::ifstream file{WEFT_SOURCE_DIR "/validate/published/results.md"};
  const std::string page{std::istreambuf_iterator<char>{file}, {}};
  std::smatch found;
  ASSERT_TRUE(std::regex_search(page, found, std::regex{R"(mean over blocks\*\*[ |]*\*\*([0-9.]+)%)"}));
  const double mean = std::stod(found[1]) / 100;
  EXPECT_GE(kPublishedStepError, mean);
  EXPECT_LT(kPublishedStepError, mean + 0.01) << "rounded up to whole per cent";
}

}  // namespace
}  // namespace weft::plan
