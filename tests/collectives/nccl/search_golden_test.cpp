// Every channel that NCCL 2.30.7's own search found for the golden machines (models/nccl §A), and what the one measured
// node of NCCL 2.28.9 dumped and printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sim/collectives/nccl/comm_info.h"
#include "sim/collectives/nccl/graph_text.h"
#include "sim/collectives/nccl/graph_xml.h"
#include "sim/network/builtin.h"
#include "sim/network/import/nccl_xml_reader.h"
#include "tests/collectives/nccl/golden_file.h"

namespace weft::coll::nccl {
namespace {

std::string data_text(const std::string& name) { return net::read_text_file(std::string{WEFT_TEST_DATA} + "/" + name); }

net::XmlElement topology_xml(const std::string& name) { return net::parse_xml(net::SourceText{name, data_text(name)}); }

net::XmlElement machine_of(const golden::File& file) {
  return topology_xml("topologies/" + file.name.substr(0, file.name.rfind("-n")) + ".xml");
}

void expect_same(const Graph& found, const Graph& golden, const char* what) {
  SCOPED_TRACE(what);
  EXPECT_EQ(found.pattern, golden.pattern);
  EXPECT_EQ(found.cross_nic, golden.cross_nic);
  EXPECT_NEAR(found.bandwidth_intra, golden.bandwidth_intra, 0.005);
  EXPECT_NEAR(found.bandwidth_inter, golden.bandwidth_inter, 0.005);
  EXPECT_EQ(found.type_intra, golden.type_intra);
  EXPECT_EQ(found.type_inter, golden.type_inter);
  EXPECT_EQ(found.same_channels, golden.same_channels);
  ASSERT_EQ(found.channel_count(), golden.channel_count());
  for (std::size_t c = 0; c < found.channels.size(); ++c) {
    GraphChannel channel = found.channels[c];
    // The files print the first 16 GPUs of a channel.
    if (channel.gpus.size() > 16) channel.gpus.resize(16);
    EXPECT_EQ(channel.gpus, golden.channels[c].gpus) << "channel " << c;
    EXPECT_EQ(channel.net_in, golden.channels[c].net_in) << "channel " << c;
    EXPECT_EQ(channel.net_out, golden.channels[c].net_out) << "channel " << c;
  }
}

class SearchGoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SearchGoldenTest, FindsTheChannelsThatNcclFinds) {
  const golden::File file = golden::read(GetParam());
  const CommInfo info = comm_info(machine_of(file), file.comm.nodes, {}, NcclVersion::k2_30);
  EXPECT_EQ(info.ranks, file.comm.ranks);
  EXPECT_EQ(info.ranks_per_node, file.comm.ranks_per_node);
  EXPECT_EQ(info.min_sm, file.comm.min_sm);
  expect_same(info.ring, file.comm.ring, "ring");
  expect_same(info.tree, file.comm.tree, "tree");
  ASSERT_EQ(info.nvls_graph.has_value(), file.comm.nvls_graph.has_value());
  if (info.nvls_graph) expect_same(*info.nvls_graph, *file.comm.nvls_graph, "nvls");
  EXPECT_EQ(info.channels, file.comm.channels);
  EXPECT_EQ(info.nvls_channels, file.comm.nvls_channels);
  EXPECT_EQ(info.nvls_chunk, file.comm.nvls_chunk);
  EXPECT_EQ(info.nvls_tree_max_chunk, file.comm.nvls_tree_max_chunk);
  EXPECT_NEAR(info.min_net_bandwidth, file.comm.min_net_bandwidth, 0.05);
  EXPECT_EQ(info.p2p_channels, file.comm.p2p_channels);
  EXPECT_EQ(info.p2p_channels_per_peer, file.comm.p2p_channels_per_peer);
}

INSTANTIATE_TEST_SUITE_P(Machines, SearchGoldenTest, ::testing::ValuesIn(golden::names()), [](const auto& param) {
  std::string name = param.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

// ---- the measured node: 4 x H200, NCCL 2.28.9, NVLS off

class MeasuredNodeTest : public ::testing::Test {
 protected:
  MeasuredNodeTest() {
    settings_.set("NVLS_ENABLE", "0");
    info_ = comm_info(topology_xml("h200x4/topo_4gpu.xml"), 1, settings_, NcclVersion::k2_28);
  }

  [[nodiscard]] System system() const { return {topology_xml("h200x4/topo_4gpu.xml"), {.version = NcclVersion::k2_28}}; }

  // Returns what `rank` printed in the log, line by line, without the prefix.
  [[nodiscard]] static std::vector<std::string> printed_by(int rank) {
    std::istringstream in{data_text("h200x4/info_all_reduce_4gpu.txt")};
    const std::string prefix = "node:0:0 [" + std::to_string(rank) + "] NCCL INFO ";
    std::vector<std::string> lines;
    std::string line;
    while (std::getline(in, line)) {
      if (line.starts_with(prefix)) lines.push_back(line.substr(prefix.size()));
    }
    return lines;
  }

  // Those from the first that begins with `begin`, as many as `text` has.
  [[nodiscard]] static std::string section(const std::vector<std::string>& lines, const std::string& begin,
                                           const std::string& text) {
    const auto first = std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(begin); });
    std::string found;
    for (auto line = first; line != lines.end() && line < first + std::ranges::count(text, '\n'); ++line) found += *line + '\n';
    return found;
  }

  Settings settings_;
  CommInfo info_;
};

TEST_F(MeasuredNodeTest, TheGraphFileIsTheOneThatNcclDumped) {
  const NodeGraphs graphs{.ring = info_.ring, .tree = info_.tree, .collnet_chain = {}, .collnet_direct = {}, .nvls = {}};
  EXPECT_EQ(write_graph_xml(graphs, system()), data_text("h200x4/graph_4gpu.xml"));
}

TEST_F(MeasuredNodeTest, TheGraphsReadAsInTheLog) {
  const std::string ring = graph_lines(info_.ring, system());
  const std::string tree = graph_lines(info_.tree, system());
  EXPECT_EQ(ring, section(printed_by(0), "Pattern 4,", ring));
  EXPECT_EQ(tree, section(printed_by(0), "Pattern 1,", tree));
}

TEST_F(MeasuredNodeTest, RingsAndTreesReadAsInTheLog) {
  const std::vector<std::vector<Rank>> nodes{{0, 1, 2, 3}};
  const Connections all = connect(info_, nodes);
  std::string rings;
  for (const std::string& line : printed_by(0)) {
    // Not the connections, "Channel 00/0 : 0[0] -> 1[1] via P2P".
    if (line.starts_with("Channel ") && line.find("via") == std::string::npos) rings += line + '\n';
  }
  EXPECT_EQ(ring_lines(all), rings);
  for (Rank rank = 0; rank < 4; ++rank) {
    const std::string trees = tree_line(all, rank);
    EXPECT_EQ(trees, section(printed_by(rank), "Trees ", trees)) << "rank " << rank;
  }
}

TEST_F(MeasuredNodeTest, ChannelsAreAsManyAsInTheLog) {
  const std::string line = channel_count_line(info_);
  EXPECT_EQ(line, "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer\n");
  EXPECT_EQ(line, section(printed_by(0), "24 coll channels", line));
  EXPECT_EQ(info_.p2p_chunk, Bytes{524288});  // "P2P Chunksize set to 524288"
}

}  // namespace
}  // namespace weft::coll::nccl
