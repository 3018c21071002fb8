#include "sim/workloads/inference/prefix_cache.h"

#include <gtest/gtest.h>

#include <array>

namespace weft::work {
namespace {

constexpr std::int64_t kOpen = PrefixPiece::kOpen;
// Two prompts begin with three blocks, and go on by themselves.
constexpr std::array<PrefixPiece, 2> kFirst{{{0, 3}, {1, kOpen}}};
constexpr std::array<PrefixPiece, 2> kSecond{{{0, 3}, {2, kOpen}}};

std::vector<PrefixPiece> pieces_of(const PrefixContents& contents, std::size_t request) {
  const auto pieces = contents.of(request);
  return {pieces.begin(), pieces.end()};
}

TEST(PrefixCacheTest, FindsTheLeadingBlocksThatAreHeld) {
  PrefixCache cache;
  EXPECT_EQ(cache.find(kFirst, 9).blocks, 0);
  EXPECT_EQ(cache.extend(kFirst, 0, 2), 0) << "none was held";
  EXPECT_EQ(cache.find(kSecond, 9).blocks, 2);
  EXPECT_EQ(cache.find(kSecond, 1).blocks, 1);
  EXPECT_EQ(cache.extend(kFirst, 2, 5), 0);
  EXPECT_EQ(cache.find(kFirst, 9).blocks, 5);
  EXPECT_EQ(cache.find(kSecond, 9).blocks, 3) << "the first prompt's own blocks are no part of the second";
  EXPECT_EQ(cache.find(kSecond, 9).unused, 0);
  EXPECT_EQ(cache.used(), 5);
}

TEST(PrefixCacheTest, BlocksThatTwoUseCountOnceAndStayUntilBothLeave) {
  PrefixCache cache;
  EXPECT_EQ(cache.extend(kFirst, 0, 4), 0);
  cache.take(kSecond, 3);
  EXPECT_EQ(cache.extend(kSecond, 3, 5), 0);
  EXPECT_EQ(cache.used(), 6) << "three shared, one and two";
  cache.leave(kFirst, 4);
  EXPECT_EQ(cache.used(), 5);
  EXPECT_EQ(cache.unused(), 1);
  EXPECT_EQ(cache.find(kFirst, 9).blocks, 4);
  EXPECT_EQ(cache.find(kFirst, 9).unused, 1);
  cache.leave(kSecond, 5);
  EXPECT_EQ(cache.used(), 0);
  EXPECT_EQ(cache.unused(), 6);
}

TEST(PrefixCacheTest, ABlockThatTwoComputeIsKeptOnce) {
  PrefixCache cache;
  EXPECT_EQ(cache.extend(kFirst, 0, 3), 0);
  EXPECT_EQ(cache.extend(kSecond, 0, 4), 3) << "its own three are free, the fourth is new";
  EXPECT_EQ(cache.used(), 4);
  cache.leave(kFirst, 3);
  EXPECT_EQ(cache.unused(), 0) << "the second uses them";
}

TEST(PrefixCacheTest, TheLeastRecentlyUsedGoFirstAndPrefixesFromTheirEnds) {
  PrefixCache cache;
  EXPECT_EQ(cache.extend(kFirst, 0, 5), 0);
  cache.take(kSecond, 3);
  EXPECT_EQ(cache.extend(kSecond, 3, 4), 0);
  cache.leave(kFirst, 5);
  cache.leave(kSecond, 4);
  // In order: the first's own two from the end, the second's own one, the three that they shared.
  cache.evict(1);
  EXPECT_EQ(cache.find(kFirst, 9).blocks, 4);
  cache.evict(2);
  EXPECT_EQ(cache.find(kFirst, 9).blocks, 3);
  EXPECT_EQ(cache.find(kSecond, 9).blocks, 3);
  cache.evict(1);
  EXPECT_EQ(cache.find(kSecond, 9).blocks, 2);
  cache.take(kSecond, 2);
  EXPECT_EQ(cache.unused(), 0);
  cache.leave(kSecond, 2);
  cache.evict(2);
  EXPECT_EQ(cache.find(kSecond, 9).blocks, 0);
  EXPECT_EQ(cache.unused(), 0);
}

TEST(PrefixContentsTest, HashesArePiecesAndTheRestIsARequestsOwn) {
  const std::vector<Request> requests{
      {Time{}, 1300, 1, {1, 2, 3}}, {Time{}, 1200, 1, {1, 2, 4}}, {Time{}, 1300, 1, {5, 2}}, {Time{}, 100, 1, {1}}};
  const PrefixContents contents{{}, 256, requests};
  // 1300 tokens: two blocks, two blocks, and one of the last 276 tokens.
  EXPECT_EQ(pieces_of(contents, 0), (std::vector<PrefixPiece>{{0, 2}, {1, 2}, {2, 1}, {3, kOpen}}));
  // 176 tokens fill no block.
  EXPECT_EQ(pieces_of(contents, 1), (std::vector<PrefixPiece>{{0, 2}, {1, 2}, {4, kOpen}}));
  // The same hash behind another one is another prefix.
  EXPECT_EQ(pieces_of(contents, 2), (std::vector<PrefixPiece>{{5, 2}, {6, 2}, {7, kOpen}}));
  EXPECT_EQ(pieces_of(contents, 3), (std::vector<PrefixPiece>{{8, kOpen}}));
}

TEST(PrefixContentsTest, ASharedPrefixIsOfWholeBlocks) {
  const std::vector<Request> requests(2, Request{Time{}, 100, 1});
  const PrefixContents contents{{.shared_prefix = 50}, 16, requests};
  EXPECT_EQ(pieces_of(contents, 0), (std::vector<PrefixPiece>{{0, 3}, {1, kOpen}}));
  EXPECT_EQ(pieces_of(contents, 1), (std::vector<PrefixPiece>{{0, 3}, {2, kOpen}}));
}

}  // namespace
}  // namespace weft::work
