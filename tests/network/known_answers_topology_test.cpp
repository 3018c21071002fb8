// Known answers of models/network §7 about sizes of topologies and rates of links.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "sim/network/builtin.h"
#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using Counts = std::map<std::string, int>;

Profile defaults() { return Profile::defaults(network_param_groups()); }

// K2: the parameters that store-and-forward and cut-through take, s = 300 ns and a header of 64 B, are on every switch.
TEST(KnownAnswersTopologyTest, K2SwitchesCarryTheirForwarding) {
  const Topology t = hosts_on(32, "type: fat_tree, k: 8, switch: {latency: 300 ns, forwarding: cut_through, header: 64 B}");
  for (const DeviceId device : t.fabric_switches()) {
    EXPECT_EQ(t.forwarding(device),
              (Forwarding{.latency = Duration::from_ns(300), .store_and_forward = false, .header = Bytes{64}}));
  }
}

// K21 (a): k^3/4 hosts on 5k^2/4 switches: 4: 16 and 20; 8: 128 and 80; 32: 8192 and 1280.
TEST(KnownAnswersTopologyTest, K21aFatTreeSizes) {
  for (const int k : {4, 8, 32}) {
    const Topology t = hosts_on(k * k * k / 4, fmt::format("type: fat_tree, k: {}", k));
    EXPECT_EQ(switch_counts(t), (Counts{{"edge", k * k / 2}, {"agg", k * k / 2}, {"core", k * k / 4}}));
    EXPECT_EQ(static_cast<int>(t.fabric_switches().size()), 5 * k * k / 4);
    EXPECT_EQ(cable_counts(t), (Counts{{"h-edge", k * k * k / 4}, {"edge-agg", k * k * k / 4}, {"agg-core", k * k * k / 4}}));
    // All ports of all switches are used.
    for (const DeviceId device : t.fabric_switches()) ASSERT_EQ(static_cast<int>(t.out_links(device).size()), k);
  }
}

// K21 (a): 2 tiers, non-blocking: k^2/2 hosts, k leaves, k/2 spines; k = 64: 2048 hosts, 96 switches.
TEST(KnownAnswersTopologyTest, K21aLeafSpineSizes) {
  const Topology t = hosts_on(2048, "type: leaf_spine, leaf_ports: 64");
  EXPECT_EQ(switch_counts(t), (Counts{{"leaf", 64}, {"spine", 32}}));
  EXPECT_EQ(cable_counts(t), (Counts{{"h-leaf", 2048}, {"leaf-spine", 2048}}));
}

// K21 (b): NVIDIA's published SuperPOD counts, 8 NICs per node and 64-port switches; node-leaf = leaf-spine (= spine-core)
// cables.
TEST(KnownAnswersTopologyTest, K21bSuperPodSizes) {
  struct Row {
    int nodes, leaves, spines, cores;
  };
  for (const Row& row : {Row{32, 8, 4, 0}, Row{64, 16, 8, 0}, Row{128, 32, 16, 0}, Row{256, 64, 32, 0}, Row{512, 128, 128, 64},
                         Row{1024, 256, 256, 128}, Row{2048, 512, 512, 256}}) {
    const Topology t =
        load(shipped_node("dgx_h100_superpod").with_override("nodes", std::to_string(row.nodes), "test")).topology;
    Counts switches{{"leaf", row.leaves}, {"spine", row.spines}};
    Counts cables{{"nic-leaf", 8 * row.nodes}, {"leaf-spine", 8 * row.nodes}};
    if (row.cores > 0) {
      switches["core"] = row.cores;
      cables["spine-core"] = 8 * row.nodes;
    }
    EXPECT_EQ(switch_counts(t), switches) << row.nodes;
    EXPECT_EQ(cable_counts(t), cables) << row.nodes;
    for (const DeviceId device : t.fabric_switches()) ASSERT_EQ(t.out_links(device).size(), 64U) << t.name(device);
  }
}

// K24: gen x16, MPS, 64-bit posted writes, no DLLPs, in GB/s; exact to 0.1 %.
TEST(KnownAnswersTopologyTest, K24PcieEffectiveBandwidth) {
  struct Row {
    const char* type;
    std::int64_t mps;
    double gigabytes_per_second;
  };
  for (const Row& row :
       {Row{"pcie4", 256, 28.807}, Row{"pcie3", 256, 14.404}, Row{"pcie5", 256, 57.614}, Row{"pcie4", 128, 26.533},
        Row{"pcie6", 128, 104.9}, Row{"pcie6", 256, 111.1}, Row{"pcie6", 512, 114.4}}) {
    const LinkSpec spec = make_link_spec(row.type, {.width = 16, .payload = Bytes{row.mps}}, defaults());
    EXPECT_NEAR(spec.capacity() * 1e3, row.gigabytes_per_second, 1e-3 * row.gigabytes_per_second) << row.type;
  }
}

// Links between GPUs: number of NVLinks of each ordered pair.
std::array<std::array<int, 8>, 8> nvlinks(const Topology& t) {
  std::array<std::array<int, 8>, 8> links{};
  for (std::size_t i = 0; i < 8; ++i) {
    for (const LinkId link : t.out_links(t.endpoints()[i])) {
      if (t.kind(t.link(link).to) == DeviceKind::kGpu) links[i][t.local(t.link(link).to)] += t.spec(link).width;
    }
  }
  return links;
}

