#include "sim/collectives/nccl/comm_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/collectives/nccl/connect.h"
#include "sim/collectives/nccl/version.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/network/cluster.h"

namespace weft::coll::nccl {
namespace {

using ::testing::HasSubstr;

net::Topology cluster_of(const std::string& node, int nodes) {
  const std::string fabric =
      nodes > 1 ? ", fabric: {type: single_switch, link: {type: infiniband, rate: 400 Gb/s, latency: 1 us}}" : "";
  const ConfigNode cluster =
      ConfigNode::parse("{name: test, nodes: " + std::to_string(nodes) + ", node: {type: " + node + "}" + fabric + "}",
                        std::string{WEFT_SOURCE_DIR} + "/configs/clusters/test.yaml");
  Diagnostics diagnostics;
  return net::load_cluster(cluster, {}, diagnostics).topology;
}

// The GPUs of the given places, host by host.
std::vector<DeviceId> gpus(const net::Topology& topology, const std::vector<std::pair<int, std::vector<int>>>& chosen) {
  std::vector<DeviceId> devices;
  for (const auto& [host, places] : chosen) {
    const auto h = static_cast<std::size_t>(host);
    const std::vector<std::uint32_t> all = topology.template_of_host(h).of_kind(net::DeviceKind::kGpu);
    for (const int place : places) devices.push_back(topology.device_of(h, all[static_cast<std::size_t>(place)]));
  }
  return devices;
}

CommInfo info_of(const net::Topology& topology, const std::vector<DeviceId>& devices, const Settings& settings = {}) {
  return comm_info(topology, devices, settings, NcclVersion::k2_30);
}

Settings setting(const char* key, const char* value) {
  Settings settings;
  settings.set(key, value);
  return settings;
}

TEST(CommInfoTest, OurOwnNodesAreNcclsMachines) {
  // Rows of models/nccl §2.5: channels and GB/s of ring and tree, CTAs of collectives, NVLS and send/recv.
  const net::Topology h200 = cluster_of("h200x4", 1);
  const CommInfo four = info_of(h200, h200.endpoints());
  EXPECT_EQ(four.ring.channel_count(), 12);
  EXPECT_FLOAT_EQ(four.ring.bandwidth_intra, 30.0F);
  EXPECT_EQ(four.channels, 24);
  EXPECT_EQ(four.nvls_channels, 16);
  EXPECT_EQ(four.p2p_channels_per_peer, 32);
  EXPECT_TRUE(four.nvswitch);
  EXPECT_TRUE(four.nvls);

  const net::Topology rack = cluster_of("gb200_nvl72", 1);
  const CommInfo nvl72 = info_of(rack, rack.endpoints());
  EXPECT_EQ(nvl72.nodes, 1);
  EXPECT_EQ(nvl72.ring.channel_count(), 16);
  EXPECT_FLOAT_EQ(nvl72.ring.bandwidth_intra, 45.0F);
  EXPECT_EQ(nvl72.nvls_graph->channel_count(), 32);
  EXPECT_EQ(nvl72.nvls_channels, 24);
}

TEST(CommInfoTest, OnlyTheCommunicatorsGpusCount) {
  // models/nccl §2.5, HGX H200 with two GPUs used: ring 12 x 30, tree 12 x 60, NVLS with two heads since 2.28.7.
  const net::Topology h200 = cluster_of("h200x4", 1);
  const CommInfo two = info_of(h200, gpus(h200, {{0, {1, 3}}}));
  EXPECT_EQ(two.ranks, 2);
  EXPECT_EQ(two.ring.channel_count(), 12);
  EXPECT_EQ(two.ring.channels[0].gpus, (std::vector<int>{0, 1}));
  EXPECT_FLOAT_EQ(two.tree.bandwidth_intra, 60.0F);
  EXPECT_TRUE(two.nvls);
  EXPECT_FALSE(comm_info(h200, gpus(h200, {{0, {1, 3}}}), {}, release(28, 3)).nvls);
}

TEST(CommInfoTest, RanksMayBeInAnyOrder) {
  const net::Topology h200 = cluster_of("h200x4", 1);
  const CommInfo turned = info_of(h200, gpus(h200, {{0, {3, 2, 1, 0}}}));
  // In the order of the machine's GPUs, by rank.
  EXPECT_EQ(turned.ring.channels[0].gpus, (std::vector<int>{3, 2, 1, 0}));
}

TEST(CommInfoTest, NodesAreCountedAsRanksMeetThem) {
  const net::Topology two = cluster_of("dgx_h100", 2);
  const std::vector<DeviceId> devices = gpus(two, {{1, {0}}, {0, {0, 1}}, {1, {1}}});
  EXPECT_EQ(node_ranks(two, devices), (std::vector<std::vector<Rank>>{{0, 3}, {1, 2}}));
}

TEST(CommInfoTest, UnequalNodesAgreeOnTheLeast) {
  const net::Topology two = cluster_of("dgx_h100", 2);
  std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  const CommInfo equal = info_of(two, gpus(two, {{0, all}, {1, all}}));
  EXPECT_TRUE(equal.node_graphs.empty());
  const std::vector<DeviceId> devices = gpus(two, {{0, all}, {1, {0}}});
  const CommInfo unequal = info_of(two, devices);
  ASSERT_EQ(unequal.node_graphs.size(), 2U);
  EXPECT_EQ(unequal.kind_of_node, (std::vector<int>{0, 1}));
  EXPECT_EQ(unequal.ranks_per_node, 8);
  EXPECT_EQ(unequal.ring.channel_count(),
            std::min(unequal.node_graphs[0].ring.channel_count(), unequal.node_graphs[1].ring.channel_count()));
  EXPECT_EQ(unequal.ring.type_inter, std::max(unequal.node_graphs[0].ring.type_inter, unequal.node_graphs[1].ring.type_inter));
  EXPECT_FALSE(unequal.nvls);
  const Connections connections = connect(unequal, node_ranks(two, devices));
  EXPECT_EQ(connections.rings[0].size(), 9U);
}

TEST(CommInfoTest, ChannelsKeepToWhatTheUserAllows) {
  const net::Topology h200 = cluster_of("h200x4", 1);
  EXPECT_EQ(info_of(h200, h200.endpoints(), setting("MAX_NCHANNELS", "4")).channels, 4);
  EXPECT_EQ(info_of(h200, h200.endpoints(), setting("MIN_NCHANNELS", "25")).channels, 25);
  EXPECT_EQ(info_of(h200, h200.endpoints(), setting("MIN_NCHANNELS", "24")).channels, 24);
  // The most first, then the least: the first channels are repeated.
  Settings both = setting("MAX_NCHANNELS", "2");
  both.set("MIN_NCHANNELS", "5");
  EXPECT_EQ(info_of(h200, h200.endpoints(), both).channel_sources, (std::vector<int>{0, 1, 0, 1, 0}));
}

TEST(CommInfoTest, SettingsThatChangeTheGraphAct) {
  const net::Topology h200 = cluster_of("h200x4", 1);
  EXPECT_EQ(info_of(h200, h200.endpoints(), setting("NVLS_ENABLE", "0")).nvls_channels, 0);
  const CommInfo without_p2p = info_of(h200, h200.endpoints(), setting("P2P_DISABLE", "1"));
  EXPECT_EQ(without_p2p.ring.type_intra, PathClass::kPhb);
  EXPECT_FALSE(without_p2p.nvswitch);
  const net::Topology two = cluster_of("dgx_h100", 2);
  EXPECT_EQ(info_of(two, two.endpoints()).ring.cross_nic, 2);
  EXPECT_EQ(info_of(two, two.endpoints(), setting("CROSS_NIC", "0")).ring.cross_nic, 0);
}

// NCCL's src/graph/paths.cc (ncclTopoCheckP2p): PXB, SYS for two GPUs with AMD's processors, or as the user says;
// NCCL_P2P_DISABLE is LOC.
TEST(CommInfoTest, PeersCopyDirectlyUpToTheLevel) {
  const net::Topology h200 = cluster_of("h200x4", 1);
  EXPECT_EQ(info_of(h200, h200.endpoints()).p2p_level, PathClass::kPxb);
  EXPECT_EQ(info_of(h200, h200.endpoints(), setting("P2P_LEVEL", "SYS")).p2p_level, PathClass::kSys);
  EXPECT_EQ(info_of(h200, h200.endpoints(), setting("P2P_LEVEL", "LOC")).p2p_level, PathClass::kLoc);
  EXPECT_EQ(info_of(h200, h200.endpoints(), setting("P2P_DISABLE", "1")).p2p_level, PathClass::kLoc);
}

// The machine of a file of tests/data/topologies with NICs that can reduce.
net::XmlElement with_collnet(const std::string& name) {
  std::string text = net::read_text_file(std::string{WEFT_TEST_DATA} + "/topologies/" + name);
  const std::string port = "port=\"1\"";
  for (std::size_t at = text.find(port); at != std::string::npos; at = text.find(port, at + 20)) text.insert(at, "coll=\"1\" ");
  return net::parse_xml(net::SourceText{name, text});
}

TEST(CommInfoTest, CollNetNeedsItsSwitchItsNicsAndSeveralNodes) {
  const Settings enabled = setting("COLLNET_ENABLE", "1");
  const net::XmlElement h100 = with_collnet("h100.xml");
  const CommInfo two = comm_info(h100, 2, enabled, NcclVersion::k2_30);
  EXPECT_TRUE(two.collnet);
  // Chains as many as rings; every GPU owns a NIC, so all 8 are heads (models/nccl §2.2, §3.3).
  EXPECT_EQ(two.collnet_chain->channel_count(), two.ring.channel_count());
  EXPECT_EQ(two.collnet_direct->channel_count(), 8);
  const std::vector<std::vector<Rank>> nodes{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}};
  const Connections all = connect(two, nodes);
  ASSERT_EQ(all.collnet_heads.size(), 2U);
  EXPECT_EQ(all.collnet_heads[1].size(), 8U);
  ASSERT_EQ(all.collnet_chains.size(), static_cast<std::size_t>(two.channels));
  const auto heads_of_chains = std::ranges::count(all.collnet_chains[0], Rank{-1}, &TreeLinks::up);
  EXPECT_EQ(heads_of_chains, 2);
  EXPECT_FALSE(comm_info(h100, 2, {}, NcclVersion::k2_30).collnet);
  EXPECT_FALSE(comm_info(h100, 1, enabled, NcclVersion::k2_30).collnet);
  Settings many = enabled;
  many.set("COLLNET_NODE_THRESHOLD", "3");
  EXPECT_FALSE(comm_info(h100, 2, many, NcclVersion::k2_30).collnet);
  EXPECT_TRUE(comm_info(h100, 3, many, NcclVersion::k2_30).collnet);
}

TEST(CommInfoTest, RingsOfPairsThatSwapNicsCameWithTheNewerReleases) {
  const net::Topology two = cluster_of("dgx_h100", 2);
  EXPECT_EQ(comm_info(two, two.endpoints(), {}, NcclVersion::k2_21).ring.cross_nic, 2);
  // In 2.19 crossing at will has to be 15 % better: 8 x 48 GB/s are not, after 7 x 48 without; 8 x 45 without are what is left
  // (8 channels of 45 fill the 360 GB/s of 18 NVLinks).
  const CommInfo old = comm_info(two, two.endpoints(), {}, NcclVersion::k2_19);
  EXPECT_EQ(old.ring.cross_nic, 0);
  EXPECT_EQ(old.ring.channel_count(), 8);
  EXPECT_FLOAT_EQ(old.ring.bandwidth_intra, 45.0F);
  EXPECT_EQ(old.channels, 16);
}

// Two channels to a peer on another node from 2.20.3 to 2.28, and since 2.29.2 one for every 14 GB/s of the NIC's 48 to 50
// (src/graph/paths.cc). So all-to-all of large messages over nodes is a third slower before 2.29.2.
TEST(CommInfoTest, ChannelsToAPeerOnAnotherNodeFollowTheReleaseRule) {
  const net::Topology dgx = cluster_of("dgx_h100", 2);
  for (const auto& [version, channels] : {std::pair{NcclVersion::k2_28, 2}, std::pair{NcclVersion::k2_29, 4}})
    EXPECT_EQ(comm_info(dgx, dgx.endpoints(), {}, version).p2p_channels_per_peer, channels);
}

TEST(CommInfoTest, BareHostsAreRefused) {
  const net::Topology hosts = cluster_of("host", 2);
  try {
    static_cast<void>(info_of(hosts, hosts.endpoints()));
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is no GPU: NCCL runs on GPUs"));
  }
}

TEST(NcclVersionTest, AReleaseBehavesAsTheNewestModelledThatIsNotNewer) {
  EXPECT_EQ(parse_version("2.28.9+cuda13.0"), NcclVersion::k2_28);
  EXPECT_EQ(parse_version("2.29"), NcclVersion::k2_29);
  EXPECT_EQ(parse_version("2.30.7"), NcclVersion::k2_30);
  EXPECT_EQ(parse_version("2.20.5"), release(20, 5));
  EXPECT_EQ(parse_version("2.20.9"), release(20, 5));
  EXPECT_EQ(parse_version("2.18"), NcclVersion::k2_18);
  for (const char* bad : {"2.17.1", "3.0", "two", "2.", "2.x", ""})
    EXPECT_THROW(static_cast<void>(parse_version(bad)), ConfigError);
}

}  // namespace
}  // namespace weft::coll::nccl
