#include <gtest/gtest.h>

#include <algorithm>

#include "sim/network/builtin.h"
#include "sim/network/router.h"
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

// Ways from one router to another of a fabric where each NIC is on one router: hops, and how many different ones there are.
class Ways {
 public:
  explicit Ways(const Topology& topology) : topology_{topology}, router_{topology, make_routing_policy("spray"), 1} {}

  struct Found {
    int ways = 0;
    int longest = 0;
    int most_global = 0;
  };
  Found between(DeviceId from, DeviceId nic) const {
    Found found;
    walk(from, nic, 0, 0, found);
    return found;
  }
  Router& router() { return router_; }

 private:
  void walk(DeviceId at, DeviceId nic, int hops, int global, Found& found) const {
    for (const LinkId link : router_.links_towards(at, nic)) {
      const DeviceId to = topology_.link(link).to;
      if (to == nic) {
        ++found.ways;
        found.longest = std::max(found.longest, hops);
        found.most_global = std::max(found.most_global, global);
      } else {
        walk(to, nic, hops + 1, global + (label(topology_, at, "group") != label(topology_, to, "group") ? 1 : 0), found);
      }
    }
  }

  const Topology& topology_;
  Router router_;
};

// One global link joins two groups, so a minimal route is the local link to it, the link, and the local link from it: one way.
// Two groups have 16 pairs of routers: one has neither local link, 2 x 3 have one, 9 have both.
TEST(DragonflyTest, MinimalRoutesCrossOneGlobalLinkAndNoThirdGroup) {
  const Topology t = hosts_on(72, "type: dragonfly, p: 2");
  const Ways ways{t};
  std::map<int, int> pairs_by_hops;
  for (const DeviceId from : t.fabric_switches()) {
    for (int to = 0; to < 36; ++to) {
      const DeviceId nic = t.find(fmt::format("h{}", 2 * to)).value();
      const Ways::Found found = ways.between(from, nic);
      EXPECT_EQ(found.ways, 1);
      EXPECT_LE(found.most_global, 1);
      ++pairs_by_hops[found.longest];
    }
  }
  EXPECT_EQ(pairs_by_hops, (std::map<int, int>{{0, 36}, {1, 9 * 12 + 72}, {2, 72 * 6}, {3, 72 * 9}}));
}

// Three groups of four routers, each with a global link to both other groups. What its own link does not reach in the other
// group is two hops away: the global link and a local one, or a local one and the global link of that router; never over the
// third.
TEST(DragonflyTest, MinimalRoutesOfFewGroupsDoNotUseTheThird) {
  const Topology t = hosts_on(24, "type: dragonfly, p: 2, groups: 3");
  const Ways ways{t};
  std::map<std::pair<int, int>, int> pairs;  // by hops and number of ways
  for (const DeviceId from : t.fabric_switches()) {
    for (int to = 0; to < 12; ++to) {
      const DeviceId nic = t.find(fmt::format("h{}", 2 * to)).value();
      const Ways::Found found = ways.between(from, nic);
      EXPECT_LE(found.most_global, 1);
      ++pairs[{found.longest, found.ways}];
    }
  }
  EXPECT_EQ(pairs, (std::map<std::pair<int, int>, int>{{{0, 1}, 12}, {{1, 1}, 12 * 3 + 12 * 2}, {{2, 2}, 12 * 2 * 3}}));
}

// A flow is all on that one way: five links from host to host, the global one among them.
TEST(DragonflyTest, FlowsTakeTheMinimalRouteToo) {
  const Topology t = hosts_on(72, "type: dragonfly, p: 2");
  const Router router{t, make_routing_policy("spray"), 1};
  for (const int to : {8, 17, 40, 71}) {
    const Footprint footprint = router.route(t.find("h0").value(), t.find(fmt::format("h{}", to)).value(), {});
    int global = 0;
    for (const Usage& usage : footprint.usages) {
      EXPECT_EQ(usage.usage, 1.0);
      const Link& link = t.link(LinkId{usage.resource.value()});
      if (t.host_of(link.from) >= 0 || t.host_of(link.to) >= 0) continue;
      global += label(t, link.from, "group") != label(t, link.to, "group") ? 1 : 0;
    }
    EXPECT_EQ(global, 1);
    EXPECT_LE(footprint.usages.size(), 5U);
  }
}

// Without the only link between two groups, ways go over one of the seven others: two global links.
TEST(DragonflyTest, AFailedGlobalLinkIsGoneRoundOverAThirdGroup) {
  const Topology t = hosts_on(72, "type: dragonfly, p: 2");
  Ways ways{t};
  for (std::size_t i = 0; i < t.link_count(); ++i) {
    const LinkId link = LinkId::from_index(i);
    if (label(t, t.link(link).from, "group") != "0" || label(t, t.link(link).to, "group") != "1") continue;
    ways.router().set_link_state(link, false);
    ways.router().set_link_state(t.link(link).twin, false);
  }
  for (int from = 0; from < 4; ++from) {
    const Ways::Found found = ways.between(t.fabric_switches()[static_cast<std::size_t>(from)], t.find("h8").value());
    EXPECT_GE(found.ways, 1);
    EXPECT_EQ(found.most_global, 2);
  }
}

// Groups are what switches state, in a fabric written out too. From s0 over s1 there are two links, all global; over s3 and s4
// one of three.
TEST(DragonflyTest, SwitchesOfACustomFabricMayStateGroups) {
  const std::string fabric =
      "type: custom, devices: [{name: s0, group: 0}, {name: s1, group: 1}, {name: s2, group: 2}, {name: s3..4, group: [0, "
      "2]}], "
      "links: [{between: [[s0, s1], [s1, s2]], pairing: zip, type: ethernet, rate: 400 Gb/s}, "
      "{between: [[s0, s3, s4], [s3, s4, s2]], pairing: zip, type: ethernet, rate: 400 Gb/s}, "
      "{between: [[h0, h1], [s0, s2]], pairing: zip, type: ethernet, rate: 400 Gb/s}]";
  const Topology t = load("{nodes: 2, node: {type: host}, fabric: {" + fabric + "}}").topology;
  const Ways::Found found = Ways{t}.between(t.find("s0").value(), t.find("h1").value());
  EXPECT_EQ(found.ways, 1);
  EXPECT_EQ(found.longest, 3);
  EXPECT_EQ(found.most_global, 1);
}

TEST(DragonflyTest, LimitsAreChecked) {
  EXPECT_EQ(load_errors(hosts_yaml(73, "type: dragonfly, p: 2")),
            std::vector<std::string>{"cluster.fabric: 73 nodes with 1 NIC(s) each need 73 host ports, the dragonfly has 72"});
  EXPECT_EQ(load_errors(hosts_yaml(9, "type: dragonfly, p: 2, groups: 10")),
            std::vector<std::string>{"cluster.fabric.groups: 4 routers of 2 global links reach 9 groups at most, got 10"});
}

}  // namespace
}  // namespace weft::net::test
