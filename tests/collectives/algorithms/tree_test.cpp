#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// models/nccl §3.2: over five nodes the trees are 0->4->2->{1,3} and 1->{0}, 0->3->{2,4}; one rank a node.
TEST(TreeTest, TheHalvesOfTheChannelsTakeTheTwoTrees) {
  const Group group{5, 2};
  const auto tree = plan(group.communicator(), call(Collective::kAllReduce, 64_B), "tree", 2);
  EXPECT_EQ(tree->step(2, 0, 0, 0).send_to, Peers{4});
  Peers children;
  children.add(1);
  children.add(3);
  EXPECT_EQ(tree->step(2, 0, 0, 0).receive_from, children);
  EXPECT_EQ(tree->lanes(0, 0), 1);  // its root
  EXPECT_EQ(tree->lanes(1, 1), 1);
  EXPECT_EQ(tree->lanes(1, 0), 2);
  EXPECT_EQ(tree->step(3, 1, 0, 0).send_to, Peers{0});
}

// Two nodes of three: the chain of a node hangs from its first rank, which also has the parent or the child on the other node.
TEST(TreeTest, ChainsHangFromTheFirstRankOfTheNode) {
  const Group group{{3, 3}, 2};
  const auto tree = plan(group.communicator(), call(Collective::kAllReduce, 64_B), "tree", 2);
  Peers children;
  children.add(3);
  children.add(1);
  const Step root = tree->step(0, 0, 0, 0);
  EXPECT_EQ(root.receive_from, children);
  EXPECT_EQ(root.send_to, children);
  EXPECT_TRUE(root.use_source && root.store);
  EXPECT_EQ(tree->step(5, 0, 0, 0).send_to, Peers{4});
  EXPECT_EQ(tree->step(5, 0, 1, 0).receive_from, Peers{4});
  EXPECT_EQ(tree->step(4, 0, 1, 0).send_to, Peers{5});
  EXPECT_EQ(tree->step(3, 0, 0, 0).send_to, Peers{0});
  EXPECT_EQ(tree->step(0, 1, 0, 0).send_to, Peers{3});  // the second tree has its root on the second node
}

TEST(TreeTest, TheCommunicatorsTreesComeFirst) {
  Group group{3, 1};
  Communicator communicator = group.communicator();
  communicator.set_trees({{{.up = 1}, {.up = -1, .down = {0, 2, -1}}, {.up = 1}}});
  const auto tree = plan(communicator, call(Collective::kAllReduce, 64_B), "tree");
  EXPECT_EQ(tree->lanes(1, 0), 1);
  EXPECT_EQ(tree->step(0, 0, 0, 0).send_to, Peers{1});
}

// 1,000 B in chunks of 256 B: 256, 256, 256, 232. Up and down carry every byte once; the first chunk crosses the longest path
// of six edges (rank 2 and rank 5 are two and three links from the root), and each of the others ends one step later.
TEST(TreeTest, TheFluidFormIsAPipelineOverTheLongestPath) {
  const Group group{{3, 3}, 1};
  const auto tree = plan(group.communicator(), call(Collective::kAllReduce, 1000_B), "tree", 1, 256_B);
  ASSERT_EQ(tree->step_count(4, 0, 1), 4);
  EXPECT_EQ(tree->step(4, 0, 1, 3).bytes, 232_B);
  EXPECT_EQ(tree->step(4, 0, 1, 3).destination.offset, 768);
  ASSERT_EQ(tree->fluid_flow_count(), 1);
  const FluidFlow flow = tree->fluid_flow(0);
  EXPECT_EQ(flow.bytes, 1000_B);
  EXPECT_EQ(flow.step_bytes, 256_B);
  EXPECT_EQ(flow.serial_steps, 4 + 6 - 1);
  EXPECT_EQ(flow.fill_bytes, 5 * 256_B);
  ASSERT_EQ(flow.edges.size(), 10U);
  const Rank path[] = {5, 4, 3, 0, 3, 4, 5};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(flow.edges[i].from, path[i]);
    EXPECT_EQ(flow.edges[i].to, path[i + 1]);
  }
}

}  // namespace
}  // namespace weft::coll
