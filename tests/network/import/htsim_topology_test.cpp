#include "sim/network/import/htsim_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sim/network/cluster.h"
#include "tests/network/import/import_support.h"

namespace weft::net {
namespace {

using ::testing::HasSubstr;

// Three tiers of a complete 8-ary tree: 128 hosts, 32 edges, 32 aggs, 16 cores.
constexpr const char* kTree =
    "# a comment\n"
    "Nodes 128\nTiers 3\nPodsize 16\n\n"
    "Tier 0\nOversubscribed 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1000\n"
    "Switch_Latency_ns 0\n\n"
    "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1000\nBundle 1\n\n"
    "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1000\n";

// Two pods of two edges and two aggs; an agg has two cables of 100 Gb/s to each of its two cores, and 200 Gb/s below.
constexpr const char* kBundles =
    "Nodes 8\nTiers 3\nPodsize 4\n"
    "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n"
    "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\nDownlink_Latency_ns 500\nSwitch_Latency_ns 300\n"
    "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 2000\nBundle 2\n";

Topology topology_of(const std::string& text) {
  Diagnostics diagnostics;
  return load_cluster(ConfigNode::parse(read_htsim_topology(text, "x.topo", "x.topo").cluster, "x.topo", "cluster"), {},
                      diagnostics)
      .topology;
}

// Switches by the first letter of their names.
std::map<char, int> switches_of(const Topology& topology) {
  std::map<char, int> count;
  for (const DeviceId id : topology.fabric_switches()) ++count[topology.name(id).front()];
  return count;
}

std::string with(std::string text, const std::string& what, const std::string& in_place) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), in_place);
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(read_htsim_topology(text, "x.topo", "x.topo"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(HtsimTopologyTest, ThreeTiersAreAFatTree) {
  const Topology tree = topology_of(kTree);
  EXPECT_EQ(tree.endpoints().size(), 128U);
  EXPECT_EQ(switches_of(tree), (std::map<char, int>{{'e', 32}, {'a', 32}, {'c', 16}}));
  // k^3/4 host cables, and as many between each two tiers.
  EXPECT_EQ(tree.link_count(), 2U * 3U * 128U);
  const std::vector<LinkSpec> up = test::links_between(tree, "edge0", "agg3");
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(up[0].rate, Bandwidth::from_bits_per_second(100'000'000'000));
  EXPECT_EQ(up[0].latency, Duration::from_ns(1000));
  EXPECT_TRUE(test::links_between(tree, "edge0", "agg4").empty());  // of the next pod
}

TEST(HtsimTopologyTest, TwoTiersAreLeavesAndSpines) {
  const Topology tree = topology_of(
      "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\nDownlink_Latency_ns 1000\n"
      "Oversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n");
  EXPECT_EQ(switches_of(tree), (std::map<char, int>{{'l', 4}, {'s', 2}}));
  EXPECT_EQ(tree.link_count(), 2U * (32U + 4U * 2U));
}

TEST(HtsimTopologyTest, TiersThatDifferAreListed) {
  const Topology tree = topology_of(kBundles);
  EXPECT_EQ(switches_of(tree), (std::map<char, int>{{'e', 4}, {'a', 4}, {'c', 4}}));
  EXPECT_EQ(tree.link_count(), 2U * (8U + 8U + 16U));
  const std::vector<LinkSpec> up = test::links_between(tree, "agg0", "core1");
  ASSERT_EQ(up.size(), 2U);  // a bundle
  EXPECT_EQ(up[0].rate, Bandwidth::from_bits_per_second(100'000'000'000));
  EXPECT_EQ(up[0].latency, Duration::from_ns(2000));
  EXPECT_TRUE(test::links_between(tree, "agg0", "core2").empty());
  EXPECT_EQ(test::links_between(tree, "agg2", "core1").size(), 2U);  // its namesake in the other pod
  const std::vector<LinkSpec> middle = test::links_between(tree, "edge1", "agg1");
  ASSERT_EQ(middle.size(), 1U);
  EXPECT_EQ(middle[0].rate, Bandwidth::from_bits_per_second(200'000'000'000));
  EXPECT_EQ(middle[0].latency, Duration::from_ns(500));
}

TEST(HtsimTopologyTest, IsToldFromOtherFiles) {
  EXPECT_TRUE(is_htsim_topology(kTree));
  EXPECT_TRUE(is_htsim_topology("# x\n\n  NODES 4\n"));
  EXPECT_FALSE(is_htsim_topology("<system version=\"1\"/>"));
  EXPECT_FALSE(is_htsim_topology("\tGPU0\tGPU1\n"));
  EXPECT_FALSE(is_htsim_topology(""));
}

TEST(HtsimTopologyTest, QueuesAreLeftAside) {
  const HtsimTopology read = read_htsim_topology(with(kTree, "Radix_Up 4", "Radix_Up 4\nQueue_Up 100"), "x.topo", "x");
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_THAT(format(read.warnings[0], "warning"), HasSubstr("x.topo:11:10: warning: Queue_Up is left aside"));
}

TEST(HtsimTopologyTest, MistakesAreLocated) {
  EXPECT_THAT(error_of(with(kTree, "Radix_Up", "Radix_Upp")),
              HasSubstr("x.topo:10:1: error: unknown word 'Radix_Upp' in a tier"));
  EXPECT_THAT(error_of(with(kTree, "Radix_Up", "Radix_Upp")), HasSubstr("did you mean 'Radix_Up'?"));
  EXPECT_THAT(error_of(with(kTree, "Radix_Up 4\n", "")), HasSubstr("x.topo:6:1: error: tier 0 has no Radix_Up"));
  EXPECT_THAT(error_of(with(kTree, "Radix_Up 4", "Radix_Up four")),
              HasSubstr("x.topo:10:10: error: Radix_Up: expected one whole number from 1 to 2048"));
  EXPECT_THAT(error_of(with(kTree, "Nodes 128", "Nodes 120")),
              HasSubstr("x.topo:2:7: error: Nodes: 120 are not a multiple of the 16 of a pod"));
  EXPECT_THAT(error_of(with(kTree, "Radix_Down 8", "Radix_Down 9")),
              HasSubstr("x.topo:23:12: error: Radix_Down: 8 pods with a Bundle of 1 take 8 ports"));
  EXPECT_THAT(error_of(with(kTree, "Oversubscribed 1", "Oversubscribed 2")),
              HasSubstr("x.topo:7:16: error: Oversubscribed: 400 Gb/s down and 400 Gb/s up are 1 to 1"));
  EXPECT_THAT(error_of(with(kTree, "Tier 2\n", "Tier 1\n")), HasSubstr("x.topo:21:6: error: tier 1 is given twice"));
  EXPECT_THAT(error_of(with(kTree, "Tier 2\n", "Tier 3\n")), HasSubstr("x.topo:21:6: error: expected 'Tier 0', 'Tier 1' or"));
  EXPECT_THAT(error_of(with(kTree, "Tiers 3", "Tiers 2")), HasSubstr("x.topo:21:1: error: tier 2 of 2 tiers"));
  EXPECT_THAT(error_of("Nodes 4\n"), HasSubstr("Tiers is missing before the first tier"));
}

}  // namespace
}  // namespace weft::net
