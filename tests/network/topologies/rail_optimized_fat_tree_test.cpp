#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

Topology pod(int nodes) {
  return load(shipped_node("dgx_h100_superpod").with_override("nodes", std::to_string(nodes), "test")).topology;
}

TEST(RailOptimizedFatTreeTest, RailRHangsOnLeafROfItsUnit) {
  const Topology t = pod(64);
  for (const auto& [nic, leaf] :
       {std::pair{"n0.nic0", "leaf0"}, {"n31.nic7", "leaf7"}, {"n32.nic0", "leaf8"}, {"n63.nic3", "leaf11"}}) {
    const auto uplinks = t.uplinks(*t.find(nic));
    ASSERT_EQ(uplinks.size(), 1U);
    EXPECT_EQ(t.name(t.link(uplinks[0]).to), leaf) << nic;
  }
  EXPECT_EQ(t.labels(*t.find("leaf11")), (Labels{{"tier", "0"}, {"rail", "3"}, {"unit", "1"}}));
}

TEST(RailOptimizedFatTreeTest, SameRailIsOneSwitchAwayWithinAUnit) {
  const Topology t = pod(64);
  const auto of_fabric = [&](DeviceId device) { return t.host_of(device) < 0 || t.kind(device) == DeviceKind::kNic; };
  const std::vector<int> hops = hops_from(t, *t.find("n0.nic2"), of_fabric);
  EXPECT_EQ(hops[t.find("n31.nic2")->index()], 2);
  EXPECT_EQ(hops[t.find("n32.nic2")->index()], 4);
  EXPECT_EQ(hops[t.find("n0.nic3")->index()], 4);
}

// 4 nodes: leaves of 4 hosts and 4 up-links, 32 in all: one spine with 4 cables from each leaf. 96 nodes: 24 leaves with 32
// up-links, 768 / 64 = 12 spines, but 32 cables divide evenly over 16 (which is what SuperPODs of three units have).
TEST(RailOptimizedFatTreeTest, PartialPodsStaySensible) {
  EXPECT_EQ(switch_counts(pod(4)), (Counts{{"leaf", 8}, {"spine", 1}}));
  EXPECT_EQ(cable_counts(pod(4)).at("leaf-spine"), 32);
  EXPECT_EQ(switch_counts(pod(96)), (Counts{{"leaf", 24}, {"spine", 16}}));
}

// 8 GPUs per node, one leaf per rail per 32 nodes, as many spines as hosts per leaf, however many nodes there are.
TEST(RailOptimizedFatTreeTest, SpinesMayBeStated) {
  const ConfigNode base = shipped_node("dgx_h100_superpod").with_override("fabric.spines", "32", "test");
  const Topology small = load(base.with_override("nodes", "16", "test")).topology;
  EXPECT_EQ(switch_counts(small), (Counts{{"leaf", 8}, {"spine", 32}}));
  EXPECT_EQ(cable_counts(small).at("leaf-spine"), 8 * 32);
  const Topology large =
      load(base.with_override("nodes", "1024", "test").with_override("fabric.spine_ports", "256", "test")).topology;
  EXPECT_EQ(switch_counts(large), (Counts{{"leaf", 256}, {"spine", 32}}));
  EXPECT_EQ(cable_counts(large).at("leaf-spine"), 256 * 32);
}

// 3:1 of 64 ports: 48 down, 16 up; units of 48 nodes.
TEST(RailOptimizedFatTreeTest, OversubscriptionMakesUnitsLarger) {
  const Topology t = load(shipped_node("dgx_h100_superpod")
                              .with_override("nodes", "96", "test")
                              .with_override("fabric.oversubscription", "3", "test"))
                         .topology;
  EXPECT_EQ(switch_counts(t).at("leaf"), 16);
  EXPECT_EQ(cable_counts(t).at("leaf-spine"), 16 * 16);
}

TEST(RailOptimizedFatTreeTest, PodsOfThreeTiersHoldWholeUnits) {
  const Topology t = pod(512);
  // 4 units of 8 leaves a pod: unit 4 opens pod 1.
  EXPECT_EQ(label(t, *t.find("leaf31"), "pod"), "0");
  EXPECT_EQ(label(t, *t.find("leaf32"), "pod"), "1");
  EXPECT_EQ(label(t, *t.find("leaf32"), "unit"), "4");
}

}  // namespace
}  // namespace weft::net::test
