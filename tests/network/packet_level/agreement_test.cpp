// Where neither congestion control nor shared pauses are in play, the two fidelities agree: thirty networks, each transfer's
// completion time within 3 per cent.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/network/flow_level/flow_fabric.h"
#include "tests/support/agreement_cases.h"
#include "tests/support/packet_run.h"

namespace weft::net {
namespace {

using namespace literals;
using testing::AgreementCase;
using testing::chain_shape;
using testing::PacketRun;
using testing::PacketShape;
using testing::Post;

class FlowTimes final : private TransferListener {
 public:
  FlowTimes(const Topology& topology, const std::string& routing)
      : router_{topology, make_routing_policy(routing), 1}, fabric_{simulator_, topology} {}
  // The same order, and so the same hashes, as PacketRun's.
  std::vector<Duration> of(const std::vector<Post>& posts) {
    ends_.resize(posts.size());
    for (std::size_t i = 0; i < posts.size(); ++i) {
      const auto device = [&](int host) { return *router_.topology().find("h" + std::to_string(host)); };
      const FootprintId footprint = fabric_.add_footprint(router_.route(device(posts[i].from), device(posts[i].to), {i}));
      fabric_.post({.footprint = footprint, .bytes = posts[i].bytes, .tag = i}, *this);
    }
    simulator_.run();
    return ends_;
  }

 private:
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId, std::uint64_t tag) override { ends_[tag] = simulator_.now().since_start(); }
  void on_aborted(TransferId, std::uint64_t) override { ADD_FAILURE(); }

  Simulator simulator_;
  Router router_;
  FlowFabric fabric_;
  std::vector<Duration> ends_;
};

TEST(AgreementTest, ThirtyNetworksTakeTheSameTimeInBothFidelities) {
  const std::vector<AgreementCase> all = testing::agreement_cases();
  EXPECT_GE(all.size(), 30U);
  for (const AgreementCase& each : all) {
    SCOPED_TRACE(each.name);
    PacketRun run{each.shape.hosts,
                  each.shape.switches,
                  each.shape.cables,
                  {},
                  each.routing,
                  each.packet,
                  testing::plain_switch("s", each.store_and_forward, 64_B, each.forwarding)};
    for (const Post& post : each.posts) run.add("h" + std::to_string(post.from), "h" + std::to_string(post.to), post.bytes);
    run.run();
    run.fabric().check_conservation();
    const std::vector<Duration> flow = FlowTimes{run.topology(), each.routing}.of(each.posts);
    for (std::size_t i = 0; i < flow.size(); ++i) {
      EXPECT_NEAR(run.taken(i).us(), flow[i].us(), 0.03 * flow[i].us()) << i;
    }
  }
}

// One packet takes its time on every link before which it is stored, or where that is the last before the end, and the switch's
// 300 ns after it is there as a whole; elsewhere its head takes the time of 64 bytes and the 300 ns. Each packet more takes its
// time on the slowest link (models/network §2.2). Of 1000 bytes: 160, 80, 40 and 20 ns at 50, 100, 200 and 400 Gb/s; of 64
// bytes: 5.12, 2.56 and 1.28 ns at 100, 200 and 400 Gb/s. Links are of 100 ns.
TEST(AgreementTest, PathsOfUnequalLinksTakeTheClosedFormInBothFidelities) {
  struct Row {
    std::string name;
    std::vector<Bandwidth> rates;
    bool store_and_forward;
    double one_packet_ns;
    double each_more_ns;
  };
  const std::vector<Row> rows = {
      {"falling", {400_Gbps, 100_Gbps}, false, 1.28 + 300 + 80 + 200, 80},
      {"falling twice", {400_Gbps, 200_Gbps, 100_Gbps}, false, 1.28 + 300 + 2.56 + 300 + 80 + 300, 80},
      {"rising", {100_Gbps, 400_Gbps}, false, 80 + 300 + 20 + 200, 80},
      {"rising twice", {100_Gbps, 200_Gbps, 400_Gbps}, false, 80 + 300 + 40 + 300 + 20 + 300, 80},
      {"fast in the middle", {100_Gbps, 400_Gbps, 100_Gbps}, false, 80 + 300 + 1.28 + 300 + 80 + 300, 80},
      {"slow in the middle", {200_Gbps, 50_Gbps, 200_Gbps}, false, 2.56 + 300 + 160 + 300 + 40 + 300, 160},
      {"equal", {100_Gbps, 100_Gbps}, false, 5.12 + 300 + 80 + 200, 80},
      {"falling, stored", {400_Gbps, 100_Gbps}, true, 20 + 300 + 80 + 200, 80},
      {"rising, stored", {100_Gbps, 400_Gbps}, true, 80 + 300 + 20 + 200, 80},
      {"slow in the middle, stored", {200_Gbps, 50_Gbps, 200_Gbps}, true, 40 + 300 + 160 + 300 + 40 + 300, 160}};
  for (const Row& row : rows) {
    for (const int packets : {1, 2, 1000}) {
      SCOPED_TRACE(row.name + ", " + std::to_string(packets) + " packets");
      const PacketShape shape = chain_shape(static_cast<int>(row.rates.size()) - 1, row.rates, 100_ns);
      const Bytes bytes{1000 * packets};
      PacketRun run{
          2, shape.switches, shape.cables, {}, "ecmp", 1_KB, testing::plain_switch("s", row.store_and_forward, 64_B, 300_ns)};
      run.add("h0", "h1", bytes);
      run.run();
      const double expected_ns = row.one_packet_ns + (packets - 1) * row.each_more_ns;
      EXPECT_NEAR(run.taken(0).ns(), expected_ns, 1e-3);
      EXPECT_NEAR((FlowTimes{run.topology(), "ecmp"}.of({{0, 1, bytes}})[0].ns()), expected_ns, 2e-3);
    }
  }
}

}  // namespace
}  // namespace weft::net
