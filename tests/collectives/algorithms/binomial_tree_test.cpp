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

TEST(BinomialTreeTest, TakesTheTimeOfTheFormula) {
  const Group group{16};
  const auto time = [&](Collective kind) {
    return ideal_time(*plan(group.communicator(), call(kind, 16 * 256_B, 3), "binomial_tree"));
  };
  EXPECT_EQ(time(Collective::kBroadcast), ideal_time(4, 4 * 16 * 256));
  EXPECT_EQ(time(Collective::kReduce), ideal_time(4, 4 * 16 * 256));
  EXPECT_EQ(time(Collective::kScatter), ideal_time(4, 15 * 256));
  EXPECT_EQ(time(Collective::kGather), ideal_time(4, 15 * 256));
}

// Root 1 of 6: vertices 0 to 5 are ranks 1 to 5 and 0. Vertex 0 has the children 4, 2, 1; vertex 4 has 5 only, 6 is not there.
TEST(BinomialTreeTest, ChildrenAreThePowersOfTwoBelowTheLowestBit) {
  const Group group{6};
  const auto schedule = plan(group.communicator(), call(Collective::kBroadcast, 64_B, 1), "binomial_tree");
  ASSERT_EQ(schedule->step_count(1, 0, 0), 1 + 3);
  const Rank children[] = {5, 3, 2};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(schedule->step(1, 0, 0, 1 + i).send_to, Peers{children[i]});
  ASSERT_EQ(schedule->step_count(5, 0, 0), 2);
  EXPECT_EQ(schedule->step(5, 0, 0, 1).send_to, Peers{0});
  ASSERT_EQ(schedule->step_count(0, 0, 0), 1);
}

// Vertex 4 of 6 gets the blocks of vertices 4 and 5, and passes one on.
TEST(BinomialTreeTest, ScatterMovesWholeSubtrees) {
  const Group group{6};
  const auto schedule = plan(group.communicator(), call(Collective::kScatter, 6 * 64_B), "binomial_tree");
  EXPECT_EQ(schedule->step(4, 0, 0, 0).bytes, 128_B);
  EXPECT_EQ(schedule->step(4, 0, 0, 1).send_to, Peers{5});
  EXPECT_EQ(schedule->step(4, 0, 0, 1).bytes, 64_B);
}

}  // namespace
}  // namespace weft::coll
