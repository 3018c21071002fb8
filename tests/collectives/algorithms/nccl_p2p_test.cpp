#include <gtest/gtest.h>

#include <set>

#include "sim/collectives/verifier.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;

std::unique_ptr<Schedule> plan(const Group& group, const CollectiveCall& of, int channels, int channels_per_transfer,
                               Bytes chunk = 512_KiB, Bytes part = {}) {
  Choice choice{.algorithm = "nccl_p2p", .channels = channels, .chunk = chunk};
  choice.channels_per_transfer = channels_per_transfer;
  choice.transfer_part = part;
  return make_algorithm("nccl_p2p")->plan(group.communicator(), of, choice);
}

// models/nccl §3.6, one node: round r is localDelta r, on channel rev(r). With 4 channels rounds 0 .. 4 are on 0, 2, 1, 3 and
// 0.
TEST(NcclP2pTest, RoundsSpreadOverTheChannelsByBitReversal) {
  const Group group{std::vector<int>{5}, 4};
  const auto p2p = plan(group, call(Collective::kAllToAll, 5 * 64_B), 4, 1);
  const int channels[] = {0, 2, 1, 3, 0};
  for (int round = 0; round < 5; ++round) {
    for (int channel = 0; channel < 4; ++channel) {
      ASSERT_EQ(p2p->step_count(1, channel, 2 * round), channel == channels[round] ? 1 : 0) << round;
      ASSERT_EQ(p2p->step_count(1, channel, 2 * round + 1), channel == channels[round] && round > 0 ? 1 : 0) << round;
    }
    const Step send = p2p->step(1, channels[round], 2 * round, 0);
    EXPECT_EQ(send.source.offset, 64 * ((1 + round) % 5));
    if (round == 0) continue;
    EXPECT_EQ(send.send_to, Peers{(1 + round) % 5});
    EXPECT_EQ(p2p->step(1, channels[round], 2 * round + 1, 0).receive_from, Peers{(1 + 5 - round) % 5});
  }
  EXPECT_TRUE(p2p->step(1, 0, 0, 0).send_to.empty());  // its own block
  EXPECT_TRUE(p2p->step(1, 0, 0, 0).store);
}

// A send beside a receive has 11 of 20 warps, and the receive 9; alone each has all. Five rounds on one channel have four each,
// one of which copies (models/nccl §3.6).
TEST(NcclP2pTest, ATransferThatGoesOneWayHasAllItsWarps) {
  const auto both = plan(Group{std::vector<int>{2}}, call(Collective::kSendRecv, 64_KiB), 1, 1);
  EXPECT_DOUBLE_EQ(both->warp_share(0, 0, 2), 11 / 20.0);
  EXPECT_DOUBLE_EQ(both->warp_share(0, 0, 3), 9 / 20.0);
  const auto gather = plan(Group{std::vector<int>{2}}, call(Collective::kGather, 64_KiB), 1, 1);
  EXPECT_DOUBLE_EQ(gather->warp_share(1, 0, 2), 1.0);
  const auto all = plan(Group{std::vector<int>{5}}, call(Collective::kAllToAll, 5 * 64_KiB), 1, 1);
  EXPECT_DOUBLE_EQ(all->warp_share(0, 0, 0), 4 / 20.0);
  EXPECT_DOUBLE_EQ(all->warp_share(0, 0, 2), 2 / 20.0);
  EXPECT_DOUBLE_EQ(all->warp_share(0, 0, 3), 2 / 20.0);
}

TEST(NcclP2pTest, AMessageOneWayIsHalfOfAnExchange) {
  const Group group{std::vector<int>{2}};
  CollectiveCall of = call(Collective::kSendRecv, 64_KiB);
  EXPECT_EQ(weft::testing::traffic_of_steps(*plan(group, of, 1, 1)).size(), 2U);
  of.one_way = true;
  const auto p2p = plan(group, of, 1, 1);
  const auto traffic = weft::testing::traffic_of_steps(*p2p);
  ASSERT_EQ(traffic.size(), 1U);
  EXPECT_EQ(traffic.begin()->first.second, (std::pair<Rank, Rank>{0, 1}));
  EXPECT_EQ(traffic.begin()->second, (64_KiB).count());
  EXPECT_DOUBLE_EQ(p2p->warp_share(0, 0, 2), 1.0);
  EXPECT_DOUBLE_EQ(p2p->warp_share(1, 0, 3), 1.0);
  EXPECT_EQ(p2p->fluid_flow_count(), 1);
}

