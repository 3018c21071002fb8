// Collectives on nodes whose GPUs have several NICs, or share some. What is right follows from the NICs alone: two of half the
// rate are one, and no call is faster than the NICs of a node carry what it must send.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/collectives/runner.h"
#include "sim/network/builtin.h"
#include "sim/network/cluster.h"
#include "tests/support/nic_boxes.h"

namespace weft::coll {
namespace {

using namespace literals;
using weft::testing::half_the_nics_yaml;
using weft::testing::NicBoxes;

constexpr Collective kEveryKind[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                     Collective::kBroadcast, Collective::kReduce,    Collective::kAllToAll,
                                     Collective::kSendRecv,  Collective::kGather,    Collective::kScatter};

struct RunAs {
  std::string algorithm = {};
  bool packets = false;
  std::size_t ranks = 0;  // 0: all
  std::string routing = "ecmp";
  std::string broken = {};  // a link that is down
  int iterations = 1;
};

Duration time_of(const std::string& yaml, Collective kind, Bytes bytes, const RunAs& run = {}) {
  Diagnostics diagnostics;
  const net::Topology topology = net::load_cluster(ConfigNode::parse(yaml, "test.yaml", "cluster"), {}, diagnostics).topology;
  const net::PacketSettings packet;
  net::Machine machine{topology,
                       run.routing,
                       1,
                       0,
                       {.fidelity = run.packets ? net::Fidelity::kPacket : net::Fidelity::kFlow, .packet = &packet}};
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const LinkId link = LinkId::from_index(i);
    if (topology.name(link) != run.broken) continue;
    const LinkId both[] = {link, topology.link(link).twin};
    machine.fabric.set_link_state(machine.router, both, false, false);
  }
  ParamGroups groups = collective_param_groups();
  for (const auto& group : net::network_param_groups()) groups.push_back(group);
  std::vector<DeviceId> ranks = topology.endpoints();
  if (run.ranks > 0) ranks.resize(run.ranks);
  CollectiveRunner runner{machine, Profile::defaults(groups), ranks};
  RunOptions options;
  options.algorithm = run.algorithm;
  options.iterations = run.iterations;
  return runner.run({.kind = kind, .bytes = bytes}, options).time;
}

class SeveralNicsTest : public ::testing::TestWithParam<Collective> {};
INSTANTIATE_TEST_SUITE_P(Collectives, SeveralNicsTest, ::testing::ValuesIn(kEveryKind),
                         [](const auto& kind) { return std::string{to_string(kind.param)}; });

TEST_P(SeveralNicsTest, TwoOfHalfTheRateAreAsFastAsOne) {
  const double one = time_of(NicBoxes{.nics = 1, .gbps = 400}.yaml(), GetParam(), 64_MiB).us();
  const double two = time_of(NicBoxes{}.yaml(), GetParam(), 64_MiB).us();
  const double four = time_of(NicBoxes{.nics = 4, .gbps = 100}.yaml(), GetParam(), 64_MiB).us();
  EXPECT_NEAR(two, one, 0.03 * one);
  // NCCL makes other channels of four, and may choose another algorithm; by one NIC alone the call would take four times as
  // long.
  EXPECT_LE(four, 1.5 * one);
}

TEST(SeveralNicsOfAlgorithmsTest, TwoOfHalfTheRateAreAsFastAsOne) {
  for (const char* algorithm : {"ring", "tree", "plain_ring", "recursive_doubling", "rabenseifner", "hierarchical"}) {
    const double one = time_of(NicBoxes{.nics = 1, .gbps = 400}.yaml(), Collective::kAllReduce, 64_MiB, {algorithm}).us();
    const double two = time_of(NicBoxes{}.yaml(), Collective::kAllReduce, 64_MiB, {algorithm}).us();
    EXPECT_NEAR(two, one, 0.03 * one) << algorithm;
  }
}

TEST(SeveralNicsOfPacketsTest, TwoOfHalfTheRateAreAsFastAsOne) {
  for (const Collective kind : {Collective::kAllReduce, Collective::kAllToAll, Collective::kSendRecv}) {
    const double one = time_of(NicBoxes{.nics = 1, .gbps = 400}.yaml(), kind, 16_MiB, {.packets = true}).us();
    const double two = time_of(NicBoxes{}.yaml(), kind, 16_MiB, {.packets = true}).us();
    EXPECT_NEAR(two, one, 0.05 * one) << to_string(kind);
  }
}

// Returns how much of `bytes` crosses between two nodes of half the ranks each, at least, in the direction with more.
double crossing(Collective kind, Bytes bytes, int ranks) {
  const auto all = static_cast<double>(bytes.count());
  switch (kind) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kGather:
    case Collective::kScatter:
      return all / 2;  // the blocks of one node's ranks
    case Collective::kAllToAll:
      return all / ranks * (ranks / 2.0) * (ranks / 2.0);  // a block from each of one node's ranks to each of the other's
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      break;
  }
  return all;
}

