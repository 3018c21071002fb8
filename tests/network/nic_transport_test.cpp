// NIC transports: how a cluster names them, and what their messages cost.
#include "sim/network/nic_transport.h"

#include <gtest/gtest.h>

#include "sim/network/builtin.h"
#include "tests/network/cluster_support.h"

namespace weft::net {
namespace {

using namespace literals;
using test::load;
using test::load_errors;

std::string two_nodes(std::string_view nic, std::string_view link = "type: ethernet, rate: 400 Gb/s") {
  return fmt::format("{{nodes: 2, node: {{type: dgx_h100}}, {} fabric: {{type: single_switch, link: {{{}}}}}}}", nic, link);
}

NicCosts costs_in(const std::string& yaml) {
  const Cluster cluster = load(yaml);
  return nic_costs(cluster.topology, cluster.topology.endpoints().front(), cluster.profile);
}

Duration ll_of(std::string_view name) {
  return find_nic_transport(name)->costs(Profile::defaults(network_param_groups())).ll_latency;
}

// A link from a NIC of the first node to the fabric.
double efficiency_in(const std::string& yaml) {
  const Cluster cluster = load(yaml);
  return cluster.topology.spec(cluster.topology.uplinks(*cluster.topology.find("n0.nic0")).front()).efficiency;
}

TEST(NicTransportTest, AnUnknownNameIsAnErrorWithTheNearestOne) {
  std::vector<std::string> notes;
  EXPECT_EQ(load_errors(two_nodes("nic: {transport: tcpxx},"), &notes),
            std::vector<std::string>{"cluster.nic.transport: unknown NIC transport 'tcpxx'"});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes.front().starts_with("did you mean 'tcpx'?")) << notes.front();
}

TEST(NicTransportTest, TheTypeOfLinksDecidesWhereTheClusterStatesNone) {
  EXPECT_EQ(costs_in(two_nodes("")).ll_latency, ll_of("roce"));
  EXPECT_EQ(costs_in(two_nodes("", "type: infiniband, rate: ndr")).ll_latency, ll_of("ib"));
  EXPECT_EQ(costs_in(two_nodes("nic: {transport: efa},")).ll_latency, ll_of("efa"));
  EXPECT_NE(ll_of("ib"), ll_of("roce"));
}

TEST(NicTransportTest, ItsNumbersAreParametersOfTheProfile) {
  const std::string profile =
      "profile: {kind: profile, name: test, parameters: {network.nic.tcpxo.ll_latency: {value: 77 us, source: assumed}}},";
  EXPECT_EQ(costs_in(two_nodes("nic: {transport: tcpxo}, " + profile)).ll_latency, 77_us);
}

TEST(NicTransportTest, ItsShareOfTheRateIsALinksWhereTheLinkStatesNone) {
  const std::string profile =
      "profile: {kind: profile, name: test, parameters: {network.nic.efa.rate_share: {value: 0.5, source: assumed}}},";
  const std::string efa = "nic: {transport: efa}, ";
  EXPECT_DOUBLE_EQ(efficiency_in(two_nodes(efa + profile)), efficiency_in(two_nodes(efa)) / 2);
  EXPECT_DOUBLE_EQ(efficiency_in(two_nodes(efa + profile, "type: ethernet, rate: 400 Gb/s, efficiency: 0.9")), 0.9);
}

TEST(NicTransportTest, OneThatNoMeasurementCalibratesIsUsedWithAWarning) {
  const auto warnings = [](const std::string& name) {
    Diagnostics diagnostics;
    static_cast<void>(load_cluster(test::cluster_node(two_nodes("nic: {transport: " + name + "},")), {}, diagnostics));
    return diagnostics.warnings().size();
  };
  EXPECT_EQ(warnings("sockets"), 1U);
  EXPECT_EQ(warnings("efa"), 0U);
}

TEST(NicTransportTest, NcclLearnsOfSpeedAndGpuDirectOfTheNics) {
  const auto label = [](const std::string& nic, std::string_view key) {
    const Cluster cluster = load(two_nodes(nic));
    return test::label(cluster.topology, *cluster.topology.find("n1.nic7"), key);
  };
  EXPECT_EQ(label("", "speed"), "400 Gb/s");
  EXPECT_EQ(label("nic: {transport: tcpxo, speed: 200 Gb/s},", "speed"), "200 Gb/s");
  EXPECT_EQ(label("nic: {transport: efa},", "gdr"), "true");
  EXPECT_EQ(label("nic: {transport: sockets},", "gdr"), "false");
  EXPECT_EQ(load_errors("{nodes: 2, node: {type: host}, nic: {transport: ib}, fabric: {type: single_switch, link: {type: "
                        "ethernet, rate: 10 Gb/s}}}")
                .size(),
            1U)
      << "no NIC to carry anything";
}

}  // namespace
}  // namespace weft::net
