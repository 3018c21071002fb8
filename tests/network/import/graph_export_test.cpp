#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pugixml.hpp>

#include "sim/network/import/graphml.h"
#include "sim/network/import/graphviz.h"
#include "sim/network/import/nccl_xml_reader.h"
#include "tests/network/import/import_support.h"

namespace weft::net {
namespace {

using ::testing::HasSubstr;

Topology h200() { return import_nccl_xml_file(test::data_path("h200x4/topo_4gpu.xml"), test::default_profile()).topology; }

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TEST(GraphvizTest, WritesOneNodePerDeviceAndOneEdgePerCable) {
  const std::string dot = export_dot(h200());
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_n0 {\n    label=\"n0 (topo_4gpu)\";"));
  EXPECT_THAT(dot, HasSubstr("    \"n0.gpu3\" [label=\"gpu3\", shape=box, fillcolor=\"#76b900\"];"));
  EXPECT_THAT(dot, HasSubstr("  \"n0.gpu0\" -- \"n0.nvswitch0\" [label=\"nvlink4 x18 3.6 Tb/s\"];"));
  EXPECT_EQ(occurrences(dot, " -- "), 9U);  // 4 GPUs to CPU and to NVSwitch, the NIC
  EXPECT_EQ(dot.substr(dot.size() - 2), "}\n");
}

TEST(GraphmlTest, IsWellFormedWithOneEdgePerDirection) {
  const Topology topology = h200();
  const std::string text = export_graphml(topology);
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(text.c_str()));
  const pugi::xml_node graph = document.child("graphml").child("graph");
  EXPECT_STREQ(graph.attribute("edgedefault").value(), "directed");
  std::size_t nodes = 0;
  std::size_t edges = 0;
  for (const pugi::xml_node element : graph.children()) {
    nodes += std::string{element.name()} == "node" ? 1 : 0;
    edges += std::string{element.name()} == "edge" ? 1 : 0;
  }
  EXPECT_EQ(nodes, topology.device_count());
  EXPECT_EQ(edges, topology.link_count());
}

TEST(GraphmlTest, EqualTopologiesGiveEqualText) { EXPECT_EQ(export_graphml(h200()), export_graphml(h200())); }

}  // namespace
}  // namespace weft::net
