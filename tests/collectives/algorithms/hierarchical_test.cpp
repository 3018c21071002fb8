#include <gtest/gtest.h>

#include "sim/collectives/verifier.h"
#include "tests/support/ideal_time.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;
using weft::testing::ideal_time;
using weft::testing::plan;

CollectiveCall call(Collective kind, Bytes bytes, Rank root = 0) {
  return {.kind = kind, .bytes = bytes, .element_size = 4, .root = root};
}

const std::vector<std::vector<int>> kNodes{{4}, {4, 4}, {2, 2, 2}, {8, 8}, {1, 1, 1}, {3, 2}, {5, 2, 1}, {2, 5, 3, 5}};

TEST(HierarchicalTest, DataEndRightOnNodesOfEqualAndOfOtherSizes) {
  for (const std::vector<int>& nodes : kNodes) {
    for (const bool dealt_out : {false, true}) {
      for (const int channels : {1, 3}) {
        const Group group{nodes, channels, dealt_out};
        for (const Bytes bytes : {4_B, 1000_B, 4096_B}) {
          const CollectiveCall of = call(Collective::kAllReduce, bytes);
          const auto schedule = plan(group.communicator(), of, "hierarchical", channels);
          EXPECT_EQ(verify(*schedule, of).value_or("none"), "none");
        }
      }
    }
  }
}

// 4 nodes of 4: S/4 in each of 3 rounds inside, S/16 in each of 3 rounds between, and back.
TEST(HierarchicalTest, TakesTheTimeOfTheFormula) {
  const Group group{std::vector<int>{4, 4, 4, 4}};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 16 * 256_B), "hierarchical");
  EXPECT_EQ(ideal_time(*schedule), ideal_time(12, 2 * 3 * (1024 + 256)));
}

TEST(HierarchicalTest, OnlyRanksOfTheSameIndexSpeakBetweenNodes) {
  const Group group{std::vector<int>{4, 4, 4}};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 12 * 64_B), "hierarchical");
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(*schedule)) {
    const auto [from, to] = edge.second;
    if (from / 4 == to / 4) continue;
    EXPECT_EQ(from % 4, to % 4);
    EXPECT_EQ(bytes, 2 * 2 * 64);  // 2(nodes-1)/nodes of a shard of 3 * 64 B
  }
}

}  // namespace
}  // namespace weft::coll
