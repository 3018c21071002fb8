#include <gtest/gtest.h>

#include "sim/collectives/verifier.h"
#include "tests/support/ideal_time.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;

using weft::testing::plan;

CollectiveCall call(Collective kind, Bytes bytes, Rank root = 0) {
  return {.kind = kind, .bytes = bytes, .element_size = 4, .root = root};
}

const std::vector<std::vector<int>> kNodes{{4}, {4, 4}, {2, 2, 2}, {8, 8}, {1, 1, 1}, {3, 2}, {5, 2, 1}, {2, 5, 3, 5}};

TEST(DeepEpCombineTest, DataEndRightOnNodesOfEqualAndOfOtherSizes) {
  for (const std::vector<int>& nodes : kNodes) {
    for (const bool dealt_out : {false, true}) {
      for (const int channels : {1, 3}) {
        const Group group{nodes, channels, dealt_out};
        for (const Bytes bytes : {4_B, 1000_B, 4096_B}) {
          const CollectiveCall of = call(Collective::kAllToAll, bytes);
          const auto schedule = plan(group.communicator(), of, "deepep_combine", channels);
          EXPECT_EQ(verify(*schedule, of).value_or("none"), "none");
        }
      }
    }
  }
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
