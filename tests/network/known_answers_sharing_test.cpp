// Known answers of models/network §7 that concern paths and sharing at flow fidelity. K1 to K3 and K31: flow_fabric_test.cpp;
// K4 and K5 as equations: fair_share_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/network/builtin.h"
#include "sim/network/cluster.h"
#include "sim/network/link_type.h"
#include "tests/support/fabric_run.h"
#include "tests/support/topologies.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::FabricRun;

double seconds(Time t) { return (t - Time{}).seconds(); }

Cluster cluster_of(const std::string& yaml) {
  Diagnostics diagnostics;
  return load_cluster(ConfigNode::parse(yaml, "test.yaml", "cluster"), {}, diagnostics);
}

// A host whose devices and cables a test lists itself.
class TestHost {
 public:
  std::uint32_t device(const std::string& name, DeviceKind kind) {
    TemplateDevice made;
    made.name = name;
    made.kind = kind;
    made.forwarding.header = Bytes{0};
    host_.devices.push_back(made);
    return static_cast<std::uint32_t>(host_.devices.size() - 1);
  }
  void cable(std::uint32_t a, std::uint32_t b, const LinkSpec& spec) {
    testing::add_template_cable(host_, a, b, builder_.add_spec(spec));
  }
  Topology freeze() {
    builder_.add_host(builder_.add_template(host_));
    return std::move(builder_).freeze();
  }

 private:
  TopologyBuilder builder_;
  HostTemplate host_;
};

TEST(KnownAnswersTest, K4ParkingLotOnATopology) {
  TopologyBuilder builder;
  testing::add_bare_hosts(builder, 8);
  const std::uint32_t spec = builder.add_spec(testing::plain_link(100_Gbps, 0_ns));
  std::vector<DeviceId> s;
  for (int i = 0; i < 4; ++i) s.push_back(builder.add_switch(testing::plain_switch("s" + std::to_string(i))));
  for (std::size_t i = 0; i < 3; ++i) builder.add_cable(s[i], s[i + 1], spec);
  for (std::uint32_t h = 0; h < 8; ++h) builder.add_cable(builder.device_of(h, 0), s[h / 2], spec);
  FabricRun run{std::move(builder).freeze()};
  run.post("h0", "h6", 1_MB);  // over all three trunks
  run.post("h1", "h2", 1_MB);
  run.post("h3", "h4", 1_MB);
  run.post("h5", "h7", 1_MB);
  run.finish();
  for (std::size_t f = 0; f < 4; ++f) EXPECT_EQ(run.delivered(f), Time{} + 160_us);  // 50 Gb/s each
}

TEST(KnownAnswersTest, K22EcmpCollisionsFollowBallsInBins) {
  const Cluster cluster = cluster_of(R"(
name: two leaves
nodes: 16
node: {type: host}
fabric: {type: leaf_spine, link: {type: ethernet, rate: 100 Gb/s, latency: 0 ns}, leaf_ports: 16, spines: 8, routing: ecmp}
)");
  // 8 flows from leaf 0 to leaf 1. The load of a flow's spine is the number of flows hashed onto it.
  double share = 0;
  double slowest = 0;
  int perfect = 0;
  constexpr int kSeeds = 10'000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Router router{cluster.topology, make_routing_policy("ecmp"), static_cast<std::uint64_t>(seed)};
    std::map<std::uint32_t, int> load;
    std::vector<std::uint32_t> spine(8);
    for (std::size_t f = 0; f < 8; ++f) {
      const Footprint path = router.route(cluster.topology.endpoints()[f], cluster.topology.endpoints()[8 + f], {f});
      for (const Usage& usage : path.usages) {
        const Link& link = cluster.topology.link(LinkId{usage.resource.value()});
        if (cluster.topology.name(link.to).starts_with("spine")) spine[f] = link.to.value();
      }
      ++load[spine[f]];
    }
    int most = 0;
    for (const std::uint32_t s : spine) {
      share += 1.0 / load[s] / 8 / kSeeds;
      most = std::max(most, load[s]);
    }
    slowest += 100.0 / most / kSeeds;
    perfect += most == 1 ? 1 : 0;
  }
  EXPECT_NEAR(share, 1 - std::pow(7.0 / 8.0, 8), 0.01 * 0.6564);
  EXPECT_NEAR(slowest, 41.00, 0.41);
  EXPECT_NEAR(perfect, 24, 3 * std::sqrt(24.0));  // 8!/8^8 = 0.0024
}

