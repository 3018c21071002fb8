// The tree itself: access, places, paths, overrides and text. What is refused is in yaml_guards_test.cpp, files in
// load_test.cpp.
#include "sim/core/config/node.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

constexpr const char* kCluster =
    "name: pod\n"
    "fabric:\n"
    "  links:\n"
    "    - {type: ib, latency: 500 ns}\n"
    "    - type: eth\n"
    "      latency: &slow 1 us\n"
    "  spare: *slow\n"
    "  nothing:\n"
    "note: \"a b\"\n";

ConfigNode cluster() { return ConfigNode::parse(kCluster, "pod.yaml", "cluster"); }

std::string at(const Location& location) {
  return location.file + ':' + std::to_string(location.line) + ':' + std::to_string(location.column);
}

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ConfigNodeTest, GivesKeysInFileOrderAndValuesByKeyAndIndex) {
  const ConfigNode node = cluster();
  EXPECT_TRUE(node.is_map());
  EXPECT_EQ(node.keys(), (std::vector<std::string>{"name", "fabric", "note"}));
  const ConfigNode links = *node.find("fabric")->find("links");
  EXPECT_TRUE(links.is_list());
  EXPECT_EQ(links.size(), 2U);
  EXPECT_EQ(links[0].find("latency")->scalar(), "500 ns");
  EXPECT_EQ(links[1][1].scalar(), "1 us");
  EXPECT_EQ(node.find("fabrik"), std::nullopt);
  EXPECT_EQ(links.find("type"), std::nullopt);
  EXPECT_TRUE(node.find("note")->quoted());
  EXPECT_FALSE(node.find("name")->quoted());
  EXPECT_TRUE(node.find("fabric")->find("nothing")->is_null());
}

TEST(ConfigNodeTest, KnowsWhereEveryKeyAndValueStands) {
  const ConfigNode node = cluster();
  const ConfigNode fabric = *node.find("fabric");
  const ConfigNode links = *fabric.find("links");
  EXPECT_EQ(at(node.location()), "pod.yaml:1:1");
  EXPECT_EQ(at(node.find("name")->location()), "pod.yaml:1:7");
  EXPECT_EQ(at(node.find("name")->key_location()), "pod.yaml:1:1");
  EXPECT_EQ(at(links.key_location()), "pod.yaml:3:3");
  EXPECT_EQ(at(links[0].find("latency")->location()), "pod.yaml:4:27");
  EXPECT_EQ(at(links[0].find("latency")->key_location()), "pod.yaml:4:18");
  EXPECT_EQ(at(links[1].location()), "pod.yaml:5:7");
  EXPECT_EQ(at(links[1].find("latency")->location()), "pod.yaml:6:22") << "behind its anchor";
  EXPECT_EQ(links[0].source_line(), "    - {type: ib, latency: 500 ns}");
  EXPECT_EQ(links.file(), "pod.yaml");
}

TEST(ConfigNodeTest, PlacesEmptyAndAliasedValuesAtTheirKeys) {
  const ConfigNode fabric = *cluster().find("fabric");
  EXPECT_EQ(fabric.find("spare")->scalar(), "1 us");
  EXPECT_EQ(at(fabric.find("spare")->location()), "pod.yaml:7:3");
  EXPECT_EQ(at(fabric.find("nothing")->location()), "pod.yaml:8:3");
}

TEST(ConfigNodeTest, CountsColumnsInCharactersSoThatTheCaretFits) {
  const ConfigNode node = ConfigNode::parse("{\"\xC3\xA4\xC3\xB6\": 1, b: xyz}\n", "f.yaml");
  EXPECT_EQ(at(node.find("b")->location()), "f.yaml:1:14");
  EXPECT_EQ(format(node.find("b")->diagnostic("b: bad")),
            "f.yaml:1:14: error: b: bad\n"
            "   1 | {\"\xC3\xA4\xC3\xB6\": 1, b: xyz}\n"
            "     |              ^~~\n");
}

TEST(ConfigNodeTest, NamesPathsFromTheRoot) {
  EXPECT_EQ(cluster().find("fabric")->find("links")->operator[](1).find("type")->path(), "cluster.fabric.links[1].type");
  EXPECT_EQ(ConfigNode::parse(kCluster, "pod.yaml")[1][0][0].path(), "fabric.links[0]");
  EXPECT_EQ(cluster().child_path("x"), "cluster.x");
}

TEST(ConfigNodeTest, ReadsWindowsLineEndsAndAByteOrderMark) {
  const ConfigNode node = ConfigNode::parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n",
      "f.yaml");
  EXPECT_EQ(node.find("b")->scalar(), "2");
  EXPECT_EQ(at(node.find("b")->location()), "f.yaml:2:4");
}

