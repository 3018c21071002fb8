#include "sim/core/reused_places.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace weft {
namespace {

TEST(ReusedPlacesTest, TakesTheLatestGivenBackBeforeANewOne) {
  ReusedPlaces<int> places;
  EXPECT_EQ(places.take(), 0U);
  EXPECT_EQ(places.take(), 1U);
  EXPECT_EQ(places.take(), 2U);
  places.give_back(0);
  places.give_back(2);
  EXPECT_EQ(places.take(), 2U);
  EXPECT_EQ(places.take(), 0U);
  EXPECT_EQ(places.size(), 3U);
  EXPECT_EQ(places.take(), 3U);
}

TEST(ReusedPlacesTest, KeepsWhatIsInAPlace) {
  ReusedPlaces<std::vector<int>> places;
  const std::uint32_t place = places.take();
  places[place].assign(100, 7);
  const int* const memory = places[place].data();
  places.give_back(place);
  ASSERT_EQ(places.take(), place);
  EXPECT_EQ(places[place].size(), 100U);
  EXPECT_EQ(places[place].data(), memory);
}

}  // namespace
}  // namespace weft
