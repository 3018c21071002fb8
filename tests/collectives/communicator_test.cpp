#include "sim/collectives/communicator.h"

#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "tests/support/topologies.h"

namespace weft::coll {
namespace {

using namespace weft::literals;

TEST(CommunicatorTest, KnowsDevicesAndPositionsInEveryRing) {
  const net::Topology topology = testing::star(4, 1_GBps, 1_us);
  const std::vector<DeviceId> devices{topology.endpoints()[3], topology.endpoints()[1], topology.endpoints()[0]};
  const Communicator communicator{topology, devices, {{0, 1, 2}, {2, 0, 1}}};
  EXPECT_EQ(communicator.ranks(), 3);
  EXPECT_EQ(communicator.nodes(), 3);
  EXPECT_EQ(communicator.channels(), 2);
  EXPECT_EQ(communicator.device(0), topology.endpoints()[3]);
  EXPECT_EQ(communicator.position(0, 2), 2);
  EXPECT_EQ(communicator.position(1, 2), 0);
  EXPECT_EQ(communicator.position(1, 0), 1);
}

TEST(CommunicatorTest, RankOrderIsTheSameOnEveryChannel) {
  EXPECT_EQ(rank_order_rings(3, 2), (std::vector<RingOrder>{{0, 1, 2}, {0, 1, 2}}));
}

TEST(CommunicatorTest, CountsHostsNotRanks) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  host.name = "pair";
  for (const auto name : {"gpu0", "gpu1"}) {
    net::TemplateDevice gpu;
    gpu.name = name;
    host.devices.push_back(gpu);
  }
  const std::uint32_t id = builder.add_template(host);
  for (int i = 0; i < 3; ++i) builder.add_host(id);
  const net::Topology topology = std::move(builder).freeze();
  EXPECT_EQ(Communicator(topology, topology.endpoints(), {{0, 1, 2, 3, 4, 5}}).nodes(), 3);
  EXPECT_EQ(Communicator(topology, {topology.endpoints()[2], topology.endpoints()[3]}, {{0, 1}}).nodes(), 1);
}

TEST(CommunicatorTest, RefusesWhatIsNoPermutationAndDevicesUsedTwice) {
  const net::Topology topology = testing::star(3, 1_GBps, 1_us);
  const std::vector<DeviceId>& devices = topology.endpoints();
  EXPECT_THROW((Communicator{topology, {}, {{}}}), InternalError);
  EXPECT_THROW((Communicator{topology, devices, {}}), InternalError);
  EXPECT_THROW((Communicator{topology, devices, {{0, 1}}}), InternalError);
  EXPECT_THROW((Communicator{topology, devices, {{0, 1, 1}}}), InternalError);
  EXPECT_THROW((Communicator{topology, devices, {{0, 1, 3}}}), InternalError);
  EXPECT_THROW((Communicator{topology, devices, {{0, 1, 2}, {0, 1, -1}}}), InternalError);
  EXPECT_THROW((Communicator{topology, {devices[0], devices[1], devices[0]}, {{0, 1, 2}}}), InternalError);
}

}  // namespace
}  // namespace weft::coll
