#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

TEST(FatTreeTest, HostsOfAnEdgeAPodAndTheTreeAreTwoFourAndSixLinksApart) {
  const Topology t = hosts_on(16, "type: fat_tree, k: 4");
  const std::vector<int> hops = hops_from(t, *t.find("h0"));
  EXPECT_EQ(hops[t.find("h1")->index()], 2);
  EXPECT_EQ(hops[t.find("h2")->index()], 4);
  EXPECT_EQ(hops[t.find("h4")->index()], 6);
  EXPECT_EQ(hops[t.find("h15")->index()], 6);
}

// k^3/8 links cross the cut between two halves of the pods: every core's links to one half.
TEST(FatTreeTest, BisectionOfTheCompleteTreeIsHalfTheHosts) {
  const Topology t = hosts_on(128, "type: fat_tree, k: 8");
  int crossing = 0;
  for (std::size_t i = 0; i < t.link_count(); ++i) {
    const Link& link = t.link(LinkId::from_index(i));
    if (stem_of(t, link.from) == "agg" && stem_of(t, link.to) == "core" && std::stoi(label(t, link.from, "pod")) < 4)
      ++crossing;
  }
  EXPECT_EQ(crossing, 8 * 8 * 8 / 8);
}

TEST(FatTreeTest, CompleteTreeHasRoomForFewerHostsButNotMore) {
  EXPECT_EQ(switch_counts(hosts_on(3, "type: fat_tree, k: 4")), (Counts{{"edge", 8}, {"agg", 8}, {"core", 4}}));
  EXPECT_EQ(load_errors(hosts_yaml(17, "type: fat_tree, k: 4")),
            std::vector<std::string>{"cluster.fabric: 17 nodes with 1 NIC(s) each need 17 host ports, the tree has 16"});
  EXPECT_EQ(load_errors(hosts_yaml(3, "type: fat_tree, k: 5")),
            std::vector<std::string>{"cluster.fabric.k: a k-ary tree has an even k, got 5"});
}

// models/network §5.2: a radix of 8 holds 8 hosts on one tier, 32 on two, 128 on three.
TEST(FatTreeTest, TiersGrowWithTheHosts) {
  EXPECT_EQ(switch_counts(hosts_on(8, "type: fat_tree, radix: 8")), (Counts{{"edge", 1}}));
  EXPECT_EQ(switch_counts(hosts_on(9, "type: fat_tree, radix: 8")), (Counts{{"edge", 3}, {"agg", 2}}));
  EXPECT_EQ(switch_counts(hosts_on(32, "type: fat_tree, radix: 8")), (Counts{{"edge", 8}, {"agg", 4}}));
  EXPECT_EQ(switch_counts(hosts_on(33, "type: fat_tree, radix: 8")), (Counts{{"edge", 9}, {"agg", 12}, {"core", 8}}));
  EXPECT_EQ(switch_counts(hosts_on(128, "type: fat_tree, radix: 8")), (Counts{{"edge", 32}, {"agg", 32}, {"core", 16}}));
  EXPECT_EQ(
      load_errors(hosts_yaml(129, "type: fat_tree, radix: 8")),
      std::vector<std::string>{"cluster.fabric: 132 host ports need more than three tiers of 8-port switches, which hold 128"});
}

// models/network §8, HPCC: 320 hosts of 100G and 160 links of 400G between 56 switches.
TEST(FatTreeTest, HpccTopologyHasItsPublishedCounts) {
  const Topology t = hosts_on(320, "type: fat_tree, pods: 5, edges_per_pod: 4, aggs_per_pod: 4, cores: 16, hosts_per_edge: 16");
  EXPECT_EQ(switch_counts(t), (Counts{{"edge", 20}, {"agg", 20}, {"core", 16}}));
  EXPECT_EQ(cable_counts(t), (Counts{{"h-edge", 320}, {"edge-agg", 80}, {"agg-core", 80}}));
  EXPECT_EQ(t.device_count(), 376U);
  EXPECT_EQ(t.link_count(), 2U * 480);
}

TEST(FatTreeTest, SwitchesSayTheirTierAndPod) {
  const Topology t = hosts_on(16, "type: fat_tree, k: 4");
  EXPECT_EQ(t.labels(*t.find("edge3")), (Labels{{"tier", "0"}, {"pod", "1"}}));
  EXPECT_EQ(t.labels(*t.find("agg7")), (Labels{{"tier", "1"}, {"pod", "3"}}));
  EXPECT_EQ(t.labels(*t.find("core0")), (Labels{{"tier", "2"}}));
}

}  // namespace
}  // namespace weft::net::test
