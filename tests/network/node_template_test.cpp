#include "sim/network/node_template.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/network/builtin.h"

namespace weft::net {
namespace {

using namespace literals;

struct Read {
  HostTemplate host;
  Topology topology;  // one host of it; of a broken template, an empty one
  std::vector<std::string> errors;
  std::vector<std::string> notes;
};

Read read(const std::string& yaml) {
  const Profile profile = Profile::defaults(network_param_groups());
  TopologyBuilder builder;
  Diagnostics diagnostics;
  HostTemplate host = read_node_template(ConfigNode::parse(yaml, "node.yaml", "node"), "test", profile, builder, diagnostics);
  std::vector<std::string> errors;
  std::vector<std::string> notes;
  for (const Diagnostic& error : diagnostics.errors()) {
    errors.push_back(error.message);
    notes.push_back(error.note);
  }
  if (errors.empty()) builder.add_host(builder.add_template(host));
  return {host, std::move(builder).freeze(), errors, notes};
}

// "gpu0-sw0" for each cable, in order.
std::vector<std::string> cables(const Read& read) {
  std::vector<std::string> found;
  for (const TemplateLink& link : read.host.links) {
    if (read.host.links[link.twin].twin > link.twin) continue;
    found.push_back(read.host.devices[link.from].name + "-" + read.host.devices[link.to].name);
  }
  return found;
}

using Names = std::vector<std::string>;

TEST(NodeTemplateTest, DevicesStandInFileOrderWithTheirLabels) {
  const Read node = read(R"(
devices:
  - {name: gpu0..1, kind: gpu, sm: 90, bus_id: ["0000:01:00.0", "0000:02:00.0"]}
  - {name: cpu0, kind: cpu, arch: x86_64, vendor: GenuineIntel, family: 6, model: 143}
links: [{between: [gpu0..1, cpu0], type: pcie5, lanes: 16}]
)");
  ASSERT_TRUE(node.errors.empty()) << node.errors[0];
  ASSERT_EQ(node.host.devices.size(), 3U);
  EXPECT_EQ(node.host.devices[1].name, "gpu1");
  EXPECT_EQ(node.host.devices[1].labels, (Labels{{"sm", "90"}, {"bus_id", "0000:02:00.0"}}));
  EXPECT_EQ(node.host.devices[2].kind, DeviceKind::kCpu);
  EXPECT_EQ(node.host.of_kind(DeviceKind::kGpu), (std::vector<std::uint32_t>{0, 1}));
}

TEST(NodeTemplateTest, PairingsMakeTheCablesTheyName) {
  const auto of = [](const std::string& link) {
    return cables(read("devices: [{name: g0..3, kind: gpu}, {name: s0..3, kind: pcie_switch}]\nlinks: [" + link +
                       ", {between: [g0..3], type: nvlink4, pairing: ring}]"));
  };
  const Names ring{"g0-g1", "g1-g2", "g2-g3", "g3-g0"};
  const auto with_ring = [&](Names names) {
    names.insert(names.end(), ring.begin(), ring.end());
    return names;
  };
  EXPECT_EQ(of("{between: [g0..1, s0..1], type: pcie5}"), with_ring({"g0-s0", "g0-s1", "g1-s0", "g1-s1"}));
  EXPECT_EQ(of("{between: [g0..1, s0..1], type: pcie5, pairing: zip}"), with_ring({"g0-s0", "g1-s1"}));
  EXPECT_EQ(of("{between: [g0..3, s0..1], type: pcie5, pairing: block}"), with_ring({"g0-s0", "g1-s0", "g2-s1", "g3-s1"}));
  EXPECT_EQ(of("{between: [g0, s0..1], type: pcie5, pairing: block}"), with_ring({"g0-s0", "g0-s1"}));
  EXPECT_EQ(of("{between: [[g0, g2], s0], type: pcie5}"), with_ring({"g0-s0", "g2-s0"}));
  EXPECT_EQ(of("{between: [g0..2], type: nvlink4}"), with_ring({"g0-g1", "g0-g2", "g1-g2"}));
  EXPECT_EQ(of("{between: [g0..2], type: nvlink4, pairing: chain}"), with_ring({"g0-g1", "g1-g2"}));
  EXPECT_EQ(of("{between: [g0..1], type: nvlink4, pairing: ring}"), with_ring({"g0-g1"}));
  EXPECT_EQ(of("{between: [g0, s0], type: pcie5, count: 2}"), with_ring({"g0-s0", "g0-s0"}));
}

TEST(NodeTemplateTest, SwitchesForwardAsFastAsTheirLinks) {
  const Read node = read(R"(
devices:
  - {name: gpu0, kind: gpu}
  - {name: nvswitch0, kind: nvswitch}
  - {name: pcie0, kind: pcie_switch}
  - {name: slow0, kind: pcie_switch, latency: 150 ns, forwarding: store_and_forward}
  - {name: cpu0, kind: cpu}
links:
  - {between: [gpu0, nvswitch0], type: nvlink4}
  - {between: [gpu0, [pcie0, slow0]], type: pcie5}
  - {between: [pcie0, cpu0], type: pcie5}
)");
  ASSERT_TRUE(node.errors.empty()) << node.errors[0];
  EXPECT_EQ(node.host.devices[0].forwarding.latency, 0_ns);
  EXPECT_EQ(node.host.devices[1].forwarding.latency, 100_ns);
  EXPECT_EQ(node.host.devices[2].forwarding.latency, 115_ns);
  EXPECT_EQ(node.host.devices[3].forwarding.latency, 150_ns);
  EXPECT_TRUE(node.host.devices[3].forwarding.store_and_forward);
  EXPECT_EQ(node.host.devices[4].forwarding.latency, 300_ns);
}

TEST(NodeTemplateTest, UnknownDeviceIsAnsweredWithTheNearest) {
  const Read node = read("devices: [{name: gpu0..1, kind: gpu}]\nlinks: [{between: [gpu0, gup1], type: nvlink4}]");
  ASSERT_EQ(node.errors.size(), 1U);
  EXPECT_EQ(node.errors[0], "node.links[0].between[1]: unknown device 'gup1'");
  EXPECT_EQ(node.notes[0], "did you mean 'gpu1'? devices here: gpu0, gpu1");
}

TEST(NodeTemplateTest, BrokenTemplatesSayWhatIsWrong) {
  struct Case {
    const char* yaml;
    const char* message;
  };
  for (const Case& c : {
           Case{"devices: [{name: gpu0..1, kind: gpu}, {name: gpu1, kind: gpu}]\nlinks: [{between: [gpu0..1], type: nvlink4}]",
                "node.devices[1].name: device 'gpu1' is listed twice"},
           Case{"devices: [{name: gpu0..1, kind: gpu}]\nlinks: [{between: [gpu0, gpu0], type: nvlink4}]",
                "node.links[0].between: joins 'gpu0' to itself"},
           Case{"devices: [{name: gpu0..3, kind: gpu}]\nlinks: [{between: [gpu0..1], type: nvlink4}]",
                "node: disconnected GPUs: no link joins gpu2, gpu3"},
           Case{"devices: [{name: gpu0..8, kind: gpu}, {name: sw0, kind: pcie_switch, ports: 8}]\n"
                "links: [{between: [gpu0..8, sw0], type: pcie5}]",
                "node.links[0] joins port 8 of 'sw0', which has 8 ports (0 to 7)"},
           Case{"devices: [{name: gpu0..1, kind: gpu}, {name: sw0, kind: nvswitch, ports: 35}]\n"
                "links: [{between: [gpu0..1, sw0], type: nvlink4, width: 18}]",
                "node.links[0] joins port 35 of 'sw0', which has 35 ports (0 to 34)"},
           Case{"devices: [{name: gpu0..1, kind: gpu}, {name: sw0..2, kind: nvswitch}]\n"
                "links: [{between: [gpu0..1, sw0..2], type: nvlink4, pairing: zip}]",
                "node.links[0].between: pairing zip needs as many devices on both sides, got 2 and 3"},
           Case{"devices: [{name: gpu0..1, kind: gpu, numa: [0]}]\nlinks: [{between: [gpu0..1], type: nvlink4}]",
                "node.devices[0].numa: 1 values for 2 devices"},
           Case{"devices: [{name: gpu0..1, kind: gpu, sm: ninety}]\nlinks: [{between: [gpu0..1], type: nvlink4}]",
                "node.devices[0].sm: expected an integer, got 'ninety'"},
           Case{"devices: [{name: gpu0..1000000000, kind: gpu}]",
                "node.devices[0].name: 'gpu0..1000000000' names more than 100000 "
                "devices"},
           Case{"devices: [{name: n0.gpu, kind: gpu}]", "node.devices[0].name: 'n0.gpu' is not a device name"},
           Case{"devices: [{name: cpu0, kind: cpu}]", "node: has neither GPUs nor a host: nothing could hold a rank"},
       }) {
    const Read node = read(c.yaml);
    ASSERT_EQ(node.errors.size(), 1U) << c.message;
    EXPECT_EQ(node.errors[0], c.message);
  }
}

TEST(NodeTemplateTest, PortsOfASwitchMayAllBeUsed) {
  EXPECT_TRUE(read("devices: [{name: gpu0..1, kind: gpu}, {name: sw0, kind: nvswitch, ports: 36}]\n"
                   "links: [{between: [gpu0..1, sw0], type: nvlink4, width: 18}]")
                  .errors.empty());
}

TEST(NodeTemplateTest, OneGpuNeedsNoLink) { EXPECT_TRUE(read("devices: [{name: gpu0, kind: gpu}]").errors.empty()); }

}  // namespace
}  // namespace weft::net
