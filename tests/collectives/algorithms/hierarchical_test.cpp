#include <gtest/gtest.h>

#include "tests/support/ideal_time.h"

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::ideal_time;
using weft::testing::plan;

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
