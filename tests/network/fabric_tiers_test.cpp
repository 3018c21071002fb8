#include "sim/network/fabric_tiers.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

std::vector<bool> all_hosts(const Topology& topology) { return std::vector<bool>(topology.host_count(), true); }

TEST(FabricTiersTest, OneSwitchHoldsNobodyUp) {
  const Topology topology = hosts_on(8, "type: leaf_spine, leaf_ports: 64");
  const FabricTiers tiers{topology, all_hosts(topology)};
  EXPECT_TRUE(tiers.is_even_tree());
  EXPECT_FALSE(tiers.has_choice());
  EXPECT_EQ(tiers.tiers(), 0U);
}

TEST(FabricTiersTest, LeavesWithLessUpThanDownAreNotFull) {
  // Three hosts a leaf and one cable up; two hosts and two cables.
  const Topology narrow = hosts_on(9, "type: leaf_spine, leaf_ports: 4, oversubscription: 3");
  const Topology full = hosts_on(8, "type: leaf_spine, leaf_ports: 4");
  const FabricTiers narrow_tiers{narrow, all_hosts(narrow)};
  const FabricTiers full_tiers{full, all_hosts(full)};
  ASSERT_EQ(narrow_tiers.tiers(), 1U);
  ASSERT_EQ(full_tiers.tiers(), 1U);
  EXPECT_FALSE(narrow_tiers.is_full(0));
  EXPECT_FALSE(narrow_tiers.has_choice());
  EXPECT_EQ(narrow_tiers.pod_count(0), 3U);
  EXPECT_TRUE(full_tiers.is_full(0));
  EXPECT_TRUE(full_tiers.has_choice());
}

TEST(FabricTiersTest, HostsThatSendNothingLoadNothing) {
  const Topology topology = hosts_on(9, "type: leaf_spine, leaf_ports: 4, oversubscription: 3");
  std::vector<bool> hosts(9, false);
  for (const std::size_t first : {0U, 3U, 6U}) hosts[first] = true;
  EXPECT_TRUE((FabricTiers{topology, hosts}.is_full(0)));
  hosts[1] = true;
  EXPECT_FALSE((FabricTiers{topology, hosts}.is_full(0)));
}

TEST(FabricTiersTest, PodsOfLeavesAndSpinesAreTheSecondTier) {
  // Four hosts a pod: two leaves of two hosts, with two spines of two cables up.
  const Topology topology = hosts_on(16, "type: leaf_spine, leaf_ports: 4, spine_ports: 4");
  const FabricTiers tiers{topology, all_hosts(topology)};
  EXPECT_TRUE(tiers.is_even_tree());
  ASSERT_EQ(tiers.tiers(), 2U);
  EXPECT_EQ(tiers.pod_count(0), 8U);
  EXPECT_EQ(tiers.pod_count(1), 4U);
  EXPECT_TRUE(tiers.is_full(0) && tiers.is_full(1));
}

TEST(FabricTiersTest, ATorusIsNoTree) {
  const Topology topology = hosts_on(8, "type: torus, dims: [2, 2, 2]");
  EXPECT_FALSE((FabricTiers{topology, all_hosts(topology)}.is_even_tree()));
}

}  // namespace
}  // namespace weft::net::test
