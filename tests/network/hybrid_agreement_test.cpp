// Hybrid fidelity against packets throughout, where flows and packets agree by themselves: whatever part of the links is
// chosen, each transfer's completion time is within 3 per cent. With no link chosen it is flow fidelity to the picosecond, with
// all of them packet fidelity.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/core/config/node.h"
#include "sim/core/random.h"
#include "sim/network/cluster.h"
#include "tests/support/agreement_cases.h"
#include "tests/support/hybrid_run.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::AgreementCase;
using testing::HybridPost;
using testing::HybridRun;
using testing::PacketRun;
using Kind = HybridRun::Kind;

constexpr double kBound = 0.03;

// A case with the times of its transfers' posts, and its network.
struct Network {
  explicit Network(const AgreementCase& each)
      : run{each.shape.hosts,
            each.shape.switches,
            each.shape.cables,
            {},
            each.routing,
            each.packet,
            testing::plain_switch("s", each.store_and_forward, Bytes{64}, each.forwarding)},
        routing{each.routing} {
    for (const testing::Post& post : each.posts)
      posts.push_back({"h" + std::to_string(post.from), "h" + std::to_string(post.to), post.bytes});
  }
  [[nodiscard]] const Topology& topology() { return run.topology(); }

  PacketRun run;  // nothing is sent there
  std::string routing;
  std::vector<HybridPost> posts;
};

std::vector<bool> links_if(const Topology& topology, auto chosen) {
  std::vector<bool> links(topology.link_count());
  for (std::size_t i = 0; i < links.size(); ++i) links[i] = chosen(LinkId::from_index(i));
  return links;
}

// Returns four choices of links: those of odd hosts, those of one of them, those out of the first switch, every other one.
std::vector<std::vector<bool>> choices(const Topology& topology) {
  const auto touches = [&](LinkId link, auto device) {
    return device(topology.name(topology.link(link).from)) || device(topology.name(topology.link(link).to));
  };
  const auto odd_host = [](const std::string& name) { return name[0] == 'h' && (name.back() - '0') % 2 == 1; };
  return {links_if(topology, [&](LinkId link) { return touches(link, odd_host); }),
          links_if(topology, [&](LinkId link) { return touches(link, [](const std::string& name) { return name == "h1"; }); }),
          links_if(topology, [&](LinkId link) { return topology.name(topology.link(link).from) == "s0"; }),
          links_if(topology, [&](LinkId link) { return link.value() % 4 < 2; })};
}

struct Tally {
  int runs = 0;
  int mixed = 0;   // with transfers of both kinds
  int shared = 0;  // with a link of both kinds
  double worst = 0;
};

void compare(const Topology& topology, const std::string& routing, const std::vector<HybridPost>& posts,
             const std::vector<bool>& chosen, const std::vector<Duration>& packet, Tally& tally,
             const PacketSettings& settings = {}) {
  HybridRun run{topology, routing, Kind::kHybrid, chosen, settings};
  const std::vector<Duration> hybrid = run.of(posts);
  for (std::size_t i = 0; i < posts.size(); ++i) {
    EXPECT_NEAR(hybrid[i].us(), packet[i].us(), kBound * packet[i].us()) << i << " " << posts[i].from << " " << posts[i].to;
    tally.worst = std::max(tally.worst, std::abs(hybrid[i].us() / packet[i].us() - 1));
  }
  const HybridTotals& totals = run.hybrid().hybrid_totals();
  ++tally.runs;
  tally.mixed += totals.packet_transfers > 0 && totals.flow_transfers > 0 ? 1 : 0;
  tally.shared += totals.shared_links > 0 ? 1 : 0;
}

TEST(HybridAgreementTest, ThirtyNetworksWhateverPartIsPackets) {
  Tally tally;
  for (const AgreementCase& each : testing::agreement_cases()) {
    SCOPED_TRACE(each.name);
    Network network{each};
    const std::vector<Duration> packet = HybridRun{network.topology(), each.routing, Kind::kPacket}.of(network.posts);
    for (const std::vector<bool>& chosen : choices(network.topology())) {
      compare(network.topology(), each.routing, network.posts, chosen, packet, tally);
    }
    const std::vector<bool> none(network.topology().link_count(), false);
    const std::vector<bool> all(network.topology().link_count(), true);
    EXPECT_EQ((HybridRun{network.topology(), each.routing, Kind::kHybrid, none}.of(network.posts)),
              (HybridRun{network.topology(), each.routing, Kind::kFlow}.of(network.posts)));
    EXPECT_EQ((HybridRun{network.topology(), each.routing, Kind::kHybrid, all}.of(network.posts)), packet);
  }
  EXPECT_GE(tally.runs, 120);
  EXPECT_GE(tally.mixed, 20);
  EXPECT_GE(tally.shared, 10);
  RecordProperty("worst", std::to_string(tally.worst));
}

