#include "sim/collectives/nccl/p2p_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/collectives/nccl/golden_file.h"
#include "tests/collectives/nccl/machines.h"

namespace weft::coll::nccl {
namespace {

using namespace literals;
using ::testing::ElementsAre;

P2pTransfer transfer(const char* machine, Bytes bytes, bool same_node = true, const Settings& settings = {},
                     NcclVersion version = NcclVersion::k2_28) {
  CommInfo comm = golden::read(machine).comm;
  comm.version = version;
  return p2p_transfer(comm, bytes, settings, same_node);
}

TEST(P2pOrderTest, GroupsAreVisitedByTriangularNumbers) {
  // models/nccl §3.6.
  EXPECT_THAT(quadratic_order(8), ElementsAre(0, 1, 3, 6, 2, 7, 5, 4));
  EXPECT_THAT(quadratic_order(16), ElementsAre(0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8));
  EXPECT_THAT(quadratic_order(5), ElementsAre(0, 1, 3, 2, 4));  // that of 8 without 5, 6, 7
  EXPECT_THAT(quadratic_order(1), ElementsAre(0));
}

TEST(P2pOrderTest, OnOneNodeARankServesItsNextNeighboursFirst) {
  const P2pOrder order{nodes_of(1, 4), 4};
  EXPECT_EQ(order.rounds(), 4);
  EXPECT_EQ(order.round(1, 0), (P2pRound{.send_to = 1, .receive_from = 1, .base = 0}));
  EXPECT_EQ(order.round(1, 1), (P2pRound{.send_to = 2, .receive_from = 0, .base = 1}));
  EXPECT_EQ(order.round(3, 2), (P2pRound{.send_to = 1, .receive_from = 1, .base = 2}));
}

TEST(P2pOrderTest, OverNodesItGoesGroupByGroup) {
  // 4 nodes of 8: group deltas 0, 1, 3, 2. Round 8: same place on the next node; round 17: the next place, three nodes on.
  const P2pOrder order{nodes_of(4, 8), 8};
  EXPECT_EQ(order.round(0, 7), (P2pRound{.send_to = 7, .receive_from = 1, .base = 0}));
  EXPECT_EQ(order.round(0, 8), (P2pRound{.send_to = 8, .receive_from = 24, .base = 1}));
  EXPECT_EQ(order.round(5, 17), (P2pRound{.send_to = 24 + 6, .receive_from = 8 + 4, .base = 2}));
  // Channels are counted from the round, not from the distance (ncclP2pChannelBaseForRound, src/include/channel.h).
  EXPECT_EQ(order.round(31, 31), (P2pRound{.send_to = 8 + 6, .receive_from = 8 + 0, .base = 3}));
}

TEST(P2pOrderTest, EveryRoundIsAPermutationAndEveryPeerIsMetOnce) {
  for (const auto& [nodes, per_node] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 8}, {2, 8}, {3, 6}, {5, 4}, {7, 1}, {2, 72}}) {
    const auto ranks = nodes_of(nodes, per_node);
    const P2pOrder order{ranks, p2p_group_size(ranks, {})};
    const int n = nodes * per_node;
    ASSERT_EQ(order.rounds(), n);
    std::vector<std::set<Rank>> met(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) {
      for (Rank rank = 0; rank < n; ++rank) {
        const P2pRound round = order.round(rank, r);
        EXPECT_EQ(order.round(round.send_to, r).receive_from, rank);
        EXPECT_EQ(order.round(rank, r).base, order.round(0, r).base);
        met[static_cast<std::size_t>(rank)].insert(round.send_to);
      }
    }
    for (const std::set<Rank>& peers : met) EXPECT_EQ(peers.size(), static_cast<std::size_t>(n));
  }
}

TEST(P2pOrderTest, GroupsDivideEveryNode) {
  EXPECT_EQ(p2p_group_size(nodes_of(1, 72), {}), 72);
  EXPECT_EQ(p2p_group_size(nodes_of(2, 72), {}), 8);
  EXPECT_EQ(p2p_group_size(nodes_of(2, 6), {}), 6);
  EXPECT_EQ(p2p_group_size({{0, 1, 2, 3}, {4, 5}}, {}), 2);
  Settings settings;
  settings.set("P2P_SCHEDULE_GROUP_SIZE", "4");
  EXPECT_EQ(p2p_group_size(nodes_of(2, 8), settings), 4);
}