TEST(KnownAnswersTest, K25PcieContention) {
  const auto topology = [] {
    const LinkSpec gen4 = make_link_spec("pcie4", LinkParams{.width = 16, .latency = 0_ns, .payload = 256_B},
                                         Profile::defaults(network_param_groups()));
    TestHost host;
    const auto cpu = host.device("cpu0", DeviceKind::kCpu);
    const auto bridge = host.device("pcie0", DeviceKind::kPcieSwitch);
    host.cable(cpu, bridge, gen4);
    for (int g = 0; g < 2; ++g) host.cable(bridge, host.device("gpu" + std::to_string(g), DeviceKind::kGpu), gen4);
    return host.freeze();
  };
  const double alone = 31.508e9 * 256 / 280;  // K24: 28.807 GB/s
  {
    FabricRun run{topology()};
    run.post("cpu0", "gpu0", 1_GB);
    run.finish();
    EXPECT_NEAR(1e9 / seconds(run.delivered(0)), alone, 0.005 * alone);
  }
  {
    FabricRun run{topology()};
    run.post("cpu0", "gpu0", 1_GB);
    run.post("cpu0", "gpu1", 1_GB);
    run.finish();
    for (const std::size_t f : {0U, 1U}) EXPECT_NEAR(seconds(run.delivered(f)), 0.0694, 0.005 * 0.0694);
  }
  {
    // The link down to GPU 1 carries its own copy and the peer's: all three get half.
    FabricRun run{topology()};
    for (const char* to : {"gpu0", "gpu1"}) run.post("cpu0", to, 1_GB);
    run.post("gpu0", "gpu1", 1_GB);
    run.finish();
    for (const std::size_t f : {0U, 1U, 2U}) EXPECT_NEAR(1e9 / seconds(run.delivered(f)), alone / 2, 0.005 * alone / 2);
  }
  {
    FabricRun run{topology()};
    run.post("gpu0", "gpu1", 1_GB);
    run.finish();
    EXPECT_NEAR(1e9 / seconds(run.delivered(0)), alone, 0.005 * alone);
  }
}

TEST(KnownAnswersTest, K26NvSwitchAllToAllWithUnequalStriping) {
  // 8 GPUs on four switches by 5, 4, 4 and 5 links of 25 GB/s: 450 GB/s per GPU.
  TestHost host;
  std::vector<std::uint32_t> gpus;
  for (int g = 0; g < 8; ++g) gpus.push_back(host.device("gpu" + std::to_string(g), DeviceKind::kGpu));
  const int links[] = {5, 4, 4, 5};
  for (int s = 0; s < 4; ++s) {
    const auto nvswitch = host.device("nvswitch" + std::to_string(s), DeviceKind::kNvSwitch);
    for (const auto g : gpus) host.cable(g, nvswitch, testing::plain_link(links[s] * 25_GBps, 0_ns));
  }
  FabricRun run{host.freeze()};
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      if (a != b) run.post("gpu" + std::to_string(a), "gpu" + std::to_string(b), 125_MB);
    }
  }
  run.finish();
  const double expected = 7.0 / 8.0 * 1e9 / 450e9;  // 1.9444 ms
  for (std::size_t f = 0; f < 56; ++f) EXPECT_NEAR(seconds(run.delivered(f)), expected, 1e-9 * expected + 1e-12);
  // Proportional striping: every port is busy for the whole time and carries just what it can.
  for (std::size_t l = 0; l < run.topology().link_count(); ++l) {
    const ResourceId id = ResourceId::from_index(l);
    EXPECT_NEAR(run.fabric().counters(id).bytes, run.fabric().capacity(id) * expected * 1e12, 1e-6 * 1e9);
  }
}

TEST(KnownAnswersTest, K26OneSwitchHopInARackOf72) {
  TestHost host;
  std::vector<std::uint32_t> gpus;
  for (int g = 0; g < 72; ++g) gpus.push_back(host.device("gpu" + std::to_string(g), DeviceKind::kGpu));
  for (int s = 0; s < 18; ++s) {
    const auto nvswitch = host.device("nvswitch" + std::to_string(s), DeviceKind::kNvSwitch);
    for (const auto g : gpus) host.cable(g, nvswitch, testing::plain_link(50_GBps, 0_ns));
  }
  FabricRun run{host.freeze()};
  for (int a = 0; a < 72; ++a) {
    for (int b = 0; b < 72; ++b) {
      if (a != b) run.post("gpu" + std::to_string(a), "gpu" + std::to_string(b), 1_MB);
    }
  }
  run.finish();
  const double expected = 71 * 1e6 / 900e9;
  for (std::size_t f = 0; f < 72U * 71U; ++f) ASSERT_NEAR(seconds(run.delivered(f)), expected, 1e-9 * expected + 1e-12);
}