TEST(ConfigNodeTest, KeepsScalarsAsTheirText) {
  // Where yaml-cpp would see eight, true and a date, the reader decides.
  const ConfigNode node = ConfigNode::parse("{a: 010, b: on, c: Y, d: 2026-11-21, e: 1e3, f: ~, g: '~', h: null}", "f.yaml");
  EXPECT_EQ(node[0].scalar(), "010");
  EXPECT_EQ(node[1].scalar(), "on");
  EXPECT_EQ(node[2].scalar(), "Y");
  EXPECT_EQ(node[3].scalar(), "2026-11-21");
  EXPECT_EQ(node[4].scalar(), "1e3");
  EXPECT_TRUE(node[5].is_null());
  EXPECT_TRUE(node[6].is_scalar());
  EXPECT_TRUE(node[7].is_null());
}

TEST(ConfigNodeTest, KeepsItsTreeAlive) {
  ConfigNode latency;
  EXPECT_TRUE(latency.is_null());
  latency = *cluster().find("fabric")->find("links")->operator[](0).find("latency");
  EXPECT_EQ(latency.scalar(), "500 ns");
  EXPECT_EQ(latency.source_line(), "    - {type: ib, latency: 500 ns}");
}

TEST(ConfigNodeOverrideTest, ReplacesValuesAndLeavesTheOriginalAlone) {
  const ConfigNode before = cluster();
  const ConfigNode after = before.with_override("fabric.links[1].latency", "2 us", "--set");
  EXPECT_EQ(after.find("fabric")->find("links")->operator[](1).find("latency")->scalar(), "2 us");
  EXPECT_EQ(before.find("fabric")->find("links")->operator[](1).find("latency")->scalar(), "1 us");
  EXPECT_EQ(after.find("fabric")->find("links")->operator[](1).find("type")->scalar(), "eth");
  EXPECT_EQ(after.find("fabric")->find("links")->operator[](1).find("latency")->path(), "cluster.fabric.links[1].latency");
}

TEST(ConfigNodeOverrideTest, LocatesNewValuesAtTheirOrigin) {
  const ConfigNode after = cluster().with_override("nodes", "four", "--set");
  EXPECT_EQ(format(after.find("nodes")->diagnostic("cluster.nodes: expected an integer such as '8', got 'four'")),
            "--set: error: cluster.nodes: expected an integer such as '8', got 'four'\n");
}

TEST(ConfigNodeOverrideTest, MakesMissingKeysAndReadsYamlValues) {
  const ConfigNode after = cluster().with_override("a.b.c", "[1, {d: 2}]", "--set");
  EXPECT_EQ(after.find("a")->find("b")->find("c")->operator[](1).find("d")->scalar(), "2");
  EXPECT_EQ(cluster().with_override("fabric.nothing.x", "1", "--set").find("fabric")->find("nothing")->find("x")->scalar(),
            "1");
  EXPECT_TRUE(cluster().with_override("name", "", "--set").find("name")->is_null());
  EXPECT_TRUE(cluster().with_override("name", "null", "--set").find("name")->is_null());
}

TEST(ConfigNodeOverrideTest, MergesMapsAndReplacesTheRest) {
  const ConfigNode after = cluster().with_override("fabric", "{links: [], more: 1}", "--set");
  EXPECT_EQ(after.find("fabric")->keys(), (std::vector<std::string>{"links", "spare", "nothing", "more"}));
  EXPECT_EQ(after.find("fabric")->find("links")->size(), 0U);
}

TEST(ConfigNodeOverrideTest, FindsKeysThatHoldDots) {
  const ConfigNode node = ConfigNode::parse("parameters: {network.nic.post: {value: 1 us}, network: 2}", "p.yaml");
  const ConfigNode after = node.with_override("parameters.network.nic.post.value", "3 us", "--set");
  EXPECT_EQ(after.find("parameters")->find("network.nic.post")->find("value")->scalar(), "3 us");
}

TEST(ConfigNodeOverrideTest, TakesEveryKeyOfAMapOfOverrides) {
  const ConfigNode overrides = ConfigNode::parse("nodes: 4\nfabric.links[0].latency: 9 ns\n", "s.yaml", "overrides");
  const ConfigNode after = cluster().with_overrides(overrides);
  EXPECT_EQ(after.find("nodes")->scalar(), "4");
  EXPECT_EQ(after.find("fabric")->find("links")->operator[](0).find("latency")->scalar(), "9 ns");
  EXPECT_EQ(at(after.find("nodes")->location()), "s.yaml:1:8");
}

