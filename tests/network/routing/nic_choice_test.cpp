// Which NICs a flow between hosts takes. Expected shares are rates over sums of rates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/simulator.h"
#include "sim/network/builtin.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/router.h"
#include "tests/network/cluster_support.h"
#include "tests/support/nic_boxes.h"

namespace weft::net {
namespace {

using namespace literals;
using weft::testing::NicBoxes;

class NicChoice {
 public:
  explicit NicChoice(const std::string& yaml, std::string_view routing = "ecmp")
      : cluster{test::load(yaml)}, router{cluster.topology, make_routing_policy(routing), 1} {}

  [[nodiscard]] DeviceId device(const std::string& name) const { return cluster.topology.find(name).value(); }
  [[nodiscard]] std::vector<std::string> nics_of(const std::string& gpu) const {
    std::vector<std::string> names;
    for (const DeviceId nic : router.nics_of(device(gpu))) names.push_back(cluster.topology.name(nic));
    return names;
  }
  // The share of the flow's bytes each cable between hosts and fabric carries: "n0.nic1" out, and in.
  [[nodiscard]] std::map<std::string, double> shares(const std::string& from, const std::string& to, FlowKey key = {}) const {
    std::map<std::string, double> found;
    for (const Usage& usage : router.route(device(from), device(to), key).usages) {
      const Link& link = cluster.topology.link(LinkId{usage.resource.value()});
      for (const DeviceId end : {link.from, link.to}) {
        const DeviceId other = end == link.from ? link.to : link.from;
        if (cluster.topology.kind(end) == DeviceKind::kNic && cluster.topology.kind(other) == DeviceKind::kSwitch)
          found[cluster.topology.name(end)] = usage.usage;
      }
    }
    return found;
  }

