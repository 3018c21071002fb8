#include "sim/collectives/nccl/channel_nics.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "sim/collectives/nccl/comm_info.h"
#include "sim/collectives/nccl/connect.h"
#include "sim/collectives/nccl/version.h"
#include "sim/network/builtin.h"
#include "sim/network/cluster.h"
#include "tests/support/nic_boxes.h"

namespace weft::coll::nccl {
namespace {

using Names = std::pair<std::string, std::string>;

// The NICs of connections between two nodes of two GPUs with two NICs each: ranks 0 and 1, 2 and 3.
class ChannelNicsTest : public ::testing::Test {
 protected:
  explicit ChannelNicsTest(const Settings& settings = {})
      : topology_{load(weft::testing::NicBoxes{}.yaml())},
        info_{comm_info(topology_, topology_.endpoints(), settings, NcclVersion::k2_30)},
        nics_{topology_, topology_.endpoints(), info_} {}

  static net::Topology load(const std::string& yaml) {
    Diagnostics diagnostics;
    return net::load_cluster(ConfigNode::parse(yaml, "test.yaml", "cluster"), {}, diagnostics).topology;
  }
  [[nodiscard]] Names between(Nets nets, Rank from, Rank to, int channel) const {
    const auto [leaving, entering] = nics_.between(nets, from, to, channel);
    if (!leaving.valid()) return {};
    return {topology_.name(leaving), topology_.name(entering)};
  }

  net::Topology topology_;
  CommInfo info_;
  ChannelNics nics_;
};

class ChannelNicsWithoutPxnTest : public ChannelNicsTest {
 protected:
  ChannelNicsWithoutPxnTest() : ChannelNicsTest{without_pxn()} {}
  static Settings without_pxn() {
    Settings settings;
    settings.set("PXN_DISABLE", "1");
    return settings;
  }
};

TEST_F(ChannelNicsTest, ARingLeavesAndEntersByTheNicsOfItsGraph) {
  const Connections all = connect(info_, node_ranks(topology_, topology_.endpoints()));
  ASSERT_EQ(info_.ring.channel_count(), 4);  // one a NIC
  for (int channel = 0; channel < info_.channels; ++channel) {
    const GraphChannel& searched = info_.ring.channels[static_cast<std::size_t>(channel % 4)];
    const RingOrder& ring = all.rings[static_cast<std::size_t>(channel)];
    int crossings = 0;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Rank from = ring[i];
      const Rank to = ring[(i + 1) % ring.size()];
      if (from / 2 == to / 2) continue;
      ++crossings;
      const auto nic = [](Rank rank, NetId net) {
        return "n" + std::to_string(rank / 2) + ".nic" + std::to_string(net_device(net));
      };
      EXPECT_EQ(between(Nets::kRing, from, to, channel), Names(nic(from, *searched.net_out), nic(to, *searched.net_in)));
    }
    EXPECT_EQ(crossings, 2);
  }
}

// A GPU's two NICs take turns, channel by channel.
TEST_F(ChannelNicsTest, SendsTakeTheGpusNicsInTurn) {
  EXPECT_EQ(between(Nets::kSends, 0, 2, 0), Names("n0.nic0", "n1.nic0"));
  EXPECT_EQ(between(Nets::kSends, 0, 2, 1), Names("n0.nic1", "n1.nic1"));
  EXPECT_EQ(between(Nets::kSends, 0, 2, 6), Names("n0.nic0", "n1.nic0"));
}

TEST_F(ChannelNicsTest, ASendLeavesByTheNicsOfTheGpuWithTheReceiversNumber) {
  EXPECT_EQ(between(Nets::kSends, 0, 3, 0), Names("n0.nic2", "n1.nic2"));
  EXPECT_EQ(between(Nets::kSends, 0, 3, 1), Names("n0.nic3", "n1.nic3"));
}

TEST_F(ChannelNicsWithoutPxnTest, ASendLeavesByTheSendersOwnNics) {
  EXPECT_EQ(between(Nets::kSends, 0, 3, 0), Names("n0.nic0", "n1.nic2"));
  EXPECT_EQ(between(Nets::kSends, 0, 3, 1), Names("n0.nic1", "n1.nic3"));
}

TEST_F(ChannelNicsTest, WhatIsNotNcclsNamesNone) { EXPECT_EQ(between(Nets::kAny, 0, 2, 0), Names()); }

}  // namespace
}  // namespace weft::coll::nccl
