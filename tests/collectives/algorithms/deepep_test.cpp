#include <gtest/gtest.h>

#include <string>

#include "tests/support/ideal_time.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

class DeepEpTest : public ::testing::TestWithParam<const char*> {};

// Three nodes of two: rank i has 2 blocks for each other node, all to or from the rank of its index there, and hands on, or is
// handed, 2 blocks for its neighbour beside that rank's own.
TEST_P(DeepEpTest, OnlyRanksOfTheSameIndexSpeakBetweenNodes) {
  const Group group{std::vector<int>{2, 2, 2}};
  const auto schedule = plan(group.communicator(), call(Collective::kAllToAll, 6 * 64_B), GetParam());
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

INSTANTIATE_TEST_SUITE_P(BothWays, DeepEpTest, ::testing::Values("deepep_combine", "deepep_dispatch"),
                         [](const auto& name) { return std::string{name.param}; });

// Two nodes of two, rank 3: lanes are own; to 2, to 1; from 2, from 1. It hands to 2 what rank 1 sent for it, the first of the
// two blocks that come from rank 1.
TEST(DeepEpDispatchTest, ForwardingWaitsForTheBlockItForwards) {
  const Group group{std::vector<int>{2, 2}};
  const auto schedule = plan(group.communicator(), call(Collective::kAllToAll, 4 * 64_B), "deepep_dispatch");
  ASSERT_EQ(schedule->lanes(3, 0), 5);
  const Step own = schedule->step(3, 0, 1, 0);
  EXPECT_EQ(own.send_to, Peers{2});
  EXPECT_EQ(own.source, (Chunk{Buffer::kInput, 2 * 64}));
  const Step forward = schedule->step(3, 0, 1, 1);
  EXPECT_EQ(forward.send_to, Peers{2});
  EXPECT_EQ(forward.source.buffer, Buffer::kScratch);
  EXPECT_EQ(forward.after, (Progress{.channel = 0, .lane = 4, .steps = 1}));
  EXPECT_EQ(schedule->step(3, 0, 4, 0).destination, forward.source);
  EXPECT_EQ(schedule->step(3, 0, 4, 1).destination, (Chunk{Buffer::kOutput, 64}));
}

}  // namespace
}  // namespace weft::coll
