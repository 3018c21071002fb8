#include "sim/collectives/ring_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/topologies.h"

namespace weft::coll {
namespace {

using namespace weft::literals;

using Edge = std::pair<int, int>;

// Links of the hybrid cube mesh of a DGX-1 (network-models §1.6); a V100 has the first eight twice.
const std::vector<Edge> kDoubled{{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}};
const std::vector<Edge> kSingle{{0, 1}, {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}};

LinkCounts cube_mesh(int doubled) {
  LinkCounts links{8};
  for (const auto& [i, j] : kDoubled) links.add(i, j, doubled);
  for (const auto& [i, j] : kSingle) links.add(i, j, 1);
  return links;
}
LinkCounts complete(int size) {
  LinkCounts links{size};
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < i; ++j) links.add(i, j, 1);
  }
  return links;
}

// A host of GPUs joined by `links`, each link of a pair a cable of its own or all in one cable of that width.
net::HostTemplate mesh_host(net::TopologyBuilder& builder, const LinkCounts& links, bool one_cable) {
  net::HostTemplate host;
  host.name = "mesh";
  for (int i = 0; i < links.size(); ++i) {
    net::TemplateDevice gpu;
    gpu.name = "gpu" + std::to_string(i);
    host.devices.push_back(gpu);
  }
  for (int i = 0; i < links.size(); ++i) {
    for (int j = i + 1; j < links.size(); ++j) {
      const int count = links.between(i, j);
      const int cables = one_cable ? std::min(count, 1) : count;
      for (int k = 0; k < cables; ++k) {
        const std::uint32_t spec = builder.add_spec(testing::plain_link((one_cable ? count : 1) * 25_GBps, 1_us));
        testing::add_template_cable(host, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), spec);
      }
    }
  }
  return host;
}

// `hosts` hosts of `gpus` GPUs on one NVSwitch each.
net::Topology switched_hosts(int hosts, int gpus) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  host.name = "box";
  const std::uint32_t spec = builder.add_spec(testing::plain_link(450_GBps, 1_us));
  for (int i = 0; i < gpus; ++i) {
    net::TemplateDevice gpu;
    gpu.name = "gpu" + std::to_string(i);
    host.devices.push_back(gpu);
  }
  net::TemplateDevice hub;
  hub.name = "nvswitch0";
  hub.kind = net::DeviceKind::kNvSwitch;
  host.devices.push_back(hub);
  for (int i = 0; i < gpus; ++i) {
    testing::add_template_cable(host, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(gpus), spec);
  }
  const std::uint32_t id = builder.add_template(host);
  for (int i = 0; i < hosts; ++i) builder.add_host(id);
  return std::move(builder).freeze();
}

void expect_permutations(const std::vector<RingOrder>& rings, int ranks) {
  for (const RingOrder& ring : rings) {
    RingOrder sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted.size(), static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
  }
}

// How often the cycles, taken without direction, use each pair.
std::map<Edge, int> uses(const std::vector<std::vector<int>>& cycles) {
  std::map<Edge, int> used;
  for (const std::vector<int>& cycle : cycles) {
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      ++used[std::minmax({cycle[i], cycle[(i + 1) % cycle.size()]})];
    }
  }
  return used;
}

void expect_disjoint_cycles(const LinkCounts& links, std::size_t count) {
  const auto cycles = disjoint_cycles(links);
  ASSERT_EQ(cycles.size(), count);
  expect_permutations(cycles, links.size());
  for (const auto& [edge, times] : uses(cycles)) EXPECT_LE(times, links.between(edge.first, edge.second));
}

TEST(RingOrderTest, AHybridCubeMeshOfV100HasThreeDisjointCycles) { expect_disjoint_cycles(cube_mesh(2), 3); }
TEST(RingOrderTest, AHybridCubeMeshOfP100HasTwoDisjointCycles) { expect_disjoint_cycles(cube_mesh(1), 2); }
TEST(RingOrderTest, EightFullyConnectedGpusHaveThreeDisjointCycles) { expect_disjoint_cycles(complete(8), 3); }

TEST(RingOrderTest, FullMeshesHaveAsManyCyclesAsTheirLinksAllow) {
  for (const int size : {3, 4, 5, 6, 7}) expect_disjoint_cycles(complete(size), static_cast<std::size_t>((size - 1) / 2));
}

