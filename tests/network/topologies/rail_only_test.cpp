#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

Topology rails(int nodes) {
  return load(shipped_node("dgx_h100")
                  .with_override("nodes", std::to_string(nodes), "test")
                  .with_override("fabric.type", "rail_only", "test"))
      .topology;
}

TEST(RailOnlyTest, OneLeafPerRailWhileNodesFit) {
  const Topology t = rails(64);
  EXPECT_EQ(switch_counts(t), (Counts{{"leaf", 8}}));
  EXPECT_EQ(cable_counts(t), (Counts{{"nic-leaf", 512}}));
  EXPECT_EQ(label(t, *t.find("leaf5"), "rail"), "5");
}

// 65 nodes: 3 leaves of 32 hosts and 32 up-links a rail, 96 / 64 = 1.5, so 2 spines.
TEST(RailOnlyTest, LargeRailsHaveSpinesOfTheirOwn) {
  const Topology t = rails(65);
  EXPECT_EQ(switch_counts(t), (Counts{{"leaf", 24}, {"spine", 16}}));
  EXPECT_EQ(label(t, *t.find("spine15"), "rail"), "7");
}

TEST(RailOnlyTest, OtherRailsAreReachedThroughHostsOnly) {
  const Topology t = rails(4);
  const auto of_fabric = [&](DeviceId device) { return t.host_of(device) < 0 || t.kind(device) == DeviceKind::kNic; };
  const std::vector<int> hops = hops_from(t, *t.find("n0.nic0"), of_fabric);
  EXPECT_EQ(hops[t.find("n3.nic0")->index()], 2);
  EXPECT_EQ(hops[t.find("n3.nic1")->index()], -1);
}

}  // namespace
}  // namespace weft::net::test