  Cluster cluster;
  Router router;
};

using Shares = std::map<std::string, double>;

TEST(NicChoiceTest, AFlowIsSpreadOverAllNicsOfItsGpus) {
  const NicChoice two{NicBoxes{}.yaml()};
  EXPECT_EQ(two.nics_of("n0.gpu1"), (std::vector<std::string>{"n0.nic2", "n0.nic3"}));
  EXPECT_EQ(two.shares("n0.gpu0", "n1.gpu1"), (Shares{{"n0.nic0", 0.5}, {"n0.nic1", 0.5}, {"n1.nic2", 0.5}, {"n1.nic3", 0.5}}));
}

// Nodes whose i-th NIC hangs on switch `on[i]` by a cable of `gbps[i]`.
std::string cabled(const std::vector<int>& on, const std::vector<int>& gbps) {
  std::string links;
  for (int node = 0; node < 2; ++node) {
    for (std::size_t i = 0; i < on.size(); ++i)
      links += fmt::format("{{between: [n{}.nic{}, s{}], type: ethernet, rate: {} Gb/s}}, ", node, i, on[i], gbps[i]);
  }
  NicBoxes boxes;
  boxes.link.clear();
  boxes.fabric =
      "type: custom, devices: [{name: s0..1}], links: [" + links + "{between: [s0, s1], type: ethernet, rate: 1 Gb/s}]";
  return boxes.yaml();
}

TEST(NicChoiceTest, ANicCarriesItsPartOfWhatAllCarryTogether) {
  const NicChoice uneven{cabled({0, 0, 0, 0}, {300, 100, 100, 100})};
  EXPECT_EQ(uneven.shares("n0.gpu0", "n1.gpu0"),
            (Shares{{"n0.nic0", 0.75}, {"n0.nic1", 0.25}, {"n1.nic0", 0.75}, {"n1.nic1", 0.25}}));
  // Each side by its own rates.
  EXPECT_EQ(uneven.shares("n0.gpu0", "n1.gpu1"),
            (Shares{{"n0.nic0", 0.75}, {"n0.nic1", 0.25}, {"n1.nic2", 0.5}, {"n1.nic3", 0.5}}));
}

TEST(NicChoiceTest, AFlowThatNamesItsNicsTakesThem) {
  const NicChoice two{NicBoxes{}.yaml()};
  EXPECT_EQ(two.shares("n0.gpu0", "n1.gpu0", {0, {two.device("n0.nic1"), two.device("n1.nic0")}}),
            (Shares{{"n0.nic1", 1.0}, {"n1.nic0", 1.0}}));
}

// Two planes: NICs of one are paired, and nothing crosses the thin cable between the planes.
TEST(NicChoiceTest, EachPlaneOfTwoCarriesHalfOfAFlow) {
  const NicChoice planes{cabled({0, 1, 0, 1}, {200, 200, 200, 200})};
  EXPECT_EQ(planes.shares("n0.gpu0", "n1.gpu1"),
            (Shares{{"n0.nic0", 0.5}, {"n0.nic1", 0.5}, {"n1.nic2", 0.5}, {"n1.nic3", 0.5}}));
  const LinkId thin = planes.cluster.topology.out_links(planes.device("s0")).back();
  ASSERT_EQ(planes.cluster.topology.link(thin).to, planes.device("s1"));
  for (const Usage& usage : planes.router.route(planes.device("n0.gpu0"), planes.device("n1.gpu1"), {}).usages)
    EXPECT_NE(usage.resource.value(), thin.value());
}

TEST(NicChoiceTest, AGpuWithoutANicOfItsOwnTakesTheNearestOverPcieWithNvlinkOrWithout) {
  for (const bool nvlink : {false, true}) {
    const NicChoice half{weft::testing::half_the_nics_yaml(nvlink)};
    EXPECT_EQ(half.nics_of("n0.gpu0"), (std::vector<std::string>{"n0.nic0"})) << nvlink;
    EXPECT_EQ(half.nics_of("n0.gpu1"), (std::vector<std::string>{"n0.nic0"})) << nvlink;
    EXPECT_EQ(half.nics_of("n0.gpu3"), (std::vector<std::string>{"n0.nic1"})) << nvlink;
    EXPECT_EQ(half.shares("n0.gpu1", "n1.gpu3"), (Shares{{"n0.nic0", 1.0}, {"n1.nic1", 1.0}})) << nvlink;
  }
}

// It sends through its peer, whose memory the NIC reads from, and receives over PCIe (models/nccl §1.3).
TEST(NicChoiceTest, OverNvlinkAGpuSendsThroughThePeerBesideTheNic) {
  const NicChoice half{weft::testing::half_the_nics_yaml(true)};
  EXPECT_EQ(half.router.path_class(half.device("n0.gpu1"), half.device("n0.nic0")), PathClass::kPxn);
  EXPECT_EQ(half.router.path_class(half.device("n0.nic0"), half.device("n0.gpu1")), PathClass::kPhb);
}

TEST(NicChoiceTest, WhereItsNicIsCutOffTheNearestTakesOver) {
  NicChoice sockets{R"(
nodes: 2
node:
  name: two_sockets
  devices:
    - {name: gpu0..3, kind: gpu, sm: 90, gdr: true}
    - {name: pcie0..3, kind: pcie_switch}
    - {name: cpu0..1, kind: cpu}
    - {name: nic0..3, kind: nic, gdr: true}
  links:
    - {between: [gpu0..3], type: nvlink4, width: 4}
    - {between: [gpu0..3, pcie0..3], type: pcie5, lanes: 16, pairing: zip}
    - {between: [nic0..3, pcie0..3], type: pcie5, lanes: 16, pairing: zip}
    - {between: [pcie0..3, cpu0..1], type: pcie5, lanes: 16, pairing: block}
    - {between: [cpu0, cpu1], type: upi}
fabric: {type: single_switch, link: {type: ethernet, rate: 400 Gb/s}}
)"};
  const LinkId cable = sockets.cluster.topology.uplinks(sockets.device("n0.nic3")).front();
  for (const LinkId link : {cable, sockets.cluster.topology.link(cable).twin}) sockets.router.set_link_state(link, false);
  EXPECT_EQ(sockets.shares("n0.gpu3", "n1.gpu0"), (Shares{{"n0.nic2", 1.0}, {"n1.nic0", 1.0}}));
  EXPECT_EQ(sockets.shares("n1.gpu1", "n0.gpu3"), (Shares{{"n1.nic1", 1.0}, {"n0.nic2", 1.0}}));
}

// ---- both fidelities

class LastEnd final : public TransferListener {
 public:
  explicit LastEnd(Simulator& simulator) : simulator_{simulator} {}
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t) override { ends.push_back(simulator_.now().since_start()); }
  void on_aborted(TransferId, std::uint64_t) override { ADD_FAILURE(); }
  std::vector<Duration> ends;

