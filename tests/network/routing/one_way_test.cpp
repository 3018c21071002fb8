// Links that carry one way only: a ring of four switches, a host on each.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/fabric_audit.h"
#include "sim/network/router.h"
#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using namespace literals;

// Trunks from s0 to s1, from there to s2, and so on; the last one, back to s0, only where the ring is closed.
Topology one_way_ring(bool closed) {
  TopologyBuilder builder;
  testing::add_bare_hosts(builder, 4);
  const std::uint32_t spec = builder.add_spec(testing::plain_link(100_Gbps, 1_us));
  std::array<DeviceId, 4> s;
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = builder.add_switch(testing::plain_switch("s" + std::to_string(i)));
  for (std::uint32_t h = 0; h < 4; ++h) builder.add_cable(builder.device_of(h, 0), s[h], spec);
  for (std::size_t i = 0; i < (closed ? 4U : 3U); ++i) builder.add_cable(s[i], s[(i + 1) % 4], spec, true);
  return std::move(builder).freeze();
}

std::size_t links_between(const Router& router, const std::string& from, const std::string& to) {
  const Topology& topology = router.topology();
  const auto way = router.find_route(*topology.find(from), *topology.find(to), {1});
  return way ? way->usages.size() : 0;
}

TEST(OneWayLinks, RoutesGoRoundTheRing) {
  const Topology topology = one_way_ring(true);
  for (const char* policy : {"ecmp", "spray", "static"}) {
    const Router router{topology, make_routing_policy(policy), 1};
    EXPECT_EQ(links_between(router, "h0", "h1"), 3U) << policy;
    EXPECT_EQ(links_between(router, "h1", "h0"), 2U + 3U) << policy;
    EXPECT_EQ(links_between(router, "h2", "h1"), 2U + 3U) << policy;
  }
}

TEST(OneWayLinks, AnOpenRingHasPairsWithoutARoute) {
  const Topology topology = one_way_ring(false);
  Router router{topology, make_routing_policy("ecmp"), 1};
  EXPECT_EQ(links_between(router, "h0", "h3"), 2U + 3U);
  EXPECT_EQ(links_between(router, "h1", "h0"), 0U);
  EXPECT_EQ(links_between(router, "h3", "h2"), 0U);
}

TEST(OneWayLinks, AFailureAndARepairOpenNoWayBack) {
  const Topology topology = one_way_ring(true);
  Router router{topology, make_routing_policy("ecmp"), 1};
  LinkId trunk;
  for (const LinkId link : topology.out_links(*topology.find("s1"))) {
    if (topology.name(link) == "s1->s2") trunk = link;
  }
  for (const LinkId link : {trunk, topology.link(trunk).twin}) router.set_link_state(link, false);
  EXPECT_EQ(links_between(router, "h1", "h0"), 0U);
  EXPECT_EQ(links_between(router, "h2", "h1"), 2U + 3U) << "does not need that trunk";
  for (const LinkId link : {trunk, topology.link(trunk).twin}) router.set_link_state(link, true);
  EXPECT_EQ(links_between(router, "h1", "h0"), 2U + 3U);
}

TEST(OneWayLinks, OnlyTheirDirectionCountsForTheBisection) {
  // From h0 and h1 to h2 and h3: the trunk s1->s2 alone, as s3->s0 goes the other way.
  EXPECT_EQ(audit_fabric(one_way_ring(true)).bisection, 100_Gbps);
}

}  // namespace
}  // namespace weft::net