TEST(KnownAnswersTest, K27HybridCubeMeshPairs) {
  // Edges of a DGX-1 with V100 (models/network §1.6), links of 25 GB/s.
  const std::vector<std::pair<int, int>> doubled = {{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}};
  const std::vector<std::pair<int, int>> single = {{0, 1}, {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}};
  const auto mesh = [&] {
    TestHost host;
    for (int g = 0; g < 8; ++g) host.device("gpu" + std::to_string(g), DeviceKind::kGpu);
    for (const auto& [a, b] : doubled)
      host.cable(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), testing::plain_link(50_GBps, 0_ns));
    for (const auto& [a, b] : single)
      host.cable(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), testing::plain_link(25_GBps, 0_ns));
    return host.freeze();
  };
  int relayed = 0;
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) {
      FabricRun run{mesh()};
      run.post("gpu" + std::to_string(a), "gpu" + std::to_string(b), 1_GB);
      run.finish();
      const double rate = 1e9 / seconds(run.delivered(0));
      const std::pair<int, int> pair{a, b};
      double expected = a + b == 7 ? 75e9 : 50e9;  // not adjacent: both relays together
      if (std::ranges::find(doubled, pair) != doubled.end()) expected = 50e9;
      if (std::ranges::find(single, pair) != single.end()) expected = 25e9;
      EXPECT_NEAR(rate, expected, 1e-6 * expected) << a << "-" << b;
      relayed += run.router().path_class(*run.topology().find("gpu" + std::to_string(a)),
                                         *run.topology().find("gpu" + std::to_string(b))) == PathClass::kNvb
                     ? 1
                     : 0;
    }
  }
  EXPECT_EQ(relayed, 12);
}

TEST(KnownAnswersTest, K28AllToAllOnAnOversubscribedTree) {
  for (const int oversubscription : {2, 1}) {
    Cluster cluster = cluster_of(
        "name: tree\nnodes: 32\nnode: {type: host}\n"
        "fabric: {type: leaf_spine, link: {type: ethernet, rate: 50 Gb/s, latency: 0 ns, efficiency: 1}, hosts_per_leaf: 8, "
        "spines: " +
        std::to_string(8 / oversubscription) + ", routing: spray}\n");
    FabricRun run{std::move(cluster.topology), "spray"};
    for (int a = 0; a < 32; ++a) {
      for (int b = 0; b < 32; ++b) {
        if (a != b) run.post("h" + std::to_string(a), "h" + std::to_string(b), 10_MB);
      }
    }
    run.finish();
    Time last{};
    for (std::size_t f = 0; f < 32U * 31U; ++f) last = std::max(last, run.delivered(f));
    // Leaf: 8 x 24 x 10 MB over its uplinks; host: 310 MB over 6.25 GB/s.
    const double expected = std::max(8 * 24 * 10e6 / (50e9 / 8 * 8 / oversubscription), 310e6 / 6.25e9);
    EXPECT_NEAR(seconds(last), expected, 0.01 * expected);
  }
}

TEST(KnownAnswersTest, K30NearestNeighboursOfATorusEachGetAWholeLink) {
  Cluster cluster = cluster_of(R"(
name: torus
nodes: 64
node: {type: host}
fabric: {type: torus, dims: [4, 4, 4], link: {type: ethernet, rate: 3200 Gb/s, latency: 0 ns, efficiency: 1},
         uplink: {type: ethernet, rate: 400 Gb/s, latency: 0 ns, efficiency: 1}, switch: {latency: 0 ns, header: 1 B}, routing: ecmp}
)");
  FabricRun run{std::move(cluster.topology), "ecmp"};
  const auto host = [](int x, int y, int z) {
    return "h" + std::to_string((((x + 4) % 4) * 4 + (y + 4) % 4) * 4 + (z + 4) % 4);
  };
  std::size_t flows = 0;
  for (int x = 0; x < 4; ++x) {
    for (int y = 0; y < 4; ++y) {
      for (int z = 0; z < 4; ++z) {
        for (const int d : {1, -1}) {
          run.post(host(x, y, z), host(x + d, y, z), 50_MB);
          run.post(host(x, y, z), host(x, y + d, z), 50_MB);
          run.post(host(x, y, z), host(x, y, z + d), 50_MB);
          flows += 3;
        }
      }
    }
  }
  run.finish();
  // 50 MB at 50 GB/s is 1 ms; the first router takes in a header of 1 B first, the second stores each packet of 4096 B in front
  // of the faster link.
  for (std::size_t f = 0; f < flows; ++f) {
    ASSERT_EQ(run.delivered(f), Time{} + 1_ms + transmission_time(1_B, 400_GBps) + transmission_time(4096_B, 400_GBps));
  }
}

}  // namespace
}  // namespace weft::net
