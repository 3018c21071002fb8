#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// Two nodes of two ranks, one chunk for each of the two heads. Even channels: node 0 is the root; odd channels: node 1.
TEST(NvlsTreeTest, HeadsOfOneIndexFormTheTrees) {
  const Group group{{2, 2}, 2};
  const auto nvls = plan(group.communicator(), call(Collective::kAllReduce, 256_B), "nvls_tree", 2, 64_B);
  // Root (rank 1 is head 1 of node 0): the switch adds up, the tree adds and passes on, the switch copies.
  ASSERT_EQ(nvls->step_count(1, 0, 1), 3);
  ASSERT_EQ(nvls->step_count(1, 0, 3), 0);
  const std::vector<Rank> node = {0, 1};
  EXPECT_TRUE(nvls->step(1, 0, 1, 0).receive_in_switch);
  EXPECT_EQ(nvls->step(1, 0, 1, 0).receive_from, Peers::view(node));
  EXPECT_EQ(nvls->step(1, 0, 1, 1).receive_from, Peers{3});
  EXPECT_EQ(nvls->step(1, 0, 1, 1).send_to, Peers{3});
  EXPECT_TRUE(nvls->step(1, 0, 1, 2).send_in_switch);
  EXPECT_EQ(nvls->step(1, 0, 1, 2).send_to, Peers::view(node));
  // The other node's head 1: up in one lane, down in the other.
  ASSERT_EQ(nvls->step_count(3, 0, 1), 2);
  ASSERT_EQ(nvls->step_count(3, 0, 3), 2);
  EXPECT_EQ(nvls->step(3, 0, 1, 1).send_to, Peers{1});
  EXPECT_EQ(nvls->step(3, 0, 3, 0).receive_from, Peers{1});
  EXPECT_EQ(nvls->step_count(1, 1, 3), 2);
  EXPECT_EQ(nvls->step_count(3, 1, 3), 0);
}

// The last loop's chunks are rounded up to 16 B: 2 heads, 200 B in chunks of 64 B: 128 B, then 72 B as 48 and 24.
TEST(NvlsTreeTest, AShortLoopIsSpreadInUnitsOf16Bytes) {
  const Group group{{2, 2}};
  const auto nvls = plan(group.communicator(), call(Collective::kAllReduce, 200_B), "nvls_tree", 1, 64_B);
  EXPECT_EQ(nvls->step(0, 0, 0, 1).bytes, 72_B);
  EXPECT_EQ(nvls->step(0, 0, 0, 1).bytes_of_peer(0), 48_B);
  EXPECT_EQ(nvls->step(0, 0, 0, 1).bytes_of_peer(1), 24_B);
}

TEST(NvlsTreeTest, BetweenNodesOnlyHeadsTalk) {
  const Group group{{4, 4, 4}};
  const auto nvls = plan(group.communicator(), call(Collective::kAllReduce, 4_KiB), "nvls_tree", 1, 1_KiB);
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(*nvls)) {
    const auto [from, to] = edge.second;
    if (from / 4 == to / 4) continue;
    EXPECT_EQ(from % 4, to % 4);
    EXPECT_EQ(bytes, 1024);  // a head's share, once up and once down
  }
}

}  // namespace
}  // namespace weft::coll
