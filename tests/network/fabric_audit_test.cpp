#include "sim/network/fabric_audit.h"

#include <gtest/gtest.h>

#include "sim/network/buffer_cycles.h"
#include "sim/network/builtin.h"
#include "sim/network/max_flow.h"
#include "sim/network/router.h"
#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

bool closes_cycle(const Topology& topology, std::string_view routing = "spray") {
  return !find_buffer_cycle(Router{topology, make_routing_policy(routing), 1}).empty();
}

TEST(FabricAuditTest, ThreeHostsDownAndOneCableUpAreThreeToOne) {
  const FabricAudit audit = audit_fabric(hosts_on(9, "type: leaf_spine, leaf_ports: 4, oversubscription: 3"));
  ASSERT_EQ(audit.tiers.size(), 2U);
  EXPECT_EQ(audit.tiers[0].switches, 3);
  EXPECT_DOUBLE_EQ(audit.tiers[0].oversubscription(), 3);
  EXPECT_EQ(audit.tiers[1].up, Bandwidth{});
  EXPECT_EQ(audit.half, 4);
  // Leaf 0 sends one cable up, and host 3 sends one cable's worth to its neighbours below leaf 1.
  EXPECT_DOUBLE_EQ(audit.bisection.gbps() / (audit.half_bandwidth.gbps() / 4), 2);
}

TEST(FabricAuditTest, AFullTreeCarriesHalfOfItsHosts) {
  const FabricAudit audit = audit_fabric(hosts_on(16, "type: fat_tree, k: 4"));
  ASSERT_EQ(audit.tiers.size(), 3U);
  EXPECT_DOUBLE_EQ(audit.tiers[0].oversubscription(), 1);
  EXPECT_DOUBLE_EQ(audit.tiers[1].oversubscription(), 1);
  EXPECT_EQ(audit.bisection, audit.half_bandwidth);
}

TEST(FabricAuditTest, ASquareTorusOfSideKIsCutByTwoKCables) {
  // 64 hosts: the halves meet along two lines of 8 cables, where 32 hosts could send.
  const FabricAudit audit = audit_fabric(hosts_on(64, "type: torus, dims: [8, 8]"));
  EXPECT_DOUBLE_EQ(audit.bisection.gbps() / audit.half_bandwidth.gbps(), 2.0 * 8 / 32);
}

TEST(FabricAuditTest, SinglePointsOfFailureAreWhatNoOtherWayGoesRound) {
  // Each of four leaves cuts off its two hosts, each of eight cables one; either spine may go.
  const FabricAudit audit = audit_fabric(hosts_on(8, "type: leaf_spine, leaf_ports: 4"));
  ASSERT_EQ(audit.single_points.size(), 2U);
  EXPECT_EQ(audit.single_points[0].name, "cable");
  EXPECT_EQ(audit.single_points[0].count, 8);
  EXPECT_EQ(audit.single_points[0].hosts, 1);
  EXPECT_EQ(audit.single_points[1].name, "leaf");
  EXPECT_EQ(audit.single_points[1].count, 4);
  EXPECT_EQ(audit.single_points[1].hosts, 2);
  // One spine and one cable to it: the spine cuts off all but the hosts of one leaf, and so does each leaf's cable its own.
  const FabricAudit narrow = audit_fabric(hosts_on(9, "type: leaf_spine, leaf_ports: 4, oversubscription: 3"));
  ASSERT_EQ(narrow.single_points.size(), 3U);
  EXPECT_EQ(narrow.single_points[0].count, 9 + 3);
  EXPECT_EQ(narrow.single_points[0].hosts, 3);
  EXPECT_EQ(narrow.single_points[2].name, "spine");
  EXPECT_EQ(narrow.single_points[2].hosts, 6);
}

TEST(BufferCyclesTest, TreesCloseNone) {
  EXPECT_FALSE(closes_cycle(hosts_on(16, "type: fat_tree, k: 4")));
  EXPECT_FALSE(closes_cycle(hosts_on(8, "type: leaf_spine, leaf_ports: 4")));
}

TEST(BufferCyclesTest, DetoursDownAndUpAgainCloseOne) {
  EXPECT_TRUE(closes_cycle(hosts_on(8, "type: leaf_spine, leaf_ports: 4"), "valiant"));
}

TEST(BufferCyclesTest, ARingClosesOneFromFourSwitchesOn) {
  // On three switches every minimal way is one trunk long.
  EXPECT_FALSE(closes_cycle(hosts_on(3, "type: torus, dims: [3]")));
  const Topology ring = hosts_on(4, "type: torus, dims: [4]");
  EXPECT_TRUE(closes_cycle(ring));
  // One flow of two trunks waits for no circle.
  const Router router{ring, make_routing_policy("spray"), 1};
  const PathEnds one{ring.endpoints()[0], ring.endpoints()[2], {}};
  EXPECT_TRUE(find_buffer_cycle(router, std::span{&one, 1}).empty());
}

TEST(BufferCyclesTest, ADragonflyClosesOneWithoutVirtualChannels) {
  EXPECT_TRUE(closes_cycle(hosts_on(72, "type: dragonfly, p: 2")));
}

TEST(MaxFlowTest, AWayMayBeTakenBack) {
  // The classic: s-a-b-t is found first where levels allow it, and the best is both outer ways.
  MaxFlow flow{4};
  flow.add(0, 1, 3, 0);
  flow.add(0, 2, 2, 0);
  flow.add(1, 2, 5, 0);
  flow.add(1, 3, 2, 0);
  flow.add(2, 3, 3, 0);
  EXPECT_EQ(flow.between(0, 3), 5);
}

}  // namespace
}  // namespace weft::net::test
