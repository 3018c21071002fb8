#include "sim/collectives/nccl/graph_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sim/collectives/nccl/comm_info.h"
#include "sim/core/error.h"
#include "sim/network/import/nccl_xml.h"
#include "tests/support/temp_folder.h"

namespace weft::coll::nccl {
namespace {

using ::testing::HasSubstr;

net::XmlElement topology_of(const std::string& name) {
  const std::string path = std::string{WEFT_TEST_DATA} + "/" + name;
  return net::parse_xml(net::SourceText{name, net::read_text_file(path)});
}

System system_of(const std::string& name, bool several_nodes) {
  return {topology_of(name), {.version = NcclVersion::k2_30, .several_nodes = several_nodes}};
}

std::string error_of(const std::string& text, const System& system) {
  try {
    static_cast<void>(read_graph_xml(text, "graph.xml", system));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// A ring of the four GPUs with one place to write something else.
std::string ring_with(const std::string& attributes, const std::string& channel) {
  return "<graphs version=\"1\">\n<graph id=\"0\" crossnic=\"0\" nchannels=\"1\" speedintra=\"30\" speedinter=\"30\" "
         "typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"1\" " +
         attributes + ">\n<channel>\n" + channel + "\n</channel>\n</graph>\n</graphs>\n";
}
const char* const kFourGpus = R"(<gpu dev="0"/><gpu dev="0x1"/><gpu dev="0x2"/><gpu dev="0x3"/>)";

TEST(NcclGraphXmlTest, ReadsWhatNcclDumped) {
  const System system = system_of("h200x4/topo_4gpu.xml", false);
  const std::vector<Graph> graphs = read_graph_xml_file(std::string{WEFT_TEST_DATA} + "/h200x4/graph_4gpu.xml", system);
  ASSERT_EQ(graphs.size(), 5U);
  EXPECT_EQ(graphs[0].kind, GraphKind::kRing);
  EXPECT_EQ(graphs[0].channel_count(), 12);
  EXPECT_FLOAT_EQ(graphs[0].bandwidth_intra, 30.0F);
  EXPECT_EQ(graphs[0].type_intra, PathClass::kNvl);
  EXPECT_TRUE(graphs[0].same_channels);
  EXPECT_EQ(graphs[0].channels[11].gpus, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(graphs[1].pattern, GraphPattern::kBalancedTree);
  EXPECT_EQ(graphs[4].kind, GraphKind::kNvls);
  EXPECT_TRUE(graphs[4].channels.empty());
}

TEST(NcclGraphXmlTest, WhatIsWrittenReadsTheSame) {
  const System system = system_of("topologies/h100.xml", true);
  const CommInfo info = comm_info(topology_of("topologies/h100.xml"), 2, {}, NcclVersion::k2_30);
  const NodeGraphs graphs{
      .ring = info.ring, .tree = info.tree, .collnet_chain = {}, .collnet_direct = {}, .nvls = info.nvls_graph};
  const std::vector<Graph> read = read_graph_xml(write_graph_xml(graphs, system), "graph.xml", system);
  ASSERT_EQ(read.size(), 5U);
  EXPECT_EQ(read[0].channels, info.ring.channels);
  EXPECT_EQ(read[0].cross_nic, 2);
  EXPECT_EQ(read[1].channels, info.tree.channels);
  EXPECT_EQ(read[4].channels, info.nvls_graph->channels);
}

TEST(NcclGraphXmlTest, AFileReplacesTheSearch) {
  // Two channels of our own in place of the twelve that are found.
  const weft::test::TempFolder folder;
  const std::string path = folder / "graph.xml";
  const System system = system_of("h200x4/topo_4gpu.xml", false);
  Graph ring{.bandwidth_intra = 20,
             .bandwidth_inter = 20,
             .type_intra = PathClass::kNvl,
             .type_inter = PathClass::kPix,
             .channels = {}};
  ring.channels.assign(2, {.net_in = {}, .gpus = {0, 2, 1, 3}, .net_out = {}});
  Graph tree = ring;
  tree.kind = GraphKind::kTree;
  tree.pattern = GraphPattern::kTree;
  {
    std::ofstream out{path};
    out << write_graph_xml({.ring = ring, .tree = tree, .collnet_chain = {}, .collnet_direct = {}, .nvls = {}}, system);
  }
  Settings settings;
  settings.set("GRAPH_FILE", path);
  const CommInfo info = comm_info(topology_of("h200x4/topo_4gpu.xml"), 1, settings, NcclVersion::k2_30);
  EXPECT_EQ(info.ring.channels, ring.channels);
  EXPECT_EQ(info.channels, 4);
  // NVLS stands in the file without channels, so it is searched for.
  ASSERT_TRUE(info.nvls_graph.has_value());
  EXPECT_EQ(info.nvls_graph->channel_count(), 4);
}

TEST(NcclGraphXmlTest, ErrorsSayWhereAndWhat) {
  const System system = system_of("h200x4/topo_4gpu.xml", false);
  EXPECT_EQ(error_of(ring_with("pattern=\"4\"", kFourGpus), system), "no error");
  EXPECT_THAT(error_of("<system version=\"1\"/>", system),
              HasSubstr("graph.xml:1:1: error: expected a <graphs> element, got <system>"));
  EXPECT_THAT(error_of(ring_with("", kFourGpus), system), HasSubstr("graph.xml:2:1: error: graph.pattern: missing"));
  EXPECT_THAT(error_of(ring_with("pattern=\"7\"", kFourGpus), system),
              HasSubstr("graph.pattern: expected a whole number from 1 to 6, got '7'"));
  EXPECT_THAT(error_of(ring_with("pattern=\"4\"", "<gpu dev=\"0\"/>"), system),
              HasSubstr("graph.xml:3:1: error: channel: 1 GPUs, expected 4"));
  EXPECT_THAT(error_of(ring_with("pattern=\"4\"", R"(<gpu dev="0"/><gpu dev="1"/><gpu dev="1"/><gpu dev="3"/>)"), system),
              HasSubstr("channel: GPU of rank 1 stands there twice"));
  EXPECT_THAT(error_of(ring_with("pattern=\"4\"", R"(<gpu dev="0"/><gpu dev="1"/><gpu dev="2"/><gpu dev="9"/>)"), system),
              HasSubstr("gpu.dev: no GPU 9 on this node"));
  EXPECT_THAT(error_of(ring_with("pattern=\"4\"", R"(<gpu dev="0"/><gpu dev="1"/><gpu dev="2"/><gpu rank="4"/>)"), system),
              HasSubstr("gpu.rank: no GPU of rank 4 on this node"));
  EXPECT_THAT(error_of("<graphs>", system), HasSubstr("not well-formed XML"));
}

TEST(NcclGraphXmlTest, SeveralNodesNeedNics) {
  const System system = system_of("h200x4/topo_4gpu.xml", true);
  EXPECT_THAT(error_of(ring_with("pattern=\"4\"", kFourGpus), system), HasSubstr("channel: expected two <net>"));
  EXPECT_THAT(error_of(ring_with("pattern=\"4\"", "<net dev=\"0\"/>" + std::string{kFourGpus} + "<net dev=\"5\"/>"), system),
              HasSubstr("net.dev: no NIC 5 on this node"));
  EXPECT_EQ(error_of(ring_with("pattern=\"4\"", "<net dev=\"0\"/>" + std::string{kFourGpus} + "<net dev=\"0\"/>"), system),
            "no error");
}

}  // namespace
}  // namespace weft::coll::nccl