// One channel, 20 ranks: lane 2s sends in rounds s, s + 8 and s + 16; the ninth round waits for the first one's warps.
TEST(NcclP2pTest, EightRoundsRunAtATime) {
  const Group group{std::vector<int>{20}};
  const auto p2p = plan(group, call(Collective::kAllToAll, 20 * 64_B), 1, 1);
  EXPECT_EQ(p2p->lanes(0, 0), 16);
  EXPECT_EQ(p2p->step_count(0, 0, 2 * 3), 3);
  EXPECT_EQ(p2p->step_count(0, 0, 2 * 4), 2);
  for (int batch = 0; batch < 3; ++batch) {
    EXPECT_EQ(p2p->step(0, 0, 2 * 3, batch).send_to, Peers{3 + 8 * batch});
    EXPECT_EQ(p2p->step(0, 0, 2 * 3 + 1, batch).receive_from, Peers{20 - 3 - 8 * batch});
  }
  // Lane 1 does not copy, so that it begins with round 8.
  EXPECT_EQ(p2p->step_count(0, 0, 1), 2);
  EXPECT_EQ(p2p->step(0, 0, 1, 0).receive_from, Peers{12});
}

// Parts of 4 KiB at least: 10,000 B on 4 channels are 4,096, 4,096 and 1,808 B; in chunks of 2,048: 2, 2 and 1.
TEST(NcclP2pTest, PartsRunOnChannelsOfTheirOwn) {
  const Group group{std::vector<int>{2}, 4};
  const auto p2p = plan(group, call(Collective::kSendRecv, Bytes{10'000}), 4, 4, 2_KiB);
  // Round 1 begins at channel rev(1) = 2.
  const std::int64_t chunks[] = {1, 0, 2, 2};
  for (int channel = 0; channel < 4; ++channel) EXPECT_EQ(p2p->step_count(0, channel, 2), chunks[channel]);
  EXPECT_EQ(p2p->step(0, 3, 2, 1).source.offset, 4096 + 2048);
  EXPECT_EQ(p2p->step(0, 0, 2, 0).source.offset, 8192);
  EXPECT_EQ(p2p->step(0, 0, 2, 0).bytes, 1808_B);
  // As the planner says: 8 KiB and the rest.
  const auto planned = plan(group, call(Collective::kSendRecv, Bytes{10'000}), 4, 2, 2_KiB, 8_KiB);
  EXPECT_EQ(planned->step_count(0, 2, 2), 4);
  EXPECT_EQ(planned->step_count(0, 3, 2), 1);
}

// Nodes of two, groups of two (models/nccl §3.6): group deltas 0 1 3 2 (quadratic over four groups).
TEST(NcclP2pTest, GroupsAreVisitedInQuadraticOrder) {
  const Group group{{2, 2, 2, 2}};
  const auto p2p = plan(group, call(Collective::kAllToAll, 8 * 64_B), 1, 1);
  const Rank to[] = {0, 1, 2, 3, 6, 7, 4, 5};
  for (int round = 1; round < 8; ++round) EXPECT_EQ(p2p->step(0, 0, 2 * round, 0).send_to, Peers{to[round]}) << round;
}

TEST(NcclP2pTest, GatherAndScatterInvolveTheRootOnly) {
  const Group group{{3, 3}, 2};
  for (const auto& [kind, from_root] : {std::pair{Collective::kGather, false}, std::pair{Collective::kScatter, true}}) {
    const auto traffic = weft::testing::traffic_of_steps(*plan(group, call(kind, 6 * 64_B, 2), 2, 1));
    ASSERT_EQ(traffic.size(), 5U);
    std::set<Rank> others;
    for (const auto& [edge, bytes] : traffic) {
      EXPECT_EQ(from_root ? edge.second.first : edge.second.second, 2);
      others.insert(from_root ? edge.second.second : edge.second.first);
      EXPECT_EQ(bytes, 64);
    }
    EXPECT_EQ(others.size(), 5U);
  }
}

TEST(NcclP2pTest, EveryPartIsAFlow) {
  const Group group{std::vector<int>{3}, 4};
  const auto p2p = plan(group, call(Collective::kAllToAll, 3 * 10'240_B), 4, 4, 2_KiB);
  ASSERT_EQ(p2p->fluid_flow_count(), 3 * 6);  // parts of 4 KiB, 4 KiB and 2 KiB; ordered pairs
  EXPECT_EQ(p2p->fluid_flow(0).bytes, 4_KiB);
  EXPECT_EQ(p2p->fluid_flow(0).serial_steps, 2);
  EXPECT_EQ(p2p->fluid_flow(17).bytes, 2_KiB);
}

TEST(NcclP2pTest, DataEndRightInSeveralPartsAndBatches) {
  for (const auto& shape : std::vector<std::vector<int>>{{1}, {2}, {9}, {17}, {4, 4, 4}, {6, 3}, {8, 8}, {16, 16}}) {
    const Group group{shape, 8};
    const int n = group.communicator().ranks();
    for (const Collective kind : {Collective::kAllToAll, Collective::kSendRecv, Collective::kGather, Collective::kScatter}) {
      for (const int parts : {1, 2, 8}) {
        const CollectiveCall of = call(kind, Bytes{n * 10'240 + 4}, n / 2);
        EXPECT_EQ(verify(*plan(group, of, 8, parts, 3_KiB), of).value_or("none"), "none")
            << to_string(kind) << " on " << n << " ranks in " << parts;
      }
    }
  }
}

}  // namespace
}  // namespace weft::coll
