#include "sim/core/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(VersionTest, IsThreeNumbers) { EXPECT_THAT(std::string{version()}, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+")); }

// Ten digits or more: git adds some where ten would name two commits.
TEST(VersionTest, CommitIsAHashOrUnknown) {
  EXPECT_THAT(std::string{commit()}, ::testing::MatchesRegex("unknown|[0-9a-f]{10,40}(-dirty)?"));
}

}  // namespace
}  // namespace weft