TEST(ConfigNodeOverrideTest, ExplainsPathsThatLeadNowhere) {
  const auto error = [](const char* path) { return error_of([path] { (void)cluster().with_override(path, "1", "--set"); }); };
  EXPECT_EQ(error("fabric.links[2].type"),
            "--set: error: cannot set 'fabric.links[2].type': 'fabric.links' has 2 items (0 to 1)\n");
  EXPECT_EQ(error("fabric[0]"), "--set: error: cannot set 'fabric[0]': 'fabric' is not a list\n");
  EXPECT_EQ(error("name.x"), "--set: error: cannot set 'name.x': 'name' is 'pod', not a map\n");
  EXPECT_EQ(error("fabric.links.type"), "--set: error: cannot set 'fabric.links.type': 'fabric.links' is a list, not a map\n");
  EXPECT_EQ(error("fabric.links[x]"),
            "--set: error: cannot set 'fabric.links[x]': an index is a number in brackets, as in links[2]\n");
  EXPECT_EQ(error("fabric.links[1"),
            "--set: error: cannot set 'fabric.links[1': an index is a number in brackets, as in links[2]\n");
  EXPECT_EQ(error("fabric.links[1]type"),
            "--set: error: cannot set 'fabric.links[1]type': expected '.' or '[' before 'type'\n");
  EXPECT_EQ(error("fabric..x"), "--set: error: cannot set 'fabric..x': a key is missing in the path\n");
  EXPECT_EQ(error("fabric."), "--set: error: cannot set 'fabric.': a key is missing in the path\n");
  EXPECT_EQ(error(""), "--set: error: an empty key path cannot be set\n");
  std::string deep = "a";
  for (int i = 0; i < 200; ++i) deep += ".a";
  EXPECT_EQ(error(deep.c_str()), "--set: error: cannot set '" + deep + "': the path has more than 100 parts\n");
}

TEST(ConfigNodeTextTest, WritesYamlThatReadsBackTheSame) {
  const ConfigNode node = ConfigNode::parse(
      "a: {b: [1, 2, [3, {c: 'd'}]], e: {}, f: [], g: }\n"
      "h: [{i: 1, j: 2}, {k: [a, b]}]\n"
      "odd keys: {'a: b': '#', \"new\\nline\": \"tab\\t\", '': '', '- x': '---', y: \"\\x01\"}\n",
      "f.yaml");
  const std::string expected =
      "a:\n"
      "  b:\n"
      "    - 1\n"
      "    - 2\n"
      "    - - 3\n"
      "      - c: \"d\"\n"
      "  e: {}\n"
      "  f: []\n"
      "  g: null\n"
      "h:\n"
      "  - i: 1\n"
      "    j: 2\n"
      "  - k: [a, b]\n"
      "odd keys:\n"
      "  \"a: b\": \"#\"\n"
      "  \"new\\nline\": \"tab\\t\"\n"
      "  \"\": \"\"\n"
      "  \"- x\": \"---\"\n"
      "  y: \"\\u0001\"\n";
  EXPECT_EQ(node.to_yaml(), expected);
  EXPECT_EQ(ConfigNode::parse(node.to_yaml(), "g.yaml").to_yaml(), expected);
  EXPECT_EQ(ConfigNode::parse(node.to_yaml(), "g.yaml").to_json(), node.to_json());
}

TEST(ConfigNodeTextTest, WritesJson) {
  const ConfigNode node =
      ConfigNode::parse("{a: 1, b: -2.5e3, c: 010, d: true, e: '1', f: \"q\\\"\\\\\", g: [on, ~, {}], h: 400 Gb/s}", "f.yaml");
  EXPECT_EQ(node.to_json(),
            R"({"a": 1, "b": -2.5e3, "c": "010", "d": true, "e": "1", "f": "q\"\\", "g": ["on", null, {}], "h": "400 Gb/s"})");
}

TEST(ConfigNodeTextTest, QuotesScalarsOnlyWhereNeeded) {
  for (const char* plain : {"a", "400 Gb/s", "-5", "../x/y.yaml", "./x", "/abs", "1.2 %", "true", "dgx_h100"}) {
    EXPECT_EQ(yaml_scalar(plain), plain);
  }
  for (const char* odd :
       {"", "null", "~", "- x", "a: b", "#x", "x ", "[", "{", "*a", "&a", "!t", "...", "---", "'", "a,b", "@", "%x"}) {
    EXPECT_EQ(yaml_scalar(odd), '"' + std::string{odd} + '"');
  }
}

}  // namespace
}  // namespace weft