TEST(RingOrderTest, AGraphWithoutACycleHasNone) {
  LinkCounts star{4};
  for (int i = 1; i < 4; ++i) star.add(0, i, 2);
  EXPECT_TRUE(disjoint_cycles(star).empty());
  EXPECT_TRUE(disjoint_cycles(complete(2)).empty());
  EXPECT_TRUE(disjoint_cycles(LinkCounts{8}).empty());
}

TEST(RingOrderTest, RingsOfADgx1UseEveryLinkOnceInEachDirection) {
  for (const bool one_cable : {true, false}) {
    net::TopologyBuilder builder;
    builder.add_host(builder.add_template(mesh_host(builder, cube_mesh(2), one_cable)));
    const net::Topology topology = std::move(builder).freeze();
    const auto rings = make_rings(topology, topology.endpoints(), 6);
    ASSERT_EQ(rings.size(), 6U);
    expect_permutations(rings, 8);
    std::map<Edge, int> used;
    for (const RingOrder& ring : rings) {
      for (std::size_t i = 0; i < 8; ++i) ++used[{ring[i], ring[(i + 1) % 8]}];
    }
    EXPECT_EQ(used.size(), 32U);  // 16 pairs, both ways
    for (const auto& [edge, times] : used) EXPECT_EQ(times, cube_mesh(2).between(edge.first, edge.second));
    // More channels go round again.
    const auto twelve = make_rings(topology, topology.endpoints(), 12);
    for (std::size_t c = 0; c < 12; ++c) EXPECT_EQ(twelve[c], rings[c % 6]);
  }
}

TEST(RingOrderTest, FourRingsOfAP100AreDirectedDisjoint) {
  net::TopologyBuilder builder;
  builder.add_host(builder.add_template(mesh_host(builder, cube_mesh(1), true)));
  const net::Topology topology = std::move(builder).freeze();
  std::set<Edge> used;
  for (const RingOrder& ring : make_rings(topology, topology.endpoints(), 4)) {
    for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(used.insert({ring[i], ring[(i + 1) % 8]}).second);
  }
}

