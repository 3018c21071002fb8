#include "sim/scenario/topology_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/network/cluster.h"
#include "sim/output/topology_json.h"

namespace weft::output {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

net::Cluster cluster(const std::string& yaml) {
  Diagnostics diagnostics;
  return net::load_cluster(ConfigNode::parse(yaml, "test.yaml", "cluster"), {}, diagnostics);
}

// Two GPUs behind two NVSwitches (2 + 1 links to each), a NIC below the same PCIe switch, hosts on two leaves under two spines.
std::string small_cluster(const std::string& routing) {
  return R"(
nodes: 4
node:
  devices:
    - {name: gpu0..1, kind: gpu, sm: 90}
    - {name: nvswitch0..1, kind: nvswitch}
    - {name: pcie0, kind: pcie_switch}
    - {name: cpu0, kind: cpu}
    - {name: nic0, kind: nic, speed: 100 Gb/s}
  links:
    - {between: [gpu0..1, nvswitch0], type: nvlink4, width: 2}
    - {between: [gpu0..1, nvswitch1], type: nvlink4, width: 1}
    - {between: [[gpu0..1, nic0], pcie0], type: pcie5, lanes: 16}
    - {between: [pcie0, cpu0], type: pcie5, lanes: 16}
fabric:
  type: leaf_spine
  leaf_ports: 4
  spines: 2
  hosts_per_leaf: 2
  link: {type: infiniband, rate: 100 Gb/s, latency: 100 ns}
  routing: )" +
         routing + "\n";
}

TEST(TopologySummaryTest, CountsWhatTheFileSays) {
  const net::Cluster c = cluster(small_cluster("spray"));
  const scenario::TopologySummary summary = scenario::summarize(c.topology);
  EXPECT_EQ(summary.endpoints, 8);
  EXPECT_EQ(summary.all_devices, 4 * 7 + 2 + 2);
  // Per host 4 NVLinks bundles, 3 PCIe links below the switch and one above; 4 host cables; 2 leaves x 2 spines.
  EXPECT_EQ(summary.all_cables, 4 * (4 + 3 + 1) + 4 + 4);
  ASSERT_THAT(summary.hosts, SizeIs(1));
  EXPECT_EQ(summary.hosts[0].second, 4);
  ASSERT_THAT(summary.switches, SizeIs(2));
  EXPECT_EQ(summary.switches[0].name, "leaf");
  EXPECT_EQ(summary.switches[0].switches, 2);
  EXPECT_EQ(summary.switches[0].ports, 4);
  EXPECT_EQ(summary.switches[1].name, "spine");
  EXPECT_EQ(summary.switches[1].ports, 2);
  EXPECT_EQ(summary.host_ports, 1);
  EXPECT_EQ(summary.host_bandwidth, 100_Gbps);
  std::int64_t cables = 0;
  for (const scenario::CableCount& count : summary.cables) cables += count.cables;
  EXPECT_EQ(cables, summary.all_cables);
}

TEST(TopologySummaryTest, MatrixPrintsBondedLinksAndPcieClasses) {
  const net::Cluster c = cluster(small_cluster("ecmp"));
  const net::Router router{c.topology, net::make_routing_policy("ecmp"), 1};
  const scenario::PathMatrix matrix = scenario::path_matrix(router, 0);
  EXPECT_THAT(matrix.names, ElementsAre("gpu0", "gpu1", "nic0"));
  EXPECT_THAT(matrix.cells[0], ElementsAre("X", "NV3", "PIX"));
  EXPECT_THAT(matrix.cells[2], ElementsAre("PIX", "PIX", "X"));
}