TEST(P2pChannelTest, NeighbouringRoundsLieFarApart) {
  // Bits of the base reversed over log2(32) = 5 bits.
  EXPECT_EQ(p2p_channel(0, 0, 32), 0);
  EXPECT_EQ(p2p_channel(1, 0, 32), 16);
  EXPECT_EQ(p2p_channel(3, 0, 32), 24);
  EXPECT_EQ(p2p_channel(1, 2, 32), 18);
  EXPECT_EQ(p2p_channel(31, 1, 32), 0);
  EXPECT_EQ(p2p_channel(33, 0, 32), 16);  // further rounds begin again
  EXPECT_EQ(p2p_channel(5, 0, 1), 0);
}

TEST(P2pTransferTest, TwoGpusUse16ChannelsUntilAPartPasses16MiB) {
  // models/nccl §3.6: 32 channels per peer, two ranks: 16. models/nccl_calibration §3.7.
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", 1_MiB).channels, 16);
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", 256_MiB).channels, 16);
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", Bytes{(256 << 20) + 1}).channels, 32);
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", 1_GiB).channels, 32);
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", 1_GiB).part, 32_MiB);
}

TEST(P2pTransferTest, FourGpusUse8ChannelsAndDoubleTwice) {
  EXPECT_EQ(transfer("hgx-h200-4gpu-n1", 128_MiB).channels, 8);
  EXPECT_EQ(transfer("hgx-h200-4gpu-n1", 128_MiB).part, 16_MiB);
  EXPECT_EQ(transfer("hgx-h200-4gpu-n1", 256_MiB).channels, 16);
  EXPECT_EQ(transfer("hgx-h200-4gpu-n1", 512_MiB).channels, 32);
  EXPECT_EQ(transfer("hgx-h200-4gpu-n1", 1_GiB).channels, 32);
}

// Grids of the kernels that NCCL 2.28.9 started for one message between 2 x H200.
TEST(P2pTransferTest, SmallTransfersUseAChannelForEvery8KiB) {
  const std::pair<Bytes, int> measured[] = {{8_KiB, 1},    {16_KiB, 2},   {32_KiB, 4},  {64_KiB, 8},   {128_KiB, 16},
                                            {256_KiB, 16}, {512_KiB, 16}, {16_MiB, 16}, {256_MiB, 16}, {512_MiB, 32}};
  for (const auto& [bytes, channels] : measured) {
    EXPECT_EQ(transfer("hgx-h200-2gpu-n1", bytes).channels, channels) << bytes.count();
  }
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", Bytes{8193}).channels, 2);
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", 0_B).channels, 1);
  // In units of 4 KiB.
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", Bytes{1'000'000}).part, 64_KiB);
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", Bytes{10'000'000}).part, Bytes{153 * 4096});
}

// 16 KiB for each of the 32 channels that a peer could have, also where four ranks leave it eight.
TEST(P2pTransferTest, LlEndsAt16KiBForEveryChannelOfAPeer) {
  for (const char* machine : {"hgx-h200-2gpu-n1", "hgx-h200-4gpu-n1"}) {
    EXPECT_EQ(transfer(machine, 512_KiB).protocol, "LL");
    EXPECT_EQ(transfer(machine, 512_KiB).chunk, 32_KiB);
    EXPECT_EQ(transfer(machine, Bytes{(512 << 10) + 1}).protocol, "Simple");
    EXPECT_EQ(transfer(machine, Bytes{(512 << 10) + 1}).chunk, 512_KiB);
  }
  EXPECT_EQ(transfer("hgx-h200-4gpu-n1", 512_KiB).part, 64_KiB);
  Settings settings;
  settings.set("P2P_LL_THRESHOLD", "0");
  EXPECT_EQ(transfer("hgx-h200-2gpu-n1", 8_B, true, settings).protocol, "Simple");
}

