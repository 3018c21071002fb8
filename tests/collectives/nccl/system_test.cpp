#include "sim/collectives/nccl/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "sim/network/builtin.h"
#include "sim/network/cluster.h"
#include "sim/network/import/nccl_xml_reader.h"

namespace weft::coll::nccl {
namespace {

using ::testing::HasSubstr;

std::string data_path(const std::string& name) { return std::string{WEFT_TEST_DATA} + "/" + name; }

net::Topology import_data(const std::string& name) {
  static const Profile profile = Profile::defaults(net::network_param_groups());
  return net::import_nccl_xml_file(data_path(name), profile).topology;
}

System system_of(const std::string& name, const SystemOptions& options = {}) {
  return System::of_host(import_data(name), 0, options);
}

// The lines that rank 0 of a log printed from its "=== System" on, without the prefix.
std::string printed_by_rank0(const std::string& log) {
  std::istringstream in{net::read_text_file(data_path(log))};
  const std::string prefix = "node:0:0 [0] NCCL INFO ";
  std::string text;
  std::string line;
  bool inside = false;
  while (std::getline(in, line)) {
    if (!line.starts_with(prefix)) continue;
    line.erase(0, prefix.size());
    if (line.starts_with("=== System")) inside = true;
    if (inside && line.starts_with("ncclTopo")) break;
    if (inside) text += line + '\n';
  }
  return text;
}

TEST(NcclSystemTest, SaysOfTheMeasuredNodeWhatNcclSaid) {
  const std::string printed = printed_by_rank0("h200x4/info_all_reduce_4gpu.txt");
  ASSERT_THAT(printed, HasSubstr("GPU/0-60 :GPU/0-60 (0/5000.0/LOC) GPU/0-70 (2/370.8/NVL)"));
  EXPECT_EQ(system_of("h200x4/topo_4gpu.xml").describe(), printed);
}

TEST(NcclSystemTest, TheMeasuredNodesTemplateIsTheSameGraph) {
  const ConfigNode cluster = ConfigNode::parse("{name: one, nodes: 1, node: {type: h200x4}}",
                                               std::string{WEFT_SOURCE_DIR} + "/configs/clusters/one.yaml");
  Diagnostics diagnostics;
  const net::Topology topology = net::load_cluster(cluster, {}, diagnostics).topology;
  EXPECT_EQ(System::of_host(topology, 0, {}).describe(), system_of("h200x4/topo_4gpu.xml").describe());
}

// Machine, nodes, maxBw and totalBw: the first lines of NCCL 2.30's outputs (models/nccl §A).
struct Golden {
  const char* machine;
  bool several_nodes;
  float max_bandwidth;
  float total_bandwidth;
};
class NcclSystemGoldenTest : public ::testing::TestWithParam<Golden> {};

TEST_P(NcclSystemGoldenTest, HasTheBandwidthsOfTheGoldenFile) {
  const Golden& golden = GetParam();
  const System system = system_of("topologies/" + std::string{golden.machine} + ".xml",
                                  {.version = NcclVersion::k2_30, .several_nodes = golden.several_nodes});
  EXPECT_NEAR(system.max_bandwidth(), golden.max_bandwidth, 0.005);
  EXPECT_NEAR(system.total_bandwidth(), golden.total_bandwidth, 0.005);
}
INSTANTIATE_TEST_SUITE_P(Machines, NcclSystemGoldenTest,
                         ::testing::Values(Golden{"a100", false, 240.0F, 240.0F}, Golden{"a100", true, 24.0F, 240.0F},
                                           Golden{"b200", false, 721.8F, 721.8F}, Golden{"b200", true, 48.0F, 721.8F},
                                           Golden{"dgx1v", false, 40.0F, 120.0F}, Golden{"dgx1v", true, 12.0F, 120.0F},
                                           Golden{"gb200", false, 721.8F, 721.8F}, Golden{"gb200x1", false, 721.8F, 721.8F},
                                           Golden{"h100", false, 370.8F, 370.8F}, Golden{"h100", true, 48.0F, 370.8F},
                                           Golden{"hgx-h200-2gpu", false, 370.8F, 370.8F},
                                           Golden{"hgx-h200-4gpu", false, 370.8F, 370.8F}, Golden{"one", true, 48.0F, 48.0F},
                                           Golden{"pcie4", false, 24.0F, 24.0F}),
                         [](const auto& param) {
                           std::string name =
                               std::string{param.param.machine} + (param.param.several_nodes ? "_nodes" : "_node");
                           std::erase(name, '-');
                           return name;
                         });

// RCCL plans with 48 GB/s of each xGMI link of gfx942 and 36 of gfx90a.
TEST(NcclSystemTest, XgmiLinksHaveRcclsBandwidth) {
  for (const auto& [gcn, per_link] : {std::pair{"gfx942", 48.0F}, std::pair{"gfx90a", 36.0F}, std::pair{"906", 24.0F}}) {
    std::string text = R"(<system version="2"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">)";
    for (const char* self : {"0", "1"}) {
      const std::string peer = self[0] == '0' ? "1" : "0";
      text += std::string{R"(<pci busid="0000:1)"} + self +
              R"(:00.0" class="0x038000" link_speed="16 GT/s" link_width="16"><gpu dev=")" + self + R"(" sm="94" gcn=")" + gcn +
              R"(" rank=")" + self + R"(" gdr="1"><xgmi target="0000:1)" + peer +
              R"(:00.0" count="2" tclass="0x038000"/></gpu></pci>)";
    }
    const System system{net::parse_xml(net::SourceText{"t.xml", text + "</cpu></system>"}), {}};
    const Path& path = system.path(system.gpus()[0], system.gpus()[1]);
    EXPECT_EQ(path.type, PathClass::kNvl);
    EXPECT_EQ(path.bandwidth, 2 * per_link) << gcn;
  }
}

