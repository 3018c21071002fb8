// A call at hybrid fidelity runs as packets only if any of its messages may be packets.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/collectives/executor.h"
#include "sim/collectives/runner.h"
#include "sim/network/builtin.h"
#include "tests/support/schedules.h"
#include "tests/support/two_spines.h"

namespace weft::coll {
namespace {

using namespace literals;

// Ranks on two hosts of one switch, h0 and h1; what leaves one of the hosts, or comes to it, is packets.
class HybridCallTest : public ::testing::Test {
 protected:
  HybridCallTest() : topology_{testing::two_spines(Bytes{1000})} {}

  [[nodiscard]] std::vector<bool> cable_of(std::size_t host) const {
    std::vector<bool> links(topology_.link_count());
    for (const LinkId link : topology_.out_links(topology_.endpoints()[host])) {
      links[link.index()] = links[topology_.link(link).twin.index()] = true;
    }
    return links;
  }
  [[nodiscard]] std::vector<DeviceId> ranks() const { return {topology_.endpoints()[0], topology_.endpoints()[1]}; }
  [[nodiscard]] CollectiveResult run(const net::FabricChoice& choice) const {
    net::Machine machine{topology_, "ecmp", 1, 0, choice};
    ParamGroups groups = collective_param_groups();
    for (const auto& group : net::network_param_groups()) groups.push_back(group);
    const Profile profile = Profile::defaults(groups);
    CollectiveRunner runner{machine, profile, ranks()};
    RunOptions options;
    options.algorithm = "plain_ring";
    options.chunk_messages = 1;  // the call has more than `auto` simulates one by one
    return runner.run({.kind = Collective::kAllReduce, .bytes = 1_MiB}, options);
  }

  [[nodiscard]] net::FabricChoice packets_over(std::vector<bool> links) const {
    return {.fidelity = net::Fidelity::kHybrid, .packet = &settings_, .packet_links = std::move(links)};
  }

  net::Topology topology_;
  net::PacketSettings settings_;
};

TEST_F(HybridCallTest, WithoutAMessageOverChosenLinksACallIsThatOfFlowFidelity) {
  const CollectiveResult flow = run({});
  const CollectiveResult hybrid = run(packets_over(cable_of(2)));
  EXPECT_EQ(flow.grain, Grain::kFluid);
  EXPECT_EQ(hybrid.grain, flow.grain);
  EXPECT_EQ(hybrid.time, flow.time);
  EXPECT_EQ(hybrid.digest, flow.digest);
}

TEST_F(HybridCallTest, AMessageOverAChosenLinkMakesACallOneOfPackets) {
  EXPECT_EQ(run(packets_over(cable_of(1))).grain, Grain::kChunk);
}

TEST_F(HybridCallTest, AScheduleCrossesTheLinksOfItsSendersAndReceivers) {
  net::Machine machine{topology_, "ecmp", 1};
  const Communicator communicator{topology_, ranks(), rank_order_rings(2, 1)};
  const Executor executor{machine.simulator, machine.fabric, machine.router, communicator};
  testing::TableSchedule one_way{2, 1};
  Step step;
  step.send_to = 1;
  step.bytes = 1_KiB;
  step.use_source = true;
  one_way.lane(0).push_back(step);
  std::vector<bool> back(topology_.link_count());
  back[topology_.out_links(ranks()[1]).front().index()] = true;
  EXPECT_TRUE(executor.crosses(one_way, cable_of(0)));
  EXPECT_TRUE(executor.crosses(one_way, cable_of(1)));
  EXPECT_FALSE(executor.crosses(one_way, cable_of(2)));
  EXPECT_FALSE(executor.crosses(one_way, back));
}

}  // namespace
}  // namespace weft::coll
