#include "sim/network/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sim/core/config/find_config.h"
#include "tests/network/cluster_support.h"
#include "tests/support/temp_folder.h"

namespace weft::net::test {
namespace {

using Errors = std::vector<std::string>;

TEST(ClusterTest, EveryShippedClusterLoadsAndIsOneConnectedWhole) {
  const std::vector<std::string> names = yaml_stems({WEFT_SOURCE_DIR "/configs/clusters"});
  for (const char* expected :
       {"dgx1_p100", "dgx1_v100", "dgx2", "dgx_a100", "dgx_b200", "dgx_h100", "dgx_h100_superpod", "dgx_h200", "fat_tree_k16",
        "fat_tree_k8", "gb200_nvl72", "gb300_nvl72", "h200x4", "mi300x", "pcie8_hpc", "pcie8_parallel", "pcie8_serial"}) {
    EXPECT_TRUE(std::ranges::binary_search(names, expected)) << expected;
  }
  for (const std::string& name : names) {
    const Cluster cluster = shipped(name);
    EXPECT_FALSE(cluster.topology.endpoints().empty()) << name;
    const std::vector<bool> reached = cluster.topology.reachable_from(DeviceId{0});
    EXPECT_TRUE(std::ranges::all_of(reached, [](bool r) { return r; })) << name;
  }
}

TEST(ClusterTest, EveryShippedBoxTakesMoreNodesByOneEdit) {
  for (const std::string& name : yaml_stems({WEFT_SOURCE_DIR "/configs/clusters"})) {
    if (name.starts_with("fat_tree") || name.starts_with("clos")) continue;  // their size is that of k, and of the links listed
    const Topology as_shipped = shipped(name).topology;
    const std::size_t one = as_shipped.endpoints().size() / as_shipped.host_count();
    const Cluster three = load(shipped_node(name).with_override("nodes", "3", "test"));
    EXPECT_EQ(three.topology.endpoints().size(), 3 * one) << name;
    EXPECT_FALSE(three.topology.fabric_switches().empty()) << name;
  }
}

TEST(ClusterTest, ShippedBoxesHaveTheirGpusAndNics) {
  struct Row {
    const char* name;
    std::size_t gpus;
    std::size_t nics;
    std::size_t nvswitches;
  };
  for (const Row& row : {Row{"h200x4", 4, 1, 1}, Row{"dgx1_p100", 8, 4, 0}, Row{"dgx1_v100", 8, 4, 0}, Row{"dgx2", 16, 8, 12},
                         Row{"dgx_a100", 8, 8, 6}, Row{"dgx_h100", 8, 8, 4}, Row{"dgx_h200", 8, 8, 4}, Row{"dgx_b200", 8, 8, 2},
                         Row{"mi300x", 8, 8, 0}, Row{"gb200_nvl72", 72, 72, 18}, Row{"gb300_nvl72", 72, 72, 18},
                         Row{"pcie8_serial", 8, 2, 0}, Row{"pcie8_parallel", 8, 2, 0}, Row{"pcie8_hpc", 8, 4, 0}}) {
    const Cluster cluster = shipped(row.name);
    const HostTemplate& host = cluster.topology.host_template(0);
    EXPECT_EQ(host.of_kind(DeviceKind::kGpu).size(), row.gpus) << row.name;
    EXPECT_EQ(host.of_kind(DeviceKind::kNic).size(), row.nics) << row.name;
    EXPECT_EQ(host.of_kind(DeviceKind::kNvSwitch).size(), row.nvswitches) << row.name;
  }
}

// GB/s of NVLink or Infinity Fabric per GPU and direction (models/network §1.1, §1.6).
TEST(ClusterTest, ShippedBoxesHaveTheirScaleUpBandwidth) {
  struct Row {
    const char* name;
    std::int64_t gigabytes_per_second;
  };
  for (const Row& row : {Row{"h200x4", 450}, Row{"dgx1_p100", 80}, Row{"dgx1_v100", 150}, Row{"dgx2", 150},
                         Row{"dgx_a100", 300}, Row{"dgx_h100", 450}, Row{"dgx_h200", 450}, Row{"dgx_b200", 900},
                         Row{"mi300x", 448}, Row{"gb200_nvl72", 900}, Row{"gb300_nvl72", 900}}) {
    const Topology t = shipped(row.name).topology;
    for (const DeviceId gpu : t.endpoints()) {
      Bandwidth sum;
      for (const LinkId link : t.out_links(gpu)) {
        const std::string& type = t.spec(link).type;
        if (type.starts_with("nvlink") || type == "infinity_fabric") sum = sum + t.spec(link).rate;
      }
      EXPECT_EQ(sum, Bandwidth::from_bytes_per_second(row.gigabytes_per_second * 1'000'000'000)) << row.name;
    }
  }
}

TEST(ClusterTest, MeasuredNodeIsWhatNcclDumped) {
  const Topology t = shipped("h200x4").topology;
  const char* const bus_ids[] = {"0000:00:06.0", "0000:00:07.0", "0000:00:08.0", "0000:00:09.0"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(label(t, t.endpoints()[i], "bus_id"), bus_ids[i]);
  EXPECT_EQ(label(t, *t.find("cpu0"), "numa"), "-1");
  EXPECT_EQ(label(t, *t.find("cpu0"), "model"), "207");
  EXPECT_EQ(label(t, *t.find("nic0"), "speed"), "10 Gb/s");
  for (const DeviceId gpu : t.endpoints()) {
    std::map<std::string, int> widths;
    for (const LinkId link : t.out_links(gpu)) widths[t.spec(link).type] = t.spec(link).width;
    EXPECT_EQ(widths, (std::map<std::string, int>{{"nvlink4", 18}, {"pcie5", 16}}));
  }
}

TEST(ClusterTest, ResolvedConfigurationLoadsTheSameAgain) {
  const Cluster first = load(shipped_node("dgx_h100").with_override("nodes", "3", "test"));
  const Cluster again = load(ConfigNode::parse(first.resolved.to_yaml(), "elsewhere.yaml", "cluster"));
  EXPECT_EQ(again.topology.device_count(), first.topology.device_count());
  EXPECT_EQ(again.topology.link_count(), first.topology.link_count());
  EXPECT_EQ(again.name, first.name);
  EXPECT_EQ(again.routing, "adaptive");
  EXPECT_EQ(again.resolved.to_yaml(), first.resolved.to_yaml());
}

TEST(ClusterTest, BareHostsGoByTheirNumber) {
  const Topology t = hosts_on(3, "type: single_switch");
  EXPECT_EQ(t.name(*t.find("h2")), "h2");
  EXPECT_EQ(t.endpoints().size(), 3U);
}

TEST(ClusterTest, NcclSettingsGoWithOrWithoutPrefix) {
  const Cluster cluster = load("{node: {type: h200x4}, nccl: {NCCL_ALGO: Ring, PROTO: Simple, MIN_NCHANNELS: 8}}");
  EXPECT_EQ(cluster.nccl, (std::map<std::string, std::string>{{"ALGO", "Ring"}, {"PROTO", "Simple"}, {"MIN_NCHANNELS", "8"}}));
  EXPECT_EQ(load_errors("{node: {type: h200x4}, nccl: {NCCL_ALGO: Ring, ALGO: Tree}}"),
            Errors{"cluster.nccl.ALGO: NCCL_ALGO is set twice"});
}

TEST(ClusterTest, TemplateMayStandInTheFile) {
  const Topology t = load(R"(
node:
  devices: [{name: gpu0..1, kind: gpu}]
  links: [{between: [gpu0..1], type: nvlink2, width: 2}]
)")
                         .topology;
  EXPECT_EQ(t.link_count(), 2U);
  EXPECT_EQ(t.spec(LinkId{0}).rate, Bandwidth::from_bytes_per_second(50'000'000'000));
}

// The 18 NVLinks of an H200 are 450 GB/s a direction (models/network §1.6); 9 are half of that.
TEST(ClusterTest, PartsOfANamedTemplateMayBeSet) {
  const std::vector<std::string> paths{"nodes", "node.links[0].width"};
  const ConfigNode file = with_template_for(shipped_node("h200x4"), paths);
  const Cluster half = load(file.with_override(paths[1], "9", "--set"));
  const Topology& t = half.topology;
  EXPECT_EQ(
      t.spec(*std::ranges::find_if(t.out_links(t.endpoints()[0]), [&](LinkId link) { return t.spec(link).type == "nvlink4"; }))
          .rate,
      Bandwidth::from_bytes_per_second(225'000'000'000));
  EXPECT_EQ(t.link_count(), shipped("h200x4").topology.link_count());
  // Written out or not, it is the same cluster; and it stays a name where nothing reaches into it.
  EXPECT_EQ(load(file).resolved.to_yaml(), shipped("h200x4").resolved.to_yaml());
  EXPECT_TRUE(
      with_template_for(shipped_node("h200x4"), std::vector<std::string>{"nodes", "node.type"}).find("node")->find("type"));
  EXPECT_THROW(static_cast<void>(with_template_for(cluster_node("{node: {type: h200x5}}"), paths)), ConfigError);
}

TEST(ClusterTest, UnknownTemplateIsAnsweredWithTheNearest) {
  Errors notes;
  EXPECT_EQ(load_errors("{node: {type: dgx_h10}}", &notes), Errors{"cluster.node.type: unknown node template 'dgx_h10'"});
  EXPECT_TRUE(notes.at(0).starts_with("did you mean 'dgx_h100'? templates here: dgx1_p100, ")) << notes.at(0);
}

TEST(ClusterTest, UnknownFabricIsAnsweredWithTheNearest) {
  Errors notes;
  EXPECT_EQ(load_errors(hosts_yaml(2, "type: fat_tre, k: 4"), &notes),
            Errors{"cluster.fabric.type: unknown fabric type 'fat_tre'"});
  EXPECT_TRUE(notes.at(0).starts_with("did you mean 'fat_tree'? choices: custom, dragonfly, ")) << notes.at(0);
}

TEST(ClusterTest, RelationsBetweenKeysAreChecked) {
  EXPECT_EQ(load_errors("{nodes: 2, node: {type: dgx_h100}}"), Errors{"cluster.nodes: 2 nodes need a fabric to join them"});
  EXPECT_EQ(load_errors(R"(
nodes: 2
node: {devices: [{name: gpu0..1, kind: gpu}], links: [{between: [gpu0..1], type: nvlink4}], name: box}
fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}}
)"),
            Errors{"cluster.fabric: node template 'box' has no NIC to join a fabric with"});
  EXPECT_EQ(load_errors("node: {devices: [{name: a0..3, kind: gpu}], links: [{between: [a0..1], type: nvlink4}, "
                        "{between: [a2..3], type: nvlink4}]}"),
            Errors{"cluster: disconnected GPUs: no path from n0.a0 to n0.a2, n0.a3"});
  EXPECT_EQ(load_errors(hosts_yaml(2, "type: single_switch, leaf_ports: 4")).size(), 1U);
  EXPECT_EQ(load_errors(hosts_yaml(2, "type: single_switch, routing: fastest")).size(), 1U);
}

TEST(ClusterTest, ClustersTooLargeAreRefusedByCountsAlone) {
  // A bare host: 24 B for the device, no links inside.
  EXPECT_EQ(
      load_errors(hosts_yaml(1'000'000'000'000, "type: single_switch")),
      Errors{
          "cluster.nodes: 1000000000000 nodes are over the limit of 200000; their topology would take about 24 TB of memory"});
  EXPECT_FALSE(load_errors(hosts_yaml(200'001, "type: single_switch")).empty());
  EXPECT_TRUE(load_errors(hosts_yaml(200'000, "type: single_switch")).empty());
  const auto racks = [](const char* nodes) {
    return load_errors(std::string{"{nodes: "} + nodes +
                       ", node: {type: gb200_nvl72}, fabric: {type: single_switch, link: {type: infiniband, rate: ndr}}}");
  };
  const Errors refused = racks("27778");  // 2'000'016 GPUs
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused[0].starts_with("cluster.nodes: 27778 nodes of 72 GPUs are over the limit of 2000000 GPUs;"))
      << refused[0];
  EXPECT_FALSE(load_errors(hosts_yaml(-1, "type: single_switch")).empty());
  EXPECT_FALSE(load_errors(hosts_yaml(0, "type: single_switch")).empty());
}

TEST(ClusterTest, LinkFasterThanItsNicIsAWarning) {
  Diagnostics diagnostics;
  static_cast<void>(load_cluster(
      shipped_node("dgx_a100").with_override("nodes", "2", "test").with_override("fabric.link.rate", "ndr", "test"), {},
      diagnostics));
  ASSERT_EQ(diagnostics.warnings().size(), 1U);
  EXPECT_EQ(diagnostics.warnings()[0].message,
            "cluster.fabric: links of 400 Gb/s join 'nic0' of 200 Gb/s; the links' rate counts");
}

TEST(ClusterTest, ProfileOfTheOptionsReplacesTheNamedOne) {
  const weft::test::TempFolder folder;
  const std::filesystem::path file = folder.write(
      "profile.yaml", "kind: profile\nname: other\nparameters: {network.nvlink4.latency: {value: 77 ns, source: assumed}}\n");
  Diagnostics diagnostics;
  const Cluster cluster = load_cluster(cluster_node("{node: {type: h200x4}}"), {.profile = file}, diagnostics);
  EXPECT_EQ(cluster.profile.name(), "other");
  EXPECT_EQ(cluster.topology.spec(LinkId{0}).latency, Duration::from_ns(77));
}

TEST(ClusterTest, MissingProfileIsALocatedError) {
  try {
    static_cast<void>(load("{node: {type: h200x4}, profile: ../profiles/no_such.yaml}"));
    FAIL();
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.diagnostics().size(), 1U);
    EXPECT_EQ(error.diagnostics()[0].where.line, 1);
  }
}

}  // namespace
}  // namespace weft::net::test
