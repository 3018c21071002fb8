#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

// 64-port leaves without oversubscription: 32 hosts and 32 up-links each. 128 hosts take 4 leaves, and 4 x 32 / 64 = 2 spines
// with 16 cables from each leaf.
TEST(LeafSpineTest, SpinesAreAsFewAsTheUplinksFill) {
  const Topology t = hosts_on(128, "type: leaf_spine, leaf_ports: 64");
  EXPECT_EQ(switch_counts(t), (Counts{{"leaf", 4}, {"spine", 2}}));
  EXPECT_EQ(cable_counts(t), (Counts{{"h-leaf", 128}, {"leaf-spine", 128}}));
}

// models/network §5.2: k^2/2 hosts on k leaves and k/2 spines; k = 8.
TEST(LeafSpineTest, FullSizeIsTheFormula) {
  const Topology t = hosts_on(32, "type: leaf_spine, leaf_ports: 8");
  EXPECT_EQ(switch_counts(t), (Counts{{"leaf", 8}, {"spine", 4}}));
  EXPECT_EQ(cable_counts(t), (Counts{{"h-leaf", 32}, {"leaf-spine", 32}}));
  const std::vector<int> hops = hops_from(t, *t.find("h0"));
  EXPECT_EQ(hops[t.find("h3")->index()], 2);
  EXPECT_EQ(hops[t.find("h4")->index()], 4);
}

// K28 of models/network §7: 4 leaves of 8 hosts, 2:1, so 4 up-links a leaf.
TEST(LeafSpineTest, OversubscriptionCutsUplinks) {
  const Topology t = hosts_on(32, "type: leaf_spine, leaf_ports: 12, oversubscription: 2");
  EXPECT_EQ(cable_counts(t), (Counts{{"h-leaf", 32}, {"leaf-spine", 16}}));
  EXPECT_EQ(switch_counts(t).at("leaf"), 4);
  EXPECT_EQ(cable_counts(hosts_on(32, "type: leaf_spine, hosts_per_leaf: 8, oversubscription: 2")).at("leaf-spine"), 16);
}

TEST(LeafSpineTest, SpinesMayBeStated) {
  const Topology t = hosts_on(16, "type: leaf_spine, hosts_per_leaf: 8, spines: 8");
  EXPECT_EQ(switch_counts(t), (Counts{{"leaf", 2}, {"spine", 8}}));
  EXPECT_EQ(cable_counts(t).at("leaf-spine"), 16);
  // Fewer spines are fewer up-links, unless the oversubscription is stated too: then cables are doubled.
  EXPECT_EQ(cable_counts(hosts_on(16, "type: leaf_spine, hosts_per_leaf: 8, spines: 4")).at("leaf-spine"), 8);
  EXPECT_EQ(cable_counts(hosts_on(16, "type: leaf_spine, hosts_per_leaf: 8, spines: 4, oversubscription: 1")).at("leaf-spine"),
            16);
}

TEST(LeafSpineTest, StatedSpinesMustFitBothSides) {
  EXPECT_EQ(load_errors(hosts_yaml(16, "type: leaf_spine, hosts_per_leaf: 8, leaf_ports: 15, spines: 8")),
            std::vector<std::string>{"cluster.fabric: 8 hosts and 8 up-links do not fit a leaf of 15 ports; 7 hosts do"});
  EXPECT_EQ(load_errors(hosts_yaml(16, "type: leaf_spine, hosts_per_leaf: 1, spine_ports: 15, leaf_ports: 4, spines: 1")),
            std::vector<std::string>{
                "cluster.fabric: 16 leaves with 1 cable(s) to each spine need 16 ports of a spine, which has 15"});
  EXPECT_TRUE(
      load_errors(hosts_yaml(16, "type: leaf_spine, hosts_per_leaf: 1, spine_ports: 16, leaf_ports: 4, spines: 1")).empty());
}

TEST(LeafSpineTest, OneLeafNeedsNoSpine) {
  EXPECT_EQ(switch_counts(hosts_on(8, "type: leaf_spine, leaf_ports: 64")), (Counts{{"leaf", 1}}));
}

TEST(LeafSpineTest, SwitchesForwardAsTheFileSays) {
  const Topology stated =
      hosts_on(64, "type: leaf_spine, switch: {latency: 300 ns, forwarding: store_and_forward, header: 32 B}");
  const Forwarding forwarding = stated.forwarding(*stated.find("leaf1"));
  EXPECT_EQ(forwarding.latency, Duration::from_ns(300));
  EXPECT_TRUE(forwarding.store_and_forward);
  EXPECT_EQ(forwarding.header, Bytes{32});
  // Ethernet switches take 600 ns unless stated, and cut through (models/network §1.9).
  const Topology silent = hosts_on(64, "type: leaf_spine");
  EXPECT_EQ(silent.forwarding(*silent.find("spine0")).latency, Duration::from_ns(600));
  EXPECT_FALSE(silent.forwarding(*silent.find("spine0")).store_and_forward);
}

TEST(LeafSpineTest, UplinksMayDifferFromHostLinks) {
  const Topology t = hosts_on(64, "type: leaf_spine, uplink: {type: ethernet, rate: 800 Gb/s}");
  for (const LinkId link : t.out_links(*t.find("leaf0"))) {
    const bool down = t.host_of(t.link(link).to) >= 0;
    EXPECT_EQ(t.spec(link).rate.gbps(), down ? 400 : 800);
  }
}

// 42 hosts and 21 up-links fit 64 ports, 43 and 22 do not: 84 hosts take two leaves, one more takes three.
TEST(LeafSpineTest, ALeafHasAsManyHostsAsLeaveRoomForTheirUpLinks) {
  const std::string shape = "type: leaf_spine, leaf_ports: 64, oversubscription: 2";
  EXPECT_EQ(cable_counts(hosts_on(84, shape)).at("leaf-spine"), 2 * 21);
  EXPECT_EQ(cable_counts(hosts_on(85, shape)).at("leaf-spine"), 3 * 21);
}

}  // namespace
}  // namespace weft::net::test
