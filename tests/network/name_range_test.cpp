#include "sim/network/name_range.h"

#include <gtest/gtest.h>

namespace weft::net {
namespace {

using Names = std::vector<std::string>;

TEST(NameRangeTest, PlainNameIsItself) { EXPECT_EQ(expand_names("nvswitch0", 10).names, (Names{"nvswitch0"})); }

TEST(NameRangeTest, RangeIncludesBothEnds) {
  EXPECT_EQ(expand_names("gpu8..11", 10).names, (Names{"gpu8", "gpu9", "gpu10", "gpu11"}));
  EXPECT_EQ(expand_names("gpu3..3", 10).names, (Names{"gpu3"}));
}

TEST(NameRangeTest, TheNameMayBeThereAgain) {
  EXPECT_EQ(expand_names("h8..h10", 10).names, (Names{"h8", "h9", "h10"}));
  EXPECT_EQ(expand_names("n0..n1.gpu0..gpu1", 10).names, (Names{"n0.gpu0", "n0.gpu1", "n1.gpu0", "n1.gpu1"}));
  EXPECT_FALSE(expand_names("h0..g1", 10).error.empty());
}

TEST(NameRangeTest, LastRangeCountsFastest) {
  EXPECT_EQ(expand_names("n0..1.nic0..1", 10).names, (Names{"n0.nic0", "n0.nic1", "n1.nic0", "n1.nic1"}));
  EXPECT_EQ(expand_names("n0..1.nic0", 10).names, (Names{"n0.nic0", "n1.nic0"}));
}

TEST(NameRangeTest, LimitIsCheckedBeforeNamesAreMade) {
  EXPECT_TRUE(expand_names("gpu0..9", 10).error.empty());
  EXPECT_FALSE(expand_names("gpu0..10", 10).error.empty());
  EXPECT_FALSE(expand_names("n0..999999999.g0..999999999", 1'000'000).error.empty());
}

TEST(NameRangeTest, GarbledRangesAreErrors) {
  for (const char* text : {"gpu..3", "gpu0..", "gpu7..0", "gpu0..99999999999999999999", "gpu00..7", ".."}) {
    EXPECT_FALSE(expand_names(text, 100).error.empty()) << text;
    EXPECT_TRUE(expand_names(text, 100).names.empty()) << text;
  }
}

}  // namespace
}  // namespace weft::net
