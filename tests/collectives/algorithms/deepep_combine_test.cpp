#include <gtest/gtest.h>

#include "tests/support/ideal_time.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;
using weft::testing::plan;

CollectiveCall call(Collective kind, Bytes bytes, Rank root = 0) {
  return {.kind = kind, .bytes = bytes, .element_size = 4, .root = root};
}

// Three nodes of two: rank i has 2 blocks for each other node, all to or from the rank of its index there, and hands on, or is
// handed, 2 blocks for its neighbour beside that rank's own.
TEST(DeepEpCombineTest, OnlyRanksOfTheSameIndexSpeakBetweenNodes) {
  const Group group{std::vector<int>{2, 2, 2}};
  const auto schedule = plan(group.communicator(), call(Collective::kAllToAll, 6 * 64_B), "deepep_combine");
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(*schedule)) {
    const auto [from, to] = edge.second;
    if (from / 2 == to / 2) {
      EXPECT_EQ(bytes, 64 * (1 + 2));
    } else {
      EXPECT_EQ(from % 2, to % 2);
      EXPECT_EQ(bytes, 64 * 2);
    }
  }
}

}  // namespace
}  // namespace weft::coll