 private:
  Simulator& simulator_;
};

// When each transfer is there: from every GPU of the first host to its like on the second.
std::vector<Duration> ends_of(const std::string& yaml, bool packets, Bytes bytes, std::string_view routing = "ecmp",
                              Bandwidth cap = {}) {
  const Cluster cluster = test::load(yaml);
  const Router router{cluster.topology, make_routing_policy(routing), 1};
  Simulator simulator;
  std::unique_ptr<Fabric> fabric;
  if (packets) {
    fabric = std::make_unique<PacketFabric>(simulator, router, PacketSettings{}, 1);
  } else {
    fabric = std::make_unique<FlowFabric>(simulator, cluster.topology);
  }
  LastEnd last{simulator};
  const std::vector<DeviceId>& gpus = cluster.topology.endpoints();
  for (std::size_t gpu = 0; gpu < 2; ++gpu) {
    fabric->post(
        {.footprint = fabric->add_footprint(router.route(gpus[gpu], gpus[gpu + 2], {})), .bytes = bytes, .rate_cap = cap},
        last);
  }
  simulator.run();
  fabric->check_conservation();
  return last.ends;
}

// 20 MB at 400 Gb/s take 400 us and more for headers, less than 5 per cent.
TEST(NicChoiceTest, TwoNicsOfHalfTheRateAreAsFastAsOneInBothFidelities) {
  const NicBoxes one{.nics = 1, .gbps = 400};
  for (const bool packets : {false, true}) {
    const double of_one = ends_of(one.yaml(), packets, 20_MB).back().us();
    const double of_two = ends_of(NicBoxes{}.yaml(), packets, 20_MB).back().us();
    EXPECT_GE(of_one, 400.0) << packets;
    EXPECT_LE(of_one, 420.0) << packets;
    EXPECT_NEAR(of_two, of_one, 0.03 * of_one) << packets;
  }
}

// 1 MB at 10 Gb/s takes 800 us, whatever NICs it is spread over.
TEST(NicChoiceTest, ALimitOfRateIsThatOfAllNicsTogether) {
  for (const bool packets : {false, true}) {
    const double taken = ends_of(NicBoxes{}.yaml(), packets, 1_MB, "ecmp", Bandwidth{10_Gbps}).back().us();
    EXPECT_NEAR(taken, 800.0, 40.0) << packets;
  }
}

// ---- what must change nothing

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

class SameMachineTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SameMachineTest, NamesOrderAndUnusedNodesChangeNoPacket) {
  NicBoxes boxes;
  boxes.fabric = "type: leaf_spine, hosts_per_leaf: 4";
  const std::string yaml = boxes.yaml();
  const std::vector<Duration> ends = ends_of(yaml, true, 1_MB, GetParam());
  EXPECT_EQ(ends_of(replaced(replaced(yaml, "nic0..3", "port0..3"), "pcie0..1", "bridge0..1"), true, 1_MB, GetParam()), ends);
  // GPUs listed last, and the links in another order.
  std::string turned = yaml;
  for (const std::string line : {"    - {name: gpu0..1, kind: gpu, sm: 90, gdr: true}\n",
                                 "    - {between: [gpu0..1, pcie0..1], type: pcie5, lanes: 16, pairing: zip}\n"}) {
    turned = replaced(turned, line, "");
    turned.insert(turned.find(line.find("name") == std::string::npos ? "fabric:" : "  links:"), line);
  }
  EXPECT_EQ(ends_of(turned, true, 1_MB, GetParam()), ends);
  boxes.nodes = 3;
  EXPECT_EQ(ends_of(boxes.yaml(), true, 1_MB, GetParam()), ends);
}
INSTANTIATE_TEST_SUITE_P(Routing, SameMachineTest, ::testing::Values("ecmp", "spray", "adaptive", "static", "d_mod_k"),
                         [](const auto& routing) { return std::string{routing.param}; });

}  // namespace
}  // namespace weft::net
