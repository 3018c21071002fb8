#include "sim/planning/cost/bill_of_materials.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/network/cluster.h"
#include "sim/planning/cost/floor_plan.h"

namespace weft::plan {
namespace {

BillOfMaterials bill_of(const std::string& yaml) {
  Diagnostics diagnostics;
  const net::Cluster cluster = net::load_cluster(ConfigNode::parse(yaml, "test.yaml", "cluster"), {}, diagnostics);
  return bill_of_materials(cluster.topology);
}

// NVIDIA's published counts of DGX SuperPODs, 64-port 400G switches, 8 NICs a node (models/network §5.2); as many cables
// between every two tiers as there are NICs.
struct SuperPod {
  int nodes;
  int leaves;
  int spines;
  int cores;
};

class SuperPodTest : public ::testing::TestWithParam<SuperPod> {};

TEST_P(SuperPodTest, HasThePublishedSwitchesAndCables) {
  const SuperPod& published = GetParam();
  const BillOfMaterials bill = bill_of("nodes: " + std::to_string(published.nodes) + R"(
node: {type: dgx_h100}
fabric: {type: rail_optimized_fat_tree, leaf_ports: 64, link: {type: infiniband, rate: 400 Gb/s, latency: 150 ns}}
)");
  EXPECT_EQ(bill.switches_of("leaf"), published.leaves);
  EXPECT_EQ(bill.switches_of("spine"), published.spines);
  EXPECT_EQ(bill.switches_of("core"), published.cores);
  EXPECT_EQ(bill.switch_count(), published.leaves + published.spines + published.cores);
  const int nics = 8 * published.nodes;
  EXPECT_EQ(bill.cables_of("node-leaf"), nics);
  EXPECT_EQ(bill.cables_of("leaf-spine"), nics);
  EXPECT_EQ(bill.cables_of("spine-core"), published.cores > 0 ? nics : 0);
  EXPECT_EQ(bill.cable_count(), nics * (published.cores > 0 ? 3 : 2));
  EXPECT_EQ(bill.server_count(), published.nodes);
  EXPECT_EQ(bill.gpus(), nics);
  EXPECT_EQ(bill.nics(), nics);
  EXPECT_EQ(bill.nvswitches(), 4 * published.nodes);
}

INSTANTIATE_TEST_SUITE_P(Published, SuperPodTest,
                         ::testing::Values(SuperPod{64, 16, 8, 0}, SuperPod{128, 32, 16, 0}, SuperPod{256, 64, 32, 0},
                                           SuperPod{512, 128, 128, 64}, SuperPod{1024, 256, 256, 128},
                                           SuperPod{2048, 512, 512, 256}),
                         [](const ::testing::TestParamInfo<SuperPod>& pod) {
                           return std::to_string(pod.param.nodes) + "Nodes";
                         });

class FatTreeTest : public ::testing::TestWithParam<int> {};

// k-ary: k^2/2 edges and as many aggregation switches, k^2/4 cores, k^3/4 hosts, 5k^2/4 switches (models/network §5.2); no
// tier is oversubscribed, so each has k^3/4 cables.
TEST_P(FatTreeTest, HasTheCountsOfItsFormula) {
  const int k = GetParam();
  const int hosts = k * k * k / 4;
  const BillOfMaterials bill =
      bill_of("nodes: " + std::to_string(hosts) + "\nnode: {type: host}\nfabric: {type: fat_tree, k: " + std::to_string(k) +
              ", link: {type: ethernet, rate: 400 Gb/s, latency: 1 us}}\n");
  EXPECT_EQ(bill.switches_of("leaf"), k * k / 2);
  EXPECT_EQ(bill.switches_of("spine"), k * k / 2);
  EXPECT_EQ(bill.switches_of("core"), k * k / 4);
  EXPECT_EQ(bill.switch_count(), 5 * k * k / 4);
  for (const char* tiers : {"node-leaf", "leaf-spine", "spine-core"}) EXPECT_EQ(bill.cables_of(tiers), hosts) << tiers;
  EXPECT_EQ(bill.server_count(), hosts);
  EXPECT_EQ(bill.gpus(), 0);
  for (const SwitchLine& line : bill.switches) {
    EXPECT_EQ(line.ports, k) << line.tier;
    EXPECT_EQ(line.ports_used, k * line.count) << line.tier;
  }
}

INSTANTIATE_TEST_SUITE_P(Formula, FatTreeTest, ::testing::Values(8, 16),
                         [](const ::testing::TestParamInfo<int>& tree) { return "k" + std::to_string(tree.param); });

TEST(BillOfMaterialsTest, CountsOneNodeWithoutAFabric) {
  const BillOfMaterials bill = bill_of("nodes: 1\nnode: {type: dgx_h100}\n");
  EXPECT_EQ(bill.gpus(), 8);
  EXPECT_EQ(bill.switch_count(), 0);
  EXPECT_EQ(bill.cable_count(), 0);
  EXPECT_EQ(bill.servers.front().gpu, "h100_sxm");
}

// 4 hosts on 2 leaves of 2, 2 spines: 4 host cables and 4 trunks.
TEST(FloorPlanTest, LongCablesTakeModulesAtBothEnds) {
  const BillOfMaterials bill = bill_of(R"(
nodes: 4
node: {type: host}
fabric: {type: leaf_spine, leaf_ports: 4, spines: 2, hosts_per_leaf: 2, link: {type: ethernet, rate: 400 Gb/s, latency: 1 us}}
)");
  FloorPlan plan;
  plan.node_metres = 3;
  plan.leaf_metres = 20;
  plan.copper_up_to_metres = 3;
  const Installation room = install(bill, plan);
  // Copper to the hosts; 4 trunks have 8 ports, two a module.
  ASSERT_EQ(room.modules.size(), 1U);
  EXPECT_TRUE(room.modules[0].at_switch);
  EXPECT_EQ(room.modules[0].count, 4);

  plan.node_metres = 3.5;  // now the hosts' cables are optical too: one module a NIC, and 4 ports more at the switches
  const Installation longer = install(bill, plan);
  ASSERT_EQ(longer.modules.size(), 2U);
  EXPECT_EQ(longer.modules[0].count, 4);
  EXPECT_FALSE(longer.modules[0].at_switch);
  EXPECT_EQ(longer.modules[1].count, 6);
}

TEST(FloorPlanTest, FillsRacksAndGivesAServerOfManyGpusItsOwn) {
  FloorPlan plan;
  plan.servers_per_rack = 4;
  const Installation hgx = install(
      bill_of("nodes: 5\nnode: {type: dgx_h100}\nfabric: {type: rail_optimized_fat_tree, link: {type: infiniband, rate: "
              "400 Gb/s}}\n"),
      plan);
  EXPECT_EQ(hgx.server_racks, 2);
  EXPECT_EQ(hgx.switch_racks, 1);
  const Installation nvl = install(bill_of("nodes: 1\nnode: {type: gb200_nvl72}\n"), plan);
  EXPECT_EQ(nvl.racks(), 1);
}

}  // namespace
}  // namespace weft::plan
