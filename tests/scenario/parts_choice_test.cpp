#include "sim/scenario/parts_choice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sim/core/config/node.h"
#include "sim/scenario/read_scenario.h"

namespace weft::scenario {
namespace {

struct Case {
  std::string_view fabric = "type: fat_tree, k: 4";
  int nodes = 16;
  std::string_view rest = "pfc: {xoff: 60 kB, xon: 56 kB}, transport: {acks: packets}";
  std::string_view traffic = "{pattern: permutation, bytes: 128 MiB}";  // 16 x 32,768 packets of 4096 B
  std::string_view simulation = "";
};

PartsChoice choice(const Case& of) {
  const std::string yaml = fmt::format(
      "{{cluster: {{nodes: {}, node: {{type: host}}, fabric: {{{}, link: {{type: ethernet, rate: 400 Gb/s, latency: 1 us, mtu: "
      "4096 B}}, {}}}}}, workload: {{traffic: [{}]}}, simulation: {{fidelity: packet{}}}}}",
      of.nodes, of.fabric, of.rest, of.traffic, of.simulation);
  Diagnostics diagnostics;
  const ConfigNode root = ConfigNode::parse(yaml, WEFT_SOURCE_DIR "/configs/scenarios/of_a_test.yaml", "scenario");
  const Scenario scenario = read_scenario(root, "test", {}, diagnostics);
  EXPECT_TRUE(diagnostics.errors().empty());
  return choose_parts(scenario);
}

TEST(PartsChoiceTest, TakesPartsWhereThereIsEnoughToDo) {
  EXPECT_EQ(choice({}).partition.parts, 4U);
  EXPECT_EQ(choice({.simulation = ", partitions: 2"}).partition.parts, 2U);
  EXPECT_EQ(choice({.simulation = ", partitions: 1"}).partition.parts, 1U);
  EXPECT_EQ(choice({.simulation = ", until: 1 ms"}).partition.parts, 1U);
}

// 16 x 30,518 packets are fewer than 500,000, 16 x 31,250 are not.
TEST(PartsChoiceTest, CountsPackets) {
  EXPECT_EQ(choice({.traffic = "{pattern: permutation, bytes: 125 MB}"}).why_one, "it has few packets");
  EXPECT_EQ(choice({.traffic = "{pattern: permutation, bytes: 128 MB}"}).partition.parts, 4U);
  EXPECT_EQ(choice({.traffic = "{pattern: permutation, bytes: 1 MB}", .simulation = ", partitions: 64"}).partition.parts, 4U);
}

// Into one host 2 GiB take 43 ms at least. That is 12 packets in a microsecond, and 3 in each of the parts.
TEST(PartsChoiceTest, LeavesAloneWhatIsOnOneLink) {
  const Case incast{.traffic = "{pattern: incast, to: h3, bytes: 144 MiB}"};
  EXPECT_EQ(choice(incast).why_one, "few packets are under way at once");
  EXPECT_EQ(
      choice({.traffic = "{pattern: permutation, bytes: 128 MiB}, {pattern: shift, by: 1, bytes: 1 MB, starts_within: 80 ms}"})
          .why_one,
      "few packets are under way at once");
}

TEST(PartsChoiceTest, LeavesAloneWhatMayNeedOnePart) {
  constexpr std::string_view kWhy = "it may lose packets, or pauses may wait for one another";
  EXPECT_EQ(choice({.rest = "switch: {buffer: 1 MB}"}).why_one, kWhy);
  EXPECT_EQ(choice({.rest = "switch: {buffer: 1 MB}, transport: {acks: packets}"}).partition.parts, 4U);
  const PartsChoice watched = choice({.rest = "pfc: {xoff: 60 kB, watchdog: {}}", .simulation = ", partitions: 4"});
  EXPECT_EQ(watched.why_one, "a PFC watchdog keeps its storms in one part");
  EXPECT_EQ(choice({.rest = "pfc: {xoff: 60 kB, watchdog: {enabled: false}}"}).partition.parts, 4U);
  Case dragonfly{.fabric = "type: dragonfly, p: 2", .nodes = 72, .traffic = "{pattern: permutation, bytes: 64 MiB}"};
  EXPECT_EQ(choice(dragonfly).why_one, kWhy);
  dragonfly.rest = "transport: {acks: packets}";
  EXPECT_EQ(choice(dragonfly).partition.parts, 9U);
}

}  // namespace
}  // namespace weft::scenario
