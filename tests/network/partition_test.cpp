#include "sim/network/partition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/network/cluster_support.h"

namespace weft::net {
namespace {

std::vector<std::size_t> hosts_of_parts(const Topology& topology, const Partition& partition) {
  std::vector<std::size_t> hosts(partition.parts, 0);
  for (const DeviceId endpoint : topology.endpoints()) ++hosts[partition.of(endpoint)];
  return hosts;
}

// Links between hosts and their switches stay inside a part.
void expect_whole_edges(const Topology& topology, const Partition& partition) {
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId::from_index(i));
    if (topology.host_of(link.from) < 0 && topology.host_of(link.to) < 0) continue;
    EXPECT_FALSE(partition.is_cut(link)) << topology.name(LinkId::from_index(i));
  }
}

TEST(PartitionTest, AFatTreeComesApartIntoItsPods) {
  // k = 8: 8 pods of 16 hosts. Between the pods are the 16 core switches, each with one link to every pod: of the 8 x 16 cables
  // two in 16 stay inside, those of the two core switches that each part has.
  const Cluster cluster = test::load(test::hosts_yaml(128, "type: fat_tree, k: 8"));
  const Partition partition = cut_into_parts(cluster.topology);
  EXPECT_EQ(partition.parts, 8U);
  EXPECT_EQ(hosts_of_parts(cluster.topology, partition), std::vector<std::size_t>(8, 16));
  expect_whole_edges(cluster.topology, partition);
  std::size_t cut = 0;
  for (std::size_t i = 0; i < cluster.topology.link_count(); ++i) {
    if (partition.is_cut(cluster.topology.link(LinkId::from_index(i)))) ++cut;
  }
  EXPECT_EQ(cut, 2U * (128 - 16));
}

TEST(PartitionTest, LeavesAndGroupsAreParts) {
  const Cluster leaves = test::load(test::hosts_yaml(16, "type: leaf_spine, leaf_ports: 6, spines: 2"));
  const Partition by_leaf = cut_into_parts(leaves.topology);
  EXPECT_EQ(by_leaf.parts, 6U);  // half of a leaf's ports go down
  EXPECT_EQ(hosts_of_parts(leaves.topology, by_leaf), (std::vector<std::size_t>{3, 3, 3, 3, 3, 1}));
  expect_whole_edges(leaves.topology, by_leaf);

  // 9 groups of 4 switches with 2 hosts each.
  const Cluster groups = test::load(test::hosts_yaml(72, "type: dragonfly, p: 2"));
  const Partition by_group = cut_into_parts(groups.topology);
  EXPECT_EQ(by_group.parts, 9U);
  EXPECT_EQ(hosts_of_parts(groups.topology, by_group), std::vector<std::size_t>(9, 8));
  expect_whole_edges(groups.topology, by_group);
}

TEST(PartitionTest, FewerPartsAreStretchesOfNeighbours) {
  const Cluster cluster = test::load(test::hosts_yaml(128, "type: fat_tree, k: 8"));
  const Partition partition = cut_into_parts(cluster.topology, 4);
  EXPECT_EQ(partition.parts, 4U);
  EXPECT_EQ(hosts_of_parts(cluster.topology, partition), std::vector<std::size_t>(4, 32));
  std::size_t last = 0;
  for (const DeviceId endpoint : cluster.topology.endpoints()) {
    EXPECT_GE(partition.of(endpoint), last);
    last = partition.of(endpoint);
  }
}

TEST(PartitionTest, KnowsWhereSwitchesOfOneTierAreLinked) {
  const auto links = [](std::int64_t nodes, std::string_view fabric) {
    return links_equals(test::load(test::hosts_yaml(nodes, fabric)).topology);
  };
  EXPECT_FALSE(links(128, "type: fat_tree, k: 8"));
  EXPECT_FALSE(links(16, "type: leaf_spine, leaf_ports: 6, spines: 2"));
  EXPECT_FALSE(links(8, "type: single_switch"));
  EXPECT_TRUE(links(72, "type: dragonfly, p: 2"));
  EXPECT_TRUE(links(16, "type: torus, dims: [4, 4]"));
}

TEST(PartitionTest, OneSwitchIsOnePart) {
  const Cluster cluster = test::load(test::hosts_yaml(8, "type: single_switch"));
  EXPECT_EQ(cut_into_parts(cluster.topology).parts, 1U);
}

}  // namespace
}  // namespace weft::net
