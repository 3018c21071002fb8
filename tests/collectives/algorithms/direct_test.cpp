#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// Lane 0 copies, lane 1 takes in, every other lane sends one message.
TEST(DirectTest, AllToAllPostsEveryMessageAtOnceStartingWithTheNextRank) {
  const Group group{4};
  const auto direct = plan(group.communicator(), call(Collective::kAllToAll, 1024_B), "direct");
  ASSERT_EQ(direct->lanes(2, 0), 5);
  const Rank to[] = {3, 0, 1};
  for (int r = 0; r < 3; ++r) {
    ASSERT_EQ(direct->step_count(2, 0, 2 + r), 1);
    const Step step = direct->step(2, 0, 2 + r, 0);
    EXPECT_EQ(step.send_to, Peers{to[r]});
    EXPECT_TRUE(step.receive_from.empty());
    EXPECT_EQ(step.source, (Chunk{Buffer::kInput, 256 * to[r]}));
    EXPECT_EQ(step.bytes, 256_B);
  }
  const Rank from[] = {1, 0, 3};
  ASSERT_EQ(direct->step_count(2, 0, 1), 3);
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(direct->step(2, 0, 1, r).receive_from, Peers{from[r]});
    EXPECT_EQ(direct->step(2, 0, 1, r).destination, (Chunk{Buffer::kOutput, 256 * from[r]}));
  }
  EXPECT_EQ(direct->step(2, 0, 0, 0).source, (Chunk{Buffer::kInput, 512}));
  EXPECT_EQ(direct->step(2, 0, 0, 0).destination, (Chunk{Buffer::kOutput, 512}));
}

TEST(DirectTest, EveryPairIsAFlow) {
  const Group group{5, 2};
  const auto direct = plan(group.communicator(), call(Collective::kAllToAll, 5 * 96_B), "direct", 2);
  ASSERT_EQ(direct->fluid_flow_count(), 2 * 5 * 4);
  for (std::int64_t i = 0; i < direct->fluid_flow_count(); ++i) {
    const FluidFlow flow = direct->fluid_flow(i);
    EXPECT_EQ(flow.edges.size(), 1U);
    EXPECT_EQ(flow.bytes, 48_B);
    EXPECT_EQ(flow.serial_steps, 1);
  }
}

TEST(DirectTest, SendRecvGoesToTheNextRankOnly) {
  const Group group{3};
  const auto direct = plan(group.communicator(), call(Collective::kSendRecv, 1_KiB), "direct");
  const auto traffic = weft::testing::traffic_of_steps(*direct);
  ASSERT_EQ(traffic.size(), 3U);
  for (Rank rank = 0; rank < 3; ++rank) EXPECT_EQ(traffic.at({0, {rank, (rank + 1) % 3}}), 1024);
}

TEST(DirectTest, GatherAndScatterInvolveTheRootOnly) {
  const Group group{4};
  const auto gather = plan(group.communicator(), call(Collective::kGather, 1_KiB, 1), "direct");
  EXPECT_EQ(gather->lanes(1, 0), 2);
  EXPECT_EQ(gather->step_count(1, 0, 1), 3);
  EXPECT_EQ(gather->step(2, 0, 2, 0).send_to, Peers{1});
  EXPECT_EQ(gather->fluid_flow_count(), 3);
  const auto scatter = plan(group.communicator(), call(Collective::kScatter, 1_KiB, 1), "direct");
  EXPECT_EQ(scatter->lanes(1, 0), 5);
  EXPECT_EQ(scatter->step_count(2, 0, 0), 0);
  EXPECT_EQ(scatter->step(1, 0, 3, 0).send_to, Peers{3});
  EXPECT_EQ(scatter->step(1, 0, 3, 0).source.offset, 3 * 256);
}

}  // namespace
}  // namespace weft::coll
