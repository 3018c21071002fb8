#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

// p = h = 2, a = 4: 9 groups of 4 routers. Cables: 9 x 6 within groups, 9 x 8 / 2 between them.
TEST(DragonflyTest, BalancedCountsFollowFromP) {
  const Topology t = hosts_on(72, "type: dragonfly, p: 2");
  EXPECT_EQ(switch_counts(t), (Counts{{"router", 36}}));
  EXPECT_EQ(cable_counts(t), (Counts{{"h-router", 72}, {"router-router", 9 * 6 + 36}}));
}

TEST(DragonflyTest, EveryPairOfGroupsHasOneGlobalLinkAndNoRouterTooMany) {
  const Topology t = hosts_on(72, "type: dragonfly, p: 2");
  std::map<std::pair<int, int>, int> between;
  for (const DeviceId router : t.fabric_switches()) {
    int global = 0;
    for (const LinkId link : t.out_links(router)) {
      const DeviceId to = t.link(link).to;
      if (t.host_of(to) >= 0) continue;
      const int from_group = std::stoi(label(t, router, "group"));
      const int to_group = std::stoi(label(t, to, "group"));
      if (from_group == to_group) continue;
      ++global;
      ++between[{from_group, to_group}];
    }
    EXPECT_EQ(global, 2);
  }
  EXPECT_EQ(between.size(), 72U);
  for (const auto& [pair, count] : between) EXPECT_EQ(count, 1);
}

// Local, global, local: at most three links between routers.
TEST(DragonflyTest, DiameterIsThree) {
  const Topology t = hosts_on(72, "type: dragonfly, p: 2");
  for (const DeviceId from : t.fabric_switches()) {
    const std::vector<int> hops = hops_from(t, from, [&](DeviceId d) { return t.host_of(d) < 0; });
    for (const DeviceId to : t.fabric_switches()) EXPECT_LE(hops[to.index()], 3);
  }
}

// 3 groups: 8 global ports a group, 4 to each of the two others.
TEST(DragonflyTest, FewerGroupsShareTheGlobalLinksEvenly) {
  const Topology t = hosts_on(24, "type: dragonfly, p: 2, groups: 3");
  EXPECT_EQ(cable_counts(t).at("router-router"), 3 * 6 + 3 * 4);
  for (const DeviceId router : t.fabric_switches()) EXPECT_EQ(t.out_links(router).size(), 2U + 3 + 2);
}

TEST(DragonflyTest, LimitsAreChecked) {
  EXPECT_EQ(load_errors(hosts_yaml(73, "type: dragonfly, p: 2")),
            std::vector<std::string>{"cluster.fabric: 73 nodes with 1 NIC(s) each need 73 host ports, the dragonfly has 72"});
  EXPECT_EQ(load_errors(hosts_yaml(9, "type: dragonfly, p: 2, groups: 10")),
            std::vector<std::string>{"cluster.fabric.groups: 4 routers of 2 global links reach 9 groups at most, got 10"});
}

}  // namespace
}  // namespace weft::net::test
