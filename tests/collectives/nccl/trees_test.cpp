#include "sim/collectives/nccl/trees.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::coll::nccl {
namespace {

TEST(DoubleTreeTest, EqualsTheWorkedExamples) {
  // models/nccl §3.2, a table of what NCCL answered: parent of every node in tree 0 and in tree 1.
  const std::vector<std::pair<std::vector<int>, std::vector<int>>> parents{
      {{-1, 0}, {1, -1}},
      {{-1, 2, 0, 2}, {1, 3, 1, -1}},
      {{-1, 2, 4, 2, 0}, {1, -1, 3, 0, 3}},
      {{-1, 2, 4, 2, 0, 6, 4, 6}, {1, 3, 1, 7, 5, 3, 5, -1}}};
  for (const auto& [first, second] : parents) {
    const auto nodes = static_cast<int>(first.size());
    for (int n = 0; n < nodes; ++n) {
      EXPECT_EQ(dtree(nodes, n)[0].up, first[static_cast<std::size_t>(n)]) << nodes << " nodes, node " << n;
      EXPECT_EQ(dtree(nodes, n)[1].up, second[static_cast<std::size_t>(n)]) << nodes << " nodes, node " << n;
    }
  }
  EXPECT_EQ(dtree(4, 1)[1].down, (std::array<int, 2>{2, 0}));
  EXPECT_EQ(dtree(8, 5)[1].down, (std::array<int, 2>{6, 4}));
}

TEST(DoubleTreeTest, LeavesOfOneTreeAreInnerNodesOfTheOther) {
  // But for one node, so that every node's NIC carries about as much (models/nccl §3.2).
  const auto is_leaf = [](const NodeLinks& links) { return links.down[0] == -1 && links.down[1] == -1; };
  for (int nodes = 2; nodes <= 129; ++nodes) {
    int leaves_of_both = 0;
    int inner_of_both = 0;
    for (int n = 0; n < nodes; ++n) {
      const auto [first, second] = dtree(nodes, n);
      leaves_of_both += is_leaf(first) && is_leaf(second) ? 1 : 0;
      inner_of_both += !is_leaf(first) && !is_leaf(second) ? 1 : 0;
    }
    EXPECT_LE(leaves_of_both, 1) << nodes << " nodes";
    EXPECT_LE(inner_of_both, 1) << nodes << " nodes";
  }
}

TEST(BinaryTreeTest, IsCutShortOnTheRight) {
  // btree(6): 0->{4}, 4->{2,5}, 2->{1,3}: 6, where the subtree of 4 would go on, is not there, 5 is (models/nccl §3.2).
  EXPECT_EQ(btree(6, 0), (NodeLinks{.up = -1, .down = {-1, 4}}));
  EXPECT_EQ(btree(6, 4), (NodeLinks{.up = 0, .down = {2, 5}}));
  EXPECT_EQ(btree(6, 5), (NodeLinks{.up = 4, .down = {-1, -1}}));
  EXPECT_EQ(btree(6, 2), (NodeLinks{.up = 4, .down = {1, 3}}));
  EXPECT_EQ(btree(5, 4), (NodeLinks{.up = 0, .down = {2, -1}}));
  EXPECT_EQ(btree(1, 0), NodeLinks{});
}

}  // namespace
}  // namespace weft::coll::nccl