// K27 (a): the hybrid cube mesh of DGX-1 V100 is the matrix of models/network §1.6; 6 links per GPU, 24 in all, 16 adjacent
// pairs.
TEST(KnownAnswersTopologyTest, K27aHybridCubeMeshCounts) {
  const std::array<std::array<int, 8>, 8> matrix{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                  {1, 0, 2, 1, 0, 2, 0, 0},
                                                  {1, 2, 0, 2, 0, 0, 1, 0},
                                                  {2, 1, 2, 0, 0, 0, 0, 1},
                                                  {2, 0, 0, 0, 0, 1, 1, 2},
                                                  {0, 2, 0, 0, 1, 0, 2, 1},
                                                  {0, 0, 1, 0, 1, 2, 0, 2},
                                                  {0, 0, 0, 1, 2, 1, 2, 0}}};
  const auto v100 = nvlinks(shipped("dgx1_v100").topology);
  EXPECT_EQ(v100, matrix);
  const auto p100 = nvlinks(shipped("dgx1_p100").topology);
  int links = 0;
  int adjacent = 0;
  int apart = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    int of_gpu = 0;
    int of_p100 = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      of_gpu += v100[i][j];
      of_p100 += p100[i][j];
      EXPECT_EQ(p100[i][j], v100[i][j] > 0 ? 1 : 0);
      if (j <= i) continue;
      links += v100[i][j];
      ++(v100[i][j] > 0 ? adjacent : apart);
    }
    EXPECT_EQ(of_gpu, 6);
    EXPECT_EQ(of_p100, 4);
  }
  EXPECT_EQ(links, 24);
  EXPECT_EQ(adjacent, 16);
  EXPECT_EQ(apart, 12);
}

// K27 (b): direct rates are 25 or 50 GB/s; 20 on P100.
TEST(KnownAnswersTopologyTest, K27bHybridCubeMeshRates) {
  const auto rates = [](const Topology& t) {
    std::set<double> found;
    for (std::size_t i = 0; i < t.link_count(); ++i) {
      const LinkId link = LinkId::from_index(i);
      if (t.kind(t.link(link).from) == DeviceKind::kGpu && t.kind(t.link(link).to) == DeviceKind::kGpu) {
        found.insert(t.spec(link).rate.gigabytes_per_second());
      }
    }
    return found;
  };
  EXPECT_EQ(rates(shipped("dgx1_v100").topology), (std::set<double>{25, 50}));
  EXPECT_EQ(rates(shipped("dgx1_p100").topology), (std::set<double>{20}));
}

// K29: 400 Gb/s of RoCEv2 leave 400 x 4096/4178 = 392.15 Gb/s for payload, and 370.34 with packets of 1024 B.
TEST(KnownAnswersTopologyTest, K29RoceGoodput) {
  const auto goodput_gbps = [](std::int64_t payload) {
    const LinkParams params{.rate = Bandwidth::from_bits_per_second(400'000'000'000), .payload = Bytes{payload}};
    const LinkSpec spec = make_link_spec("ethernet", params, defaults());
    return spec.rate.gbps() * spec.efficiency;
  };
  EXPECT_NEAR(goodput_gbps(4096), 392.15, 0.005);
  EXPECT_NEAR(goodput_gbps(1024), 370.34, 0.005);
}

// K30: a 4 x 4 x 4 torus at 50 GB/s: 384 directed links, 1.6 TB/s of bisection, diameter 6, 3 x 64/63 hops on average.
TEST(KnownAnswersTopologyTest, K30Torus) {
  const Topology t = hosts_on(64, "type: torus, dims: [4, 4, 4], uplink: {type: ethernet, rate: 50 GB/s}");
  int links = 0;
  Bandwidth bisection;
  for (std::size_t i = 0; i < t.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const Link& link = t.link(id);
    if (t.host_of(link.from) >= 0 || t.host_of(link.to) >= 0) continue;
    ++links;
    // The halves x < 2 and x >= 2, along the first dimension.
    const bool from_low = label(t, link.from, "position").front() < '2';
    const bool to_low = label(t, link.to, "position").front() < '2';
    if (from_low && !to_low) bisection = bisection + t.spec(id).rate;
  }
  EXPECT_EQ(links, 6 * 64);
  EXPECT_EQ(bisection, Bandwidth::from_bytes_per_second(1'600'000'000'000));

  int diameter = 0;
  int sum = 0;
  for (const DeviceId from : t.fabric_switches()) {
    const std::vector<int> hops = hops_from(t, from, [&](DeviceId device) { return t.host_of(device) < 0; });
    for (const DeviceId to : t.fabric_switches()) {
      diameter = std::max(diameter, hops[to.index()]);
      sum += hops[to.index()];
    }
  }
  EXPECT_EQ(diameter, 6);
  EXPECT_EQ(sum, 3 * 64 * 64);  // 3 x 64/63 = 3.0476 over the 64 x 63 distinct pairs
}

// models/network §5.2: balanced dragonflies of h = 2 and 4 hold 72 and 1056 hosts.
TEST(KnownAnswersTopologyTest, DragonflySizes) {
  for (const auto& [h, hosts] : {std::pair{2, 72}, {4, 1056}}) {
    const Topology t = hosts_on(hosts, fmt::format("type: dragonfly, p: {}", h));
    const int groups = 2 * h * h + 1;
    EXPECT_EQ(static_cast<int>(t.fabric_switches().size()), 2 * h * groups);
    for (const DeviceId router : t.fabric_switches()) {
      ASSERT_EQ(static_cast<int>(t.out_links(router).size()), h + (2 * h - 1) + h);  // radix p + a - 1 + h
    }
    EXPECT_FALSE(load_errors(hosts_yaml(hosts + 1, fmt::format("type: dragonfly, p: {}", h))).empty());
  }
}

}  // namespace
}  // namespace weft::net::test