// Transfers of random sizes at random times out of one host, whose NIC serves them in turn: what a processor shared by all
// would do, which flow fidelity is.
TEST(HybridAgreementTest, FortyRandomMixesOutOfOneHost) {
  Tally tally;
  for (int seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random{static_cast<std::uint64_t>(seed), "hybrid"};
    Network network{{.name = "star", .shape = testing::star_shape(9, 100_Gbps, 500_ns)}};
    for (int i = 1; i <= 8; ++i) {
      const auto at = static_cast<std::int64_t>(random.below(100'000'000));
      const auto bytes = 200'000 + static_cast<std::int64_t>(random.below(800'000));
      network.posts.push_back({"h0", "h" + std::to_string(i), Bytes{bytes}, Time::from_ps(at)});
    }
    const std::vector<Duration> packet = HybridRun{network.topology(), "ecmp", Kind::kPacket}.of(network.posts);
    const std::vector<bool> chosen = links_if(network.topology(), [&](LinkId link) {
      return network.topology().link(link).from == network.run.device("s0") && random.below(2) == 1;
    });
    compare(network.topology(), "ecmp", network.posts, chosen, packet, tally);
  }
  EXPECT_EQ(tally.runs, 40);
  EXPECT_GE(tally.shared, 30);
  RecordProperty("worst", std::to_string(tally.worst));
}

// An incast under PFC, where flow fidelity is off by tens of per cent: a pause is for a port, not for a flow. With packets for
// what passes the incast's leaf and flows for the leaves beside it, all transfers take the time that they take as packets.
TEST(HybridAgreementTest, TenIncastsAmongFlowsThatTheyDoNotMeet) {
  Tally tally;
  double most_wrong = 0;
  PacketSettings settings;
  settings.pfc.priorities = priority_bit(0);
  for (int seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random{static_cast<std::uint64_t>(seed), "incast"};
    // Leaves s0 to s3 of six hosts each, spines s4 and s5.
    Network network{{.name = "incast", .shape = testing::leaf_spine_shape(4, 6, 2, 100_Gbps, 400_Gbps, 500_ns)}};
    for (int i = 1; i <= 10; ++i) {
      network.posts.push_back(
          {"h" + std::to_string(i), "h0", Bytes{200'000 + static_cast<std::int64_t>(random.below(300'000))}});
    }
    for (int i = 12; i < 24; ++i) {
      const int to = 12 + (i - 12 + 1) % 12;
      network.posts.push_back({"h" + std::to_string(i), "h" + std::to_string(to), 1_MB});
    }
    const std::vector<Duration> packet = HybridRun{network.topology(), "ecmp", Kind::kPacket, {}, settings}.of(network.posts);
    const std::vector<Duration> flow = HybridRun{network.topology(), "ecmp", Kind::kFlow}.of(network.posts);
    const DeviceId leaf = network.run.device("s0");
    const std::vector<bool> chosen = links_if(network.topology(), [&](LinkId link) {
      return network.topology().link(link).from == leaf || network.topology().link(link).to == leaf;
    });
    compare(network.topology(), "ecmp", network.posts, chosen, packet, tally, settings);
    for (std::size_t i = 0; i < flow.size(); ++i)
      most_wrong = std::max(most_wrong, std::abs(flow[i].us() / packet[i].us() - 1));
  }
  EXPECT_EQ(tally.mixed, 10);
  EXPECT_GT(most_wrong, 0.3);
  RecordProperty("worst", std::to_string(tally.worst));
}

// Traffic from host to host is packets; traffic that stays inside is flows, over NVLink, and over PCIe beside the packets.
class HybridNodeAgreementTest : public ::testing::TestWithParam<const char*> {};

TEST_P(HybridNodeAgreementTest, PacketsBetweenHostsAndFlowsInside) {
  Diagnostics diagnostics;
  const std::string yaml = std::string{"{name: two, nodes: 2, node: {type: "} + GetParam() +
                           "}, fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s, latency: 500 ns}}}";
  const Cluster cluster = load_cluster(ConfigNode::parse(yaml, "test.yaml", "cluster"), {}, diagnostics);
  const Topology& topology = cluster.topology;
  const std::vector<bool> between = links_if(topology, [&](LinkId link) {
    return topology.host_of(topology.link(link).from) != topology.host_of(topology.link(link).to);
  });
  const std::vector<std::vector<std::pair<const char*, const char*>>> cases{
      {{"n0.gpu0", "n1.gpu0"}, {"n0.gpu0", "n0.gpu3"}},
      {{"n0.gpu0", "n1.gpu0"}, {"n0.gpu1", "n0.gpu2"}, {"n1.gpu1", "n0.gpu1"}},
      {{"n0.gpu1", "n1.gpu3"}, {"n0.gpu1", "n0.gpu3"}, {"n1.gpu3", "n1.gpu2"}},
      {{"n0.gpu0", "n1.gpu0"}, {"n0.gpu0", "n0.gpu1"}, {"n0.gpu0", "n0.gpu2"}, {"n1.gpu0", "n1.gpu1"}}};
  Tally tally;
  for (const auto& pairs : cases) {
    std::vector<HybridPost> posts;
    for (const auto& [from, to] : pairs) posts.push_back({from, to, 20_MB});
    const std::vector<Duration> packet = HybridRun{topology, "ecmp", Kind::kPacket}.of(posts);
    compare(topology, "ecmp", posts, between, packet, tally);
  }
  EXPECT_EQ(tally.mixed, tally.runs);
  RecordProperty("worst", std::to_string(tally.worst));
}
INSTANTIATE_TEST_SUITE_P(Nodes, HybridNodeAgreementTest, ::testing::Values("dgx1_v100", "dgx_a100", "dgx_h100"));

}  // namespace
}  // namespace weft::net
