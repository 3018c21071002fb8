#include "sim/collectives/nccl/connect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/collectives/nccl/machines.h"

namespace weft::coll::nccl {
namespace {

// A communicator whose search found one order a channel, the same for rings and trees.
CommInfo found(int nodes, const std::vector<std::vector<int>>& orders, GraphPattern tree_pattern) {
  CommInfo info;
  info.nodes = nodes;
  info.ranks_per_node = static_cast<int>(orders.front().size());
  info.ranks = nodes * info.ranks_per_node;
  for (const std::vector<int>& order : orders) {
    info.ring.channels.push_back({.net_in = {}, .gpus = order, .net_out = {}});
    info.tree.channels.push_back({.net_in = {}, .gpus = order, .net_out = {}});
  }
  info.tree.kind = GraphKind::kTree;
  info.tree.pattern = tree_pattern;
  info.channels = 2 * static_cast<int>(orders.size());
  return info;
}

TreeLinks links(Rank up, Rank first = -1, Rank second = -1, Rank third = -1) {
  return {.up = up, .down = {first, second, third}};
}

TEST(ConnectTest, RingsGoThroughTheNodesOneAfterTheOther) {
  const CommInfo info = found(2, {{0, 2, 1}}, GraphPattern::kTree);
  const Connections all = connect(info, nodes_of(2, 3));
  ASSERT_EQ(all.rings.size(), 2U);
  EXPECT_EQ(all.rings[0], (RingOrder{0, 2, 1, 3, 5, 4}));
  EXPECT_EQ(all.rings[1], all.rings[0]);
}

TEST(ConnectTest, RingsBeginAtRankZeroWhereverItStands) {
  const CommInfo info = found(2, {{2, 0, 1}}, GraphPattern::kTree);
  EXPECT_EQ(connect(info, nodes_of(2, 3)).rings[0], (RingOrder{0, 1, 5, 3, 4, 2}));
}

TEST(ConnectTest, OddNodesSwapTheRingsOfACrossingPair) {
  // models/nccl §2.5: pair (0,1) enters by net0 and leaves by net1, and the reverse. Node 1 takes the other one, so that the
  // hop from node 0's net1 arrives at node 1's net1.
  CommInfo info = found(2, {{0, 1}, {1, 0}}, GraphPattern::kTree);
  info.ring.cross_nic = 2;
  const Connections all = connect(info, nodes_of(2, 2));
  EXPECT_EQ(all.rings[0], (RingOrder{0, 1, 3, 2}));
  EXPECT_EQ(all.rings[1], (RingOrder{0, 2, 3, 1}));
  info.ring.cross_nic = 1;
  EXPECT_EQ(connect(info, nodes_of(2, 2)).rings[0], (RingOrder{0, 1, 2, 3}));
}

TEST(ConnectTest, AnOddNumberOfRingsIsNotSwapped) {
  CommInfo info = found(2, {{0, 1}}, GraphPattern::kTree);
  info.ring.cross_nic = 2;
  EXPECT_EQ(connect(info, nodes_of(2, 2)).rings[0], (RingOrder{0, 1, 2, 3}));
}

TEST(ConnectTest, RanksOfANodeNeedNotBeNeighbours) {
  const CommInfo info = found(2, {{0, 1}}, GraphPattern::kTree);
  const std::vector<std::vector<Rank>> round_robin{{0, 2}, {1, 3}};
  EXPECT_EQ(connect(info, round_robin).rings[0], (RingOrder{0, 2, 1, 3}));
}

TEST(ConnectTest, OneNodeIsAChainInBothTrees) {
  const CommInfo info = found(1, {{0, 2, 1}}, GraphPattern::kBalancedTree);
  const Connections all = connect(info, nodes_of(1, 3));
  for (const Tree& tree : all.trees) EXPECT_EQ(tree, (Tree{links(-1, 2), links(2), links(0, 1)}));
}

// Four nodes: tree 0 is 0->{2}, 2->{1,3}, tree 1 is 3->{1}, 1->{2,0} (models/nccl §3.2). Chains 0-1-2 in every node; where the
// chains hang from each other depends on the pattern.
TEST(ConnectTest, PlainTreesHangAllFromTheFirstOfAChain) {
  const Connections all = connect(found(4, {{0, 1, 2}}, GraphPattern::kTree), nodes_of(4, 3));
  EXPECT_EQ(all.trees[0][0], links(-1, 1, 6));
  EXPECT_EQ(all.trees[0][6], links(0, 7, 3, 9));
  EXPECT_EQ(all.trees[0][7], links(6, 8));
  EXPECT_EQ(all.trees[0][3], links(6, 4));
  EXPECT_EQ(all.trees[1][9], links(-1, 10, 3));
  EXPECT_EQ(all.trees[1][3], links(9, 4, 6, 0));
}

TEST(ConnectTest, BalancedTreesHangTheFirstChildFromTheSecondOfAChain) {
  const Connections all = connect(found(4, {{0, 1, 2}}, GraphPattern::kBalancedTree), nodes_of(4, 3));
  // Node 0 has its only child on the second side.
  EXPECT_EQ(all.trees[0][0], links(-1, 1, 6));
  EXPECT_EQ(all.trees[0][6], links(0, 7, 9));
  EXPECT_EQ(all.trees[0][7], links(6, 8, 3));
  EXPECT_EQ(all.trees[0][3], links(7, 4));
  EXPECT_EQ(all.trees[0][9], links(6, 10));
}

TEST(ConnectTest, SplitTreesHangBothChildrenFromTheSecondOfAChain) {
  const Connections all = connect(found(4, {{0, 1, 2}}, GraphPattern::kSplitTree), nodes_of(4, 3));
  EXPECT_EQ(all.trees[0][0], links(-1, 1));
  EXPECT_EQ(all.trees[0][1], links(0, 2, 6));
  EXPECT_EQ(all.trees[0][7], links(6, 8, 3, 9));
}

TEST(ConnectTest, EveryTreeHoldsEveryRankOnce) {
  for (int nodes = 1; nodes <= 33; ++nodes) {
    for (const GraphPattern pattern : {GraphPattern::kTree, GraphPattern::kBalancedTree, GraphPattern::kSplitTree}) {
      const Connections all = connect(found(nodes, {{0, 1}, {1, 0}}, pattern), nodes_of(nodes, 2));
      for (const Tree& tree : all.trees) {
        int roots = 0;
        int edges = 0;
        for (std::size_t r = 0; r < tree.size(); ++r) {
          roots += tree[r].up == -1 ? 1 : 0;
          for (const Rank child : tree[r].down) {
            if (child < 0) continue;
            ++edges;
            EXPECT_EQ(tree[static_cast<std::size_t>(child)].up, static_cast<Rank>(r));
          }
        }
        EXPECT_EQ(roots, 1);
        EXPECT_EQ(edges, 2 * nodes - 1);
      }
    }
  }
}

TEST(ConnectTest, FurtherChannelsRepeatTheOnesTheyWereCopiedFrom) {
  CommInfo info = found(2, {{0, 1}, {1, 0}}, GraphPattern::kTree);
  info.channels = 5;
  info.channel_sources = {0, 1, 2, 3, 0};
  const Connections all = connect(info, nodes_of(2, 2));
  ASSERT_EQ(all.rings.size(), 5U);
  EXPECT_EQ(all.rings[2], all.rings[0]);
  EXPECT_NE(all.trees[2], all.trees[0]);  // the other tree over the nodes
  EXPECT_EQ(all.rings[4], all.rings[0]);
  EXPECT_EQ(all.trees[4], all.trees[0]);
}

TEST(ConnectTest, NvlsTreesJoinTheHeadsOfOneIndex) {
  CommInfo info = found(4, {{0, 1}}, GraphPattern::kTree);
  Graph& nvls = info.nvls_graph.emplace();
  nvls.channels = {{.net_in = {}, .gpus = {1}, .net_out = {}}, {.net_in = {}, .gpus = {0}, .net_out = {}}};
  const Connections all = connect(info, nodes_of(4, 2));
  EXPECT_EQ(all.nvls_heads, (std::vector<std::vector<Rank>>{{1, 3, 5, 7}, {0, 2, 4, 6}}));
  ASSERT_EQ(all.nvls_trees.size(), 2U);
  EXPECT_EQ(all.nvls_trees[0][5], links(1, 3, 7));
  EXPECT_EQ(all.nvls_trees[0][4], links(0, 2, 6));
  EXPECT_EQ(all.nvls_trees[1][3], links(7, 5, 1));
}

TEST(ConnectTest, NodesOfDifferentSizesUseTheirOwnOrders) {
  CommInfo info = found(2, {{0, 1}}, GraphPattern::kTree);
  info.ranks = 3;
  NodeGraphs large;
  large.ring = info.ring;
  large.tree = info.tree;
  NodeGraphs small;
  small.ring.channels = {{.net_in = {}, .gpus = {0}, .net_out = {}}};
  small.tree.channels = small.ring.channels;
  small.tree.pattern = GraphPattern::kTree;
  info.node_graphs = {large, small};
  info.kind_of_node = {0, 1};
  const std::vector<std::vector<Rank>> nodes{{0, 1}, {2}};
  const Connections all = connect(info, nodes);
  EXPECT_EQ(all.rings[0], (RingOrder{0, 1, 2}));
  EXPECT_EQ(all.trees[0], (Tree{links(-1, 1, 2), links(0), links(0)}));
  EXPECT_EQ(all.trees[1], (Tree{links(2, 1), links(0), links(-1, 0)}));
}

}  // namespace
}  // namespace weft::coll::nccl
