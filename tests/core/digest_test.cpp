#include "sim/core/digest.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace weft {
namespace {

using namespace weft::literals;
using namespace std::string_view_literals;

TEST(DigestTest, DependsOnOrderAndCount) {
  EXPECT_EQ(Digest{}.add(1).add(2).value(), Digest{}.add(1).add(2).value());
  EXPECT_NE(Digest{}.add(1).add(2).value(), Digest{}.add(2).add(1).value());
  EXPECT_NE(Digest{}.add(0).value(), Digest{}.value());
  EXPECT_NE(Digest{}.add(0).add(0).value(), Digest{}.add(0).value());
}

TEST(DigestTest, ReadsQuantitiesAsTheirIntegers) {
  const std::uint64_t plain = Digest{}.add(std::int64_t{5'000}).value();
  EXPECT_EQ(Digest{}.add(Time{} + 5_ns).value(), plain);
  EXPECT_EQ(Digest{}.add(5_ns).value(), plain);
  EXPECT_EQ(Digest{}.add(5_KB).value(), plain);
  EXPECT_EQ(Digest{}.add(-1).value(), Digest{}.add(~std::uint64_t{0}).value());
}

TEST(DigestTest, KeepsTextsApart) {
  EXPECT_NE(Digest{}.add("ab"sv).add("c"sv).value(), Digest{}.add("a"sv).add("bc"sv).value());
  EXPECT_NE(Digest{}.add("a\0"sv).value(), Digest{}.add("a"sv).value());
  EXPECT_NE(Digest{}.add(""sv).value(), Digest{}.value());
  EXPECT_NE(Digest{}.add("12345678"sv).value(), Digest{}.add("12345678 "sv).value());
}

TEST(DigestTest, AddsPartsByTheirValue) {
  const Digest part = Digest{}.add(7);
  EXPECT_EQ(Digest{}.add(part).value(), Digest{}.add(part.value()).value());
}

TEST(DigestTest, OneBitChangesAboutHalfOfTheResult) {
  // 64 inputs that differ in one bit: each result differs from the base in 32 +- 4 bits; their mean within 5 * 4 / 8.
  const std::uint64_t base = Digest{}.add(std::uint64_t{0}).value();
  int changed = 0;
  for (int bit = 0; bit < 64; ++bit) changed += std::popcount(base ^ Digest{}.add(std::uint64_t{1} << bit).value());
  EXPECT_NEAR(changed / 64.0, 32.0, 2.5);
}

TEST(DigestTest, HasNoCollisionsAmongNeighbours) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 300; ++i) {
    for (int j = 0; j < 300; ++j) seen.insert(Digest{}.add(i).add(j).value());
  }
  EXPECT_EQ(seen.size(), 90'000U);
}

TEST(DigestTest, HexIsSixteenDigitsOfTheValue) {
  const Digest digest = Digest{}.add(1).add("all_reduce"sv);
  const std::string hex = digest.hex();
  EXPECT_EQ(hex.size(), 16U);
  EXPECT_EQ(std::stoull(hex, nullptr, 16), digest.value());
}

}  // namespace
}  // namespace weft