TEST(NcclSystemTest, GpusWithoutALinkMeetThroughAThirdOverNvlink) {
  // DGX-1: 0-5 are not adjacent; both relays (1 and 4) have a single link on one side (models/network §1.6).
  const System dgx1 = system_of("topologies/dgx1v.xml");
  const Path& path = dgx1.path(dgx1.gpus()[0], dgx1.gpus()[5]);
  EXPECT_EQ(path.type, PathClass::kNvb);
  EXPECT_EQ(path.links.size(), 2U);
  EXPECT_FLOAT_EQ(path.bandwidth, 20.0F);
  // 0-3-7: 0-3 is doubled, 3-7 single; 0-4-7: both doubled.
  EXPECT_FLOAT_EQ(dgx1.path(dgx1.gpus()[0], dgx1.gpus()[7]).bandwidth, 40.0F);
}

TEST(NcclSystemTest, WithoutNvbTheyMeetThroughTheCpus) {
  const System dgx1 = system_of("topologies/dgx1v.xml", {.nvb = false});
  EXPECT_EQ(dgx1.path(dgx1.gpus()[0], dgx1.gpus()[5]).type, PathClass::kSys);
  EXPECT_FLOAT_EQ(dgx1.path(dgx1.gpus()[0], dgx1.gpus()[5]).bandwidth, 6.0F);  // QPI
}

TEST(NcclSystemTest, WithoutP2pAllGpusMeetThroughTheCpu) {
  const System h200 = system_of("h200x4/topo_4gpu.xml", {.p2p_level = PathClass::kLoc});
  const Path& path = h200.path(h200.gpus()[0], h200.gpus()[1]);
  EXPECT_EQ(path.type, PathClass::kPhb);
  EXPECT_FLOAT_EQ(path.bandwidth, 48.0F);
  EXPECT_EQ(path.links.size(), 2U);
}

TEST(NcclSystemTest, ReachesTheNicOfAnotherGpuThroughIt) {
  const System h100 = system_of("topologies/h100.xml", {.several_nodes = true});
  const NodeIndex gpu = h100.gpus()[0];
  EXPECT_EQ(h100.path(gpu, h100.nets()[0]).type, PathClass::kPix);
  EXPECT_EQ(h100.path(gpu, h100.nets()[5]).type, PathClass::kPxn);
  EXPECT_EQ(h100.relay_gpu(gpu, h100.nets()[5]), h100.gpus()[5]);
  EXPECT_FLOAT_EQ(h100.path(gpu, h100.nets()[5]).bandwidth, 48.0F);
  // Data that arrive take the way of PCIe.
  EXPECT_EQ(h100.path(h100.nets()[5], gpu).type, PathClass::kSys);
  EXPECT_EQ(h100.local_net(gpu, 0), h100.nets()[0]);
  EXPECT_EQ(h100.local_gpu(h100.nets()[7]), h100.gpus()[7]);
}

TEST(NcclSystemTest, ANicOnTheCpuBehindC2cIsClose) {
  const System gb200 = system_of("topologies/gb200x1.xml");
  EXPECT_EQ(gb200.path(gb200.gpus()[0], gb200.nets()[0]).type, PathClass::kP2c);
  EXPECT_EQ(gb200.path(gb200.gpus()[0], gb200.nets()[2]).type, PathClass::kPxn);
  // Before 2.27 it was as far as through any CPU.
  const System older = system_of("topologies/gb200x1.xml", {.version = NcclVersion::k2_23});
  EXPECT_EQ(older.path(older.gpus()[0], older.nets()[0]).type, PathClass::kPhb);
}

TEST(NcclSystemTest, PathsAreLinkedEndToEnd) {
  const System system = system_of("topologies/dgx1v.xml", {.several_nodes = true});
  for (const NodeIndex from : system.gpus()) {
    for (const NodeType type : {NodeType::kGpu, NodeType::kCpu, NodeType::kNet}) {
      for (const NodeIndex to : system.of_type(type)) {
        NodeIndex at = from;
        float least = kLocalBandwidth;
        for (const LinkIndex l : system.path(from, to).links) {
          ASSERT_EQ(system.link(l).from, at);
          least = std::min(least, system.link(l).bandwidth);
          at = system.link(l).to;
          EXPECT_EQ(system.link(system.link(l).reverse).to, system.link(l).from);
        }
        EXPECT_EQ(at, to);
        EXPECT_FLOAT_EQ(system.path(from, to).bandwidth, least);
      }
    }
  }
}

TEST(NcclSystemTest, NvlinkBandwidthFollowsVersionAndGpu) {
  // models/nccl §1.2.
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(60, NcclVersion::k2_30), 18.0F);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(70, NcclVersion::k2_30), 20.0F);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(86, NcclVersion::k2_30), 12.0F);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(90, NcclVersion::k2_19), 20.0F);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(90, NcclVersion::k2_21), 20.6F);
  EXPECT_FLOAT_EQ(System::nvlink_bandwidth(100, NcclVersion::k2_28), 40.1F);
}

}  // namespace
}  // namespace weft::coll::nccl