TEST(RingOrderTest, OneSwitchedHostKeepsRankOrder) {
  const net::Topology topology = switched_hosts(1, 8);
  for (const RingOrder& ring : make_rings(topology, topology.endpoints(), 24))
    EXPECT_EQ(ring, (RingOrder{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(RingOrderTest, PartOfAMeshWithoutACycleKeepsRankOrder) {
  net::TopologyBuilder builder;
  builder.add_host(builder.add_template(mesh_host(builder, cube_mesh(2), true)));
  const net::Topology topology = std::move(builder).freeze();
  // GPUs 0, 1, 6: only 0-1 are joined.
  const std::vector<DeviceId> devices{topology.endpoints()[0], topology.endpoints()[1], topology.endpoints()[6]};
  for (const RingOrder& ring : make_rings(topology, devices, 2)) EXPECT_EQ(ring, (RingOrder{0, 1, 2}));
}

// What NCCL finds for two and more DGX H100 (nccl-golden/h100-n2): the orders of its channels on even hosts; odd hosts take the
// order of the other channel of the pair.
TEST(RingOrderTest, RingsOfSeveralSwitchedHostsAreThoseOfNccl) {
  const std::vector<RingOrder> golden{
      {0, 7, 6, 5, 4, 3, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 0}, {2, 1, 0, 7, 6, 5, 4, 3}, {3, 4, 5, 6, 7, 0, 1, 2},
      {4, 3, 2, 1, 0, 7, 6, 5}, {5, 6, 7, 0, 1, 2, 3, 4}, {6, 5, 4, 3, 2, 1, 0, 7}, {7, 0, 1, 2, 3, 4, 5, 6},
  };
  const int hosts = 4;
  const net::Topology topology = switched_hosts(hosts, 8);
  const auto rings = make_rings(topology, topology.endpoints(), 16);
  ASSERT_EQ(rings.size(), 16U);
  for (std::size_t c = 0; c < 16; ++c) {
    RingOrder expected;
    for (int h = 0; h < hosts; ++h) {
      for (const Rank i : golden[h % 2 == 0 ? c % 8 : (c % 8) ^ 1U]) expected.push_back(8 * h + i);
    }
    EXPECT_EQ(rings[c], expected) << "channel " << c;
  }
}

// Pairs (sender's rail, receiver's rail) of the hops between hosts.
std::vector<Edge> rail_changes(const RingOrder& ring, int gpus) {
  std::vector<Edge> hops;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Rank from = ring[i];
    const Rank to = ring[(i + 1) % ring.size()];
    if (from / gpus != to / gpus && from % gpus != to % gpus) hops.emplace_back(from % gpus, to % gpus);
  }
  return hops;
}

TEST(RingOrderTest, RingsStayOnTheirRailsBetweenAnEvenNumberOfHosts) {
  for (const int hosts : {2, 4, 6}) {
    for (const int gpus : {2, 3, 4, 5, 8, 16}) {
      const net::Topology topology = switched_hosts(hosts, gpus);
      const auto rings = make_rings(topology, topology.endpoints(), 2 * gpus);
      expect_permutations(rings, hosts * gpus);
      std::vector<int> entered(static_cast<std::size_t>(gpus), 0);  // channels that enter host 1 on each rail
      for (const RingOrder& ring : rings) {
        EXPECT_TRUE(rail_changes(ring, gpus).empty());
        ++entered[static_cast<std::size_t>(ring[static_cast<std::size_t>(gpus)] % gpus)];
      }
      for (const int channels : entered) EXPECT_EQ(channels, 2);
    }
  }
}

TEST(RingOrderTest, WithAnOddNumberOfHostsOnlyTheLastHopChangesRails) {
  const net::Topology topology = switched_hosts(3, 8);
  const auto rings = make_rings(topology, topology.endpoints(), 16);
  expect_permutations(rings, 24);
  for (std::size_t c = 0; c < 16; ++c) {
    const auto changes = rail_changes(rings[c], 8);
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0], Edge(rings[c].back() % 8, rings[c].front() % 8));
  }
}

TEST(RingOrderTest, PathsInsideMeshesTakeDirectLinksOnly) {
  net::TopologyBuilder builder;
  const std::uint32_t id = builder.add_template(mesh_host(builder, cube_mesh(2), true));
  for (int i = 0; i < 2; ++i) builder.add_host(id);
  const net::Topology topology = std::move(builder).freeze();
  const auto rings = make_rings(topology, topology.endpoints(), 8);
  expect_permutations(rings, 16);
  int direct = 0;
  for (const RingOrder& ring : rings) {
    EXPECT_TRUE(rail_changes(ring, 8).empty());
    for (std::size_t i = 0; i < 16; ++i) {
      const Rank from = ring[i];
      const Rank to = ring[(i + 1) % 16];
      if (from / 8 == to / 8) direct += cube_mesh(2).between(from % 8, to % 8) > 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(direct, 8 * 2 * 7);
}

TEST(RingOrderTest, UnequalAndSingleGpuHostsFollowEachOther) {
  const net::Topology two = switched_hosts(2, 4);
  const std::vector<DeviceId> five{two.endpoints().begin(), two.endpoints().begin() + 5};
  EXPECT_EQ(make_rings(two, five, 2), (std::vector<RingOrder>{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}));
  // Ranks dealt out over the hosts in turn: each host still is entered once.
  const std::vector<DeviceId> mixed{two.endpoints()[0], two.endpoints()[4], two.endpoints()[1]};
  EXPECT_EQ(make_rings(two, mixed, 1), (std::vector<RingOrder>{{0, 2, 1}}));
  const net::Topology bare = testing::star(5, 1_GBps, 1_us);
  EXPECT_EQ(make_rings(bare, bare.endpoints(), 1), rank_order_rings(5, 1));
}

TEST(RingOrderTest, OneRankIsARingOfItsOwn) {
  const net::Topology topology = switched_hosts(1, 4);
  EXPECT_EQ(make_rings(topology, std::vector{topology.endpoints()[2]}, 2), (std::vector<RingOrder>{{0}, {0}}));
}

TEST(RingOrderTest, RankOrderIsTheSameOnEveryChannel) {
  EXPECT_EQ(rank_order_rings(3, 2), (std::vector<RingOrder>{{0, 1, 2}, {0, 1, 2}}));
}

}  // namespace
}  // namespace weft::coll