TEST(TopologySummaryTest, RouteShowsAllEqualCostLinksAndTheirShares) {
  const net::Cluster c = cluster(small_cluster("spray"));
  const scenario::RouteView view = scenario::view_route(c.topology, "spray", 1, scenario::find_endpoint(c.topology, "n0.gpu0"),
                                                        scenario::find_endpoint(c.topology, "n3.gpu1"));
  EXPECT_EQ(view.path_class, net::PathClass::kNet);
  // gpu, PCIe switch, NIC, leaf, 2 spines, leaf, NIC, PCIe switch, gpu.
  ASSERT_THAT(view.hops, SizeIs(8));
  ASSERT_THAT(view.hops[3], SizeIs(2));
  ASSERT_THAT(view.hops[4], SizeIs(2));
  for (const scenario::RouteLink& link : view.hops[3]) {
    EXPECT_DOUBLE_EQ(link.weight, 0.5);
    EXPECT_DOUBLE_EQ(link.usage, 0.5);
  }
  for (const scenario::RouteLink& link : view.hops[4]) {
    EXPECT_DOUBLE_EQ(link.weight, 1.0);
    EXPECT_DOUBLE_EQ(link.usage, 0.5);
  }
  // 100 Gb/s of InfiniBand with 26 B of headers per 4096: 12.5 GB/s x 4096/4122; the uplink comes first.
  EXPECT_NEAR(view.bytes_per_ps, 0.0125 * 4096 / 4122, 1e-12);
  EXPECT_EQ(c.topology.name(view.bottleneck), "n0.nic0->leaf0");
}

TEST(TopologySummaryTest, RouteUnderEcmpTakesOneOfTheEqualCostLinks) {
  const net::Cluster c = cluster(small_cluster("ecmp"));
  const scenario::RouteView view = scenario::view_route(c.topology, "ecmp", 1, scenario::find_endpoint(c.topology, "0"),
                                                        scenario::find_endpoint(c.topology, "7"));
  ASSERT_THAT(view.hops[3], SizeIs(2));
  EXPECT_DOUBLE_EQ(view.hops[3][0].weight + view.hops[3][1].weight, 1.0);
  EXPECT_DOUBLE_EQ(view.hops[3][0].usage + view.hops[3][1].usage, 1.0);
  EXPECT_TRUE(view.hops[3][0].weight == 0.0 || view.hops[3][1].weight == 0.0);
}

TEST(TopologySummaryTest, RouteInsideAHostIsSpreadInProportionToWidth) {
  const net::Cluster c = cluster(small_cluster("ecmp"));
  const scenario::RouteView view = scenario::view_route(c.topology, "ecmp", 1, scenario::find_endpoint(c.topology, "n0.gpu0"),
                                                        scenario::find_endpoint(c.topology, "n0.gpu1"));
  EXPECT_EQ(view.path_class, net::PathClass::kNvl);
  ASSERT_THAT(view.hops, SizeIs(2));
  ASSERT_THAT(view.hops[0], SizeIs(2));
  EXPECT_DOUBLE_EQ(view.hops[0][0].weight, 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(view.hops[0][1].weight, 1.0 / 3.0);
}

TEST(TopologySummaryTest, UnknownEndpointsAreAnsweredWithTheNearest) {
  const net::Cluster c = cluster(small_cluster("ecmp"));
  try {
    static_cast<void>(scenario::find_endpoint(c.topology, "n0.gpu7"));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no endpoint 'n0.gpu7'"));
    EXPECT_THAT(error.what(), HasSubstr("endpoints here: n0.gpu0 to n3.gpu1, or their numbers 0 to 7"));
  }
  EXPECT_THROW(static_cast<void>(scenario::find_endpoint(c.topology, "leaf0")), ConfigError);
  EXPECT_THROW(static_cast<void>(scenario::find_endpoint(c.topology, "8")), ConfigError);
}

TEST(TopologyDigestTest, DiffersWhenALinkDoes) {
  const std::string text = small_cluster("ecmp");
  std::string slower = text;
  slower.replace(slower.find("100 Gb/s, latency"), 3, "200");
  EXPECT_EQ(topology_digest(cluster(text).topology), topology_digest(cluster(text).topology));
  EXPECT_NE(topology_digest(cluster(text).topology), topology_digest(cluster(slower).topology));
}

}  // namespace
}  // namespace weft::output