// Four GPUs a node with two NICs of 400 Gb/s, which carry 100 GB/s at most; a rate within half of that is sane, but for calls
// of which one rank does all.
TEST_P(SeveralNicsTest, WhereGpusShareNicsACallIsBoundByThem) {
  const Bytes bytes = 64_MiB;
  for (const bool nvlink : {false, true}) {
    const double taken = time_of(half_the_nics_yaml(nvlink), GetParam(), bytes).seconds();
    const double least = crossing(GetParam(), bytes, 8) / 100e9;
    EXPECT_GE(taken, least) << nvlink;
    EXPECT_LE(taken, 20 * least) << nvlink;
  }
}

// Two GPUs of one node share a NIC, and ranks of other nodes go ahead of theirs into the next call. Each of the two gets a
// block of 4 MiB from twelve ranks on other nodes.
TEST(SeveralNicsOfLoopsTest, NoCallIsShorterThanItsBusiestLink) {
  const NicBoxes boxes{.nodes = 4, .gpus = 4, .nics = 1, .gbps = 400};
  const RunAs run{.broken = "n0.nic0->switch0", .iterations = 20};
  EXPECT_GE(time_of(boxes.yaml(), Collective::kAllToAll, 64_MiB, run).seconds(), 2 * 12 * 4.0 * (1 << 20) / 50e9);
}

// ---- what must change nothing

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST_P(SeveralNicsTest, NamesOrderAndUnusedNodesChangeNothing) {
  NicBoxes boxes;
  boxes.fabric = "type: leaf_spine, hosts_per_leaf: 4";
  const std::string yaml = boxes.yaml();
  std::string turned = yaml;
  const std::string gpus = "    - {name: gpu0..1, kind: gpu, sm: 90, gdr: true}\n";
  const std::string links = "    - {between: [gpu0..1, pcie0..1], type: pcie5, lanes: 16, pairing: zip}\n";
  turned = replaced(replaced(turned, gpus, ""), links, "");
  turned.insert(turned.find("  links:"), gpus);
  turned.insert(turned.find("fabric:"), links);
  boxes.nodes = 3;
  for (const char* routing : {"ecmp", "spray"}) {
    const RunAs run{.ranks = 4, .routing = routing};
    const Duration time = time_of(yaml, GetParam(), 4_MiB, run);
    EXPECT_EQ(time_of(replaced(replaced(yaml, "nic0..3", "port0..3"), "pcie0..1", "bridge0..1"), GetParam(), 4_MiB, run), time);
    EXPECT_EQ(time_of(turned, GetParam(), 4_MiB, run), time) << routing;
    EXPECT_EQ(time_of(boxes.yaml(), GetParam(), 4_MiB, run), time) << routing;
  }
}

}  // namespace
}  // namespace weft::coll
