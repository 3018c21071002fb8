#include <gtest/gtest.h>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

TEST(CustomFabricTest, ListedSwitchesAndLinksAreTheFabric) {
  const Topology t = load(R"(
nodes: 4
node: {type: host}
fabric:
  type: custom
  devices: [{name: left, latency: 50 ns}, {name: right}]
  links:
    - {between: [h0..1, left], type: ethernet, rate: 100 Gb/s}
    - {between: [h2..3, right], type: ethernet, rate: 25 Gb/s}
    - {between: [left, right], type: ethernet, rate: 400 Gb/s, count: 2}
)")
                         .topology;
  EXPECT_EQ(t.link_count(), 2U * 6);
  EXPECT_EQ(t.spec(t.out_links(*t.find("h3"))[0]).rate.gbps(), 25);
  EXPECT_EQ(t.forwarding(*t.find("left")).latency, Duration::from_ns(50));
  EXPECT_EQ(t.forwarding(*t.find("right")).latency, Duration::from_ns(600));  // Ethernet's
}

TEST(CustomFabricTest, NicsAreNamedByNode) {
  const Topology t = load(shipped_node("dgx_h100")
                              .with_override("nodes", "2", "test")
                              .with_override("fabric", "null", "test")
                              .with_override("fabric",
                                             "{type: custom, devices: [{name: s0..7}], links: [{between: [n0.nic0..7, s0..7], "
                                             "pairing: zip, type: infiniband, rate: ndr}, {between: [n1.nic0..7, s0..7], "
                                             "pairing: zip, type: infiniband, rate: ndr}]}",
                                             "test"))
                         .topology;
  EXPECT_EQ(cable_counts(t), (Counts{{"nic-s", 16}}));
}

TEST(CustomFabricTest, PortsAndNamesAreChecked) {
  const std::string head = "nodes: 9\nnode: {type: host}\nfabric:\n  type: custom\n  devices: [{name: leaf3, ports: 8}]\n";
  EXPECT_EQ(load_errors(head + "  links: [{between: [h0..8, leaf3], type: ethernet, rate: 100 Gb/s}]"),
            std::vector<std::string>{"cluster.fabric.links[0] joins port 8 of 'leaf3', which has 8 ports (0 to 7)"});
  std::vector<std::string> notes;
  EXPECT_EQ(load_errors(head + "  links: [{between: [h0..7, laef3], type: ethernet, rate: 100 Gb/s}]", &notes),
            std::vector<std::string>{"cluster.fabric.links[0].between[1]: unknown device 'laef3'"});
  EXPECT_EQ(notes.at(0), "did you mean 'leaf3'? devices here: h0, leaf3");
  EXPECT_EQ(load_errors(head + "  links: [{between: [h9, leaf3], type: ethernet, rate: 100 Gb/s}]"),
            std::vector<std::string>{"cluster.fabric.links[0].between[0]: unknown device 'h9'"});
}

TEST(CustomFabricTest, HostsLeftOutAreDisconnected) {
  EXPECT_EQ(load_errors("nodes: 4\nnode: {type: host}\nfabric:\n  type: custom\n  devices: [{name: s0}]\n"
                        "  links: [{between: [h0..1, s0], type: ethernet, rate: 100 Gb/s}]"),
            std::vector<std::string>{"cluster: disconnected GPUs: no path from h0 to h2, h3"});
}

}  // namespace
}  // namespace weft::net::test
