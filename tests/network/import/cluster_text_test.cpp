#include "sim/network/import/cluster_text.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/network/cluster.h"
#include "sim/network/import/nccl_xml_reader.h"
#include "sim/network/import/nccl_xml_writer.h"
#include "sim/network/import/nvidia_smi.h"
#include "tests/network/import/import_support.h"

namespace weft::net {
namespace {

using test::data_path;
using test::default_profile;
using namespace literals;

Cluster cluster_of(const Topology& topology) {
  const std::string text = cluster_text(topology, default_profile(), {.name = "t", .source = "t.xml", .gpu_model = {}});
  Diagnostics diagnostics;
  return load_cluster(ConfigNode::parse(text, "t.yaml", "cluster"), {}, diagnostics);
}

// Rate and share for payload of every link, by its ends.
std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, double>> links_of(const Topology& topology) {
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, double>> links;
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const Link& link = topology.link(id);
    auto& [rate, capacity] = links[{topology.name(link.from), topology.name(link.to)}];
    rate += topology.spec(id).rate.bits_per_second();
    capacity += topology.spec(id).capacity();
  }
  return links;
}

TEST(ClusterTextTest, AClusterFromATopologyFileHasItsDevicesAndLinks) {
  for (const char* file : {"h200x4/topo_4gpu.xml", "topologies/dgx1v.xml", "topologies/h100.xml", "topologies/a100.xml",
                           "topologies/gb200.xml", "topologies/pcie4.xml"}) {
    const Topology imported = import_nccl_xml_file(data_path(file), default_profile()).topology;
    const Topology made = cluster_of(imported).topology;
    EXPECT_EQ(made.device_count(), imported.device_count()) << file;
    EXPECT_EQ(links_of(made), links_of(imported)) << file;
  }
}

TEST(ClusterTextTest, NicsOfOneSpeedGetAFabric) {
  const char* const kMatrix = "     GPU0 mlx5_0\nGPU0 X PIX\nmlx5_0 PIX X\n";
  const auto text_of = [&](const ImportHints& hints) {
    return cluster_text(import_nvidia_smi(kMatrix, "t.txt", default_profile(), hints).topology, default_profile(),
                        {.name = "t", .source = "t.txt", .gpu_model = "h100"});
  };
  EXPECT_EQ(text_of({.sm = 90}).find("fabric:"), std::string::npos);
  const std::string text = text_of({.sm = 90, .nic_rate = 400_Gbps});
  EXPECT_NE(text.find("link: {type: ethernet, rate: 400000 Mb/s}"), std::string::npos) << text;
  Diagnostics diagnostics;
  const ConfigNode two = ConfigNode::parse(text, "t.yaml", "cluster").with_override("nodes", "2", "--set");
  EXPECT_EQ(load_cluster(two, {}, diagnostics).topology.host_count(), 2U);
}

// A file of one node of a job has the job's ranks.
TEST(ClusterTextTest, RanksOfANodeCountFromZero) {
  std::string text = test::data_text("h200x4/topo_4gpu.xml");
  for (const char* rank : {"0", "1", "2", "3"}) {
    const std::size_t at = text.find("rank=\"" + std::string{rank} + "\"");
    text.replace(at + 6, 1, std::to_string(8 + rank[0] - '0'));
  }
  const Topology made = cluster_of(import_nccl_xml(text, "t.xml", default_profile()).topology).topology;
  EXPECT_EQ(*find_label(made.labels(made.find("gpu0").value()), "rank"), "0");
  EXPECT_EQ(*find_label(made.labels(made.find("gpu3").value()), "rank"), "3");
}

}  // namespace
}  // namespace weft::net
