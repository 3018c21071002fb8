#include "sim/core/id_map.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weft {
namespace {

TEST(IdMapTest, KeepsTheFirstIdOfAKey) {
  IdMap map;
  EXPECT_EQ(map.find(7), nullptr);
  EXPECT_EQ(map.find_or_add(7, 1), (std::pair{std::uint32_t{1}, true}));
  EXPECT_EQ(map.find_or_add(7, 2), (std::pair{std::uint32_t{1}, false}));
  ASSERT_NE(map.find(7), nullptr);
  EXPECT_EQ(*map.find(7), 1U);
  EXPECT_EQ(map.size(), 1U);
}

TEST(IdMapTest, FindsEveryKeyAfterItHasGrown) {
  // Keys as the executor makes them, two numbers side by side, and their neighbours, which are not there.
  IdMap map;
  constexpr std::uint64_t kSide = 100;
  const auto key = [](std::uint64_t a, std::uint64_t b) { return a << 41 | b << 17; };
  for (std::uint64_t a = 0; a < kSide; ++a) {
    for (std::uint64_t b = 0; b < kSide; ++b) map.find_or_add(key(a, b), static_cast<std::uint32_t>(a * kSide + b));
  }
  EXPECT_EQ(map.size(), kSide * kSide);
  for (std::uint64_t a = 0; a < kSide; ++a) {
    for (std::uint64_t b = 0; b < kSide; ++b) {
      ASSERT_NE(map.find(key(a, b)), nullptr);
      EXPECT_EQ(*map.find(key(a, b)), a * kSide + b);
      EXPECT_EQ(map.find(key(a, b) + 1), nullptr);
    }
  }
}

TEST(IdMapTest, KeyZeroIsAKey) {
  IdMap map;
  map.find_or_add(1, 5);
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_TRUE(map.find_or_add(0, 6).second);
  EXPECT_EQ(*map.find(0), 6U);
}

TEST(IdMapTest, TheGreatestNumberIsNoKey) {
  IdMap map;
  EXPECT_THROW(map.find_or_add(~std::uint64_t{0}, 1), InternalError);
}

}  // namespace
}  // namespace weft
