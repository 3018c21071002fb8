#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// Traffic of every NIC with SHARP: S/heads out and S/heads in (models/nccl §3.3), also at the head that stands for the switch.
TEST(CollNetDirectTest, EveryHeadsNicCarriesItsShareOnceEachWay) {
  const Group group{{4, 4, 4}};
  const auto collnet = plan(group.communicator(), call(Collective::kAllReduce, 4_KiB), "collnet_direct", 1, 1_KiB);
  for (Rank rank = 0; rank < 12; ++rank) {
    std::int64_t out = 0;
    std::int64_t in = 0;
    for (int lane = 0; lane < collnet->lanes(rank, 0); ++lane) {
      for (std::int64_t i = 0; i < collnet->step_count(rank, 0, lane); ++i) {
        const Step step = collnet->step(rank, 0, lane, i);
        if (!step.send_to.empty() && *step.send_to.begin() / 4 != rank / 4) out += step.bytes.count();
        if (!step.receive_from.empty() && *step.receive_from.begin() / 4 != rank / 4) in += step.bytes.count();
      }
    }
    EXPECT_EQ(out, 1024) << rank;
    EXPECT_EQ(in, 1024) << rank;
  }
}

// Head 1 of channel 0: node 1's stands for the switches, in a lane of its own. Head 1 of node 0 adds up its node and gives them
// the sum; so does that of node 1 itself. The next channel's stands on node 2.
TEST(CollNetDirectTest, TheSwitchAddsUpWhatTheHeadsSend) {
  const Group group{{3, 3, 3}, 2};
  const auto collnet = plan(group.communicator(), call(Collective::kAllReduce, 384_B), "collnet_direct", 2, 64_B);
  for (const Rank head : {1, 4, 7}) {
    const Step up = collnet->step(head, 0, 1, 0);
    EXPECT_EQ(up.receive_from.size(), 2);
    EXPECT_EQ(up.send_to, Peers{4});
    EXPECT_TRUE(up.contributes() && up.use_source && !up.receive_in_switch);
    const Step down = collnet->step(head, 0, 2, 0);
    EXPECT_EQ(down.receive_from, Peers{4});
    EXPECT_EQ(down.send_to.size(), 2);
    EXPECT_EQ(collnet->step_count(head, 0, 4), head == 4 ? 1 : 0);
    EXPECT_EQ(collnet->step_count(head, 1, 4), head == 7 ? 1 : 0);
  }
  const Step network = collnet->step(4, 0, 4, 0);
  EXPECT_EQ(network.receive_from, Peers::view(std::vector<Rank>{7, 1, 4}));
  EXPECT_EQ(network.send_to, network.receive_from);
  EXPECT_TRUE(network.receive_in_switch && network.multicasts() && !network.use_source && !network.store);
}

TEST(CollNetDirectTest, NoMoreThanEightRanksOfANodeAreHeads) {
  const Group group{{9, 9}};
  const auto collnet = plan(group.communicator(), call(Collective::kAllReduce, 8_KiB), "collnet_direct", 1, 1_KiB);
  EXPECT_GT(collnet->step_count(7, 0, 1), 0);
  EXPECT_EQ(collnet->step_count(8, 0, 1), 0);
  EXPECT_EQ(collnet->step(8, 0, 0, 0).send_to.size(), 8);
  EXPECT_EQ(collnet->step(7, 0, 0, 0).send_to.size(), 7);
}

// NCCL's scatter and gather are one primitive a loop for all heads. Head 1 of 3 keeps its own chunk, which lies between those
// of heads 0 and 2; 320 B in chunks of 64 B: the second loop's 128 B are cut into 48, 48 and 32.
TEST(CollNetDirectTest, AHeadScattersToAllOthersAtOnce) {
  const Group group{{3, 3}};
  const auto collnet = plan(group.communicator(), call(Collective::kAllReduce, 320_B), "collnet_direct", 1, 64_B);
  ASSERT_EQ(collnet->step_count(1, 0, 0), 2);
  const Step scatter = collnet->step(1, 0, 0, 1);
  EXPECT_EQ(scatter.send_to, Peers::view(std::vector<Rank>{0, 2}));
  EXPECT_EQ(scatter.bytes, 80_B);
  EXPECT_EQ(scatter.source, (Chunk{Buffer::kInput, 192}));
  EXPECT_EQ(scatter.offset_of_peer(0), 0);
  EXPECT_EQ(scatter.offset_of_peer(1), 2 * 48);
  EXPECT_EQ(scatter.bytes_of_peer(0), 48_B);
  EXPECT_EQ(scatter.bytes_of_peer(1), 32_B);
  EXPECT_EQ(collnet->step(0, 0, 0, 1).source, (Chunk{Buffer::kInput, 192 + 48}));
}

// The block of rank 1 goes by the network to head 1 of the other node only, which hands it to its node.
TEST(CollNetDirectTest, BlocksGoByTheHeadsOfTheirIndex) {
  const Group group{{2, 2}};
  const auto gather = plan(group.communicator(), call(Collective::kAllGather, 256_B), "collnet_direct");
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(*gather)) {
    const auto [from, to] = edge.second;
    if (from / 2 == to / 2) {
      EXPECT_EQ(bytes, 2 * 64);  // its own block and the one from the other node
    } else {
      EXPECT_EQ(from % 2, to % 2);
      EXPECT_EQ(bytes, 64);
    }
  }
  const auto scatter = plan(group.communicator(), call(Collective::kReduceScatter, 256_B), "collnet_direct");
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(*scatter)) {
    const auto [from, to] = edge.second;
    EXPECT_EQ(bytes, from / 2 == to / 2 ? 2 * 64 : 64);
  }
}

}  // namespace
}  // namespace weft::coll
