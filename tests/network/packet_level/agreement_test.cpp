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
using testing::PacketRun;
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

}  // namespace
}  // namespace weft::net