// addP2pToPlan, src/enqueue.cc of 2.29.2 and 2.30.7: a channel for every 64 KiB, and LL for 16 KiB of each channel in use.
TEST(P2pTransferTest, From229OnLlEndsAt16KiBForEveryChannelInUse) {
  for (const NcclVersion version : {NcclVersion::k2_29, NcclVersion::k2_30}) {
    const auto planned = [&](Bytes bytes) { return transfer("hgx-h200-4gpu-n1", bytes, true, {}, version); };
    EXPECT_EQ(planned(16_KiB).protocol, "LL");
    EXPECT_EQ(planned(16_KiB).channels, 1);
    EXPECT_EQ(planned(16_KiB).chunk, 32_KiB);
    EXPECT_EQ(planned(Bytes{(16 << 10) + 1}).protocol, "Simple");
    EXPECT_EQ(planned(64_KiB).channels, 1);
    EXPECT_EQ(planned(Bytes{(64 << 10) + 1}).channels, 2);
    EXPECT_EQ(planned(512_KiB).protocol, "Simple");  // 8 channels would hold 128 KiB
    EXPECT_EQ(planned(512_KiB).channels, 8);
  }
}

TEST(P2pTransferTest, TheNetworkHasNoLlBuffersUnlessAskedFor) {
  EXPECT_EQ(transfer("h100-n2", 8_B, false).protocol, "Simple");
  Settings settings;
  settings.set("ALLOC_P2P_NET_LL_BUFFERS", "1");
  EXPECT_EQ(transfer("h100-n2", 8_B, false, settings).protocol, "LL");
  EXPECT_EQ(transfer("h100-n2", 8_B, true).protocol, "LL");
}

TEST(P2pTransferTest, OverTheNetworkPartsAreOfOneStepWhileThereAreChannels) {
  // 2 x 8 H100: 16 channels, 4 per peer, 16 ranks: from one channel up; steps of 128 KiB.
  const P2pTransfer large = transfer("h100-n2", 1_MiB, false);
  EXPECT_EQ(large.channels, 4);
  EXPECT_EQ(large.part, 256_KiB);
  EXPECT_EQ(large.chunk, 128_KiB);
  EXPECT_EQ(transfer("h100-n2", 128_KiB, false).channels, 1);
  EXPECT_EQ(transfer("h100-n2", Bytes{(128 << 10) + 1}, false).channels, 2);
  // Chunks: a quarter of a step below one step, half below eight.
  EXPECT_EQ(transfer("h100-n2", Bytes{(128 << 10) - 1}, false).chunk, 32_KiB);
  EXPECT_EQ(transfer("h100-n2", 128_KiB, false).chunk, 64_KiB);
  EXPECT_EQ(transfer("h100-n2", Bytes{(1 << 20) - 1}, false).chunk, 64_KiB);
}

TEST(P2pTransferTest, ChunksKeepFourSignificantBits) {
  // 300000 is 0b1001001001111100000: 0b1001 << 15.
  CommInfo comm = golden::read("hgx-h200-2gpu-n1").comm;
  comm.p2p_chunk = Bytes{300'000};
  EXPECT_EQ(p2p_transfer(comm, 1_MiB, {}, true).chunk, Bytes{9 << 15});
  comm.p2p_chunk = 1_MiB;  // never more than a slot of the buffer
  EXPECT_EQ(p2p_transfer(comm, 1_MiB, {}, true).chunk, 512_KiB);
}

TEST(P2pWarpsTest, TransfersOfABatchShareTheWarps) {
  // models/nccl §3.6: 20 warps; the receive gets (w-1)/2 of more than four, half of fewer.
  EXPECT_EQ(p2p_warps(1).send, 11);
  EXPECT_EQ(p2p_warps(1).receive, 9);
  EXPECT_EQ(p2p_warps(4).send, 3);
  EXPECT_EQ(p2p_warps(4).receive, 2);
  EXPECT_EQ(p2p_warps(8).send, 1);
  EXPECT_EQ(p2p_warps(8).receive, 1);
}

}  // namespace
}  // namespace weft::coll::nccl
