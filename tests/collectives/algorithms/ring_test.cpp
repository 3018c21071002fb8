#include <gtest/gtest.h>

#include "sim/collectives/algorithms/parts.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// 1,000 B are 62 units and 8 B: 16 units for the first three of four channels, the rest for the last.
TEST(ChannelPartTest, GivesEveryChannelWholeUnitsAndTheEndToTheLast) {
  EXPECT_EQ(channel_part(1000, 4, 0).bytes, 256);
  EXPECT_EQ(channel_part(1000, 4, 2).bytes, 256);
  EXPECT_EQ(channel_part(1000, 4, 3).bytes, 232);
  EXPECT_EQ(channel_part(1000, 4, 3).offset, 768);
}

TEST(ChannelPartTest, PartsFollowEachOtherAndAddUp) {
  for (const std::int64_t bytes : {0, 1, 15, 16, 17, 100, 4096, 99'999}) {
    for (const int channels : {1, 2, 3, 7, 32}) {
      std::int64_t next = 0;
      std::int64_t before = bytes;
      for (int channel = 0; channel < channels; ++channel) {
        const Part part = channel_part(bytes, channels, channel);
        EXPECT_EQ(part.offset, next);
        EXPECT_TRUE(part.offset % 16 == 0 || part.bytes == 0);
        EXPECT_LE(part.bytes, before);
        EXPECT_GE(part.bytes, 0);
        before = part.bytes;
        next += part.bytes;
      }
      EXPECT_EQ(next, bytes);
    }
  }
}

// models/nccl §3.1 on three ranks: rank 1 sends chunk 0, adds to and passes on chunk 2, finishes chunk 1, passes on chunk 0,
// and takes chunk 2 last.
TEST(RingTest, AllReduceStepsAreThoseOfNccl) {
  const Group group{3};
  const auto ring = plan(group.communicator(), call(Collective::kAllReduce, 96_B), "ring");
  ASSERT_EQ(ring->step_count(1, 0, 0), 5);
  const struct {
    bool receives, uses_source, stores, sends;
    std::int64_t offset;
  } expected[] = {{false, true, false, true, 0},
                  {true, true, false, true, 64},
                  {true, true, true, true, 32},
                  {true, false, true, true, 0},
                  {true, false, true, false, 64}};
  for (int i = 0; i < 5; ++i) {
    const Step step = ring->step(1, 0, 0, i);
    EXPECT_EQ(step.receive_from, expected[i].receives ? Peers{0} : Peers{}) << i;
    EXPECT_EQ(step.send_to, expected[i].sends ? Peers{2} : Peers{}) << i;
    EXPECT_EQ(step.use_source, expected[i].uses_source) << i;
    EXPECT_EQ(step.store, expected[i].stores) << i;
    EXPECT_EQ(step.bytes, 32_B) << i;
    EXPECT_EQ(step.source, (Chunk{Buffer::kInput, step.use_source ? expected[i].offset : 0})) << i;
    EXPECT_EQ(step.destination, step.store ? (Chunk{Buffer::kOutput, expected[i].offset}) : Chunk{}) << i;
  }
}

// 4 ranks, chunks of 64 B, 600 B: loops of 256, 256 and 88 B. The last is cut anew: 88 / 4 = 22, rounded up to 32, so that its
// chunks are 32, 32, 24 and 0 B.
TEST(RingTest, TheLastLoopIsSpreadOverSmallerChunks) {
  const Group group{4};
  const auto ring = plan(group.communicator(), call(Collective::kAllReduce, 600_B), "ring", 1, 64_B);
  ASSERT_EQ(ring->step_count(0, 0, 0), 3 * 7);
  const std::int64_t sizes[] = {32, 32, 24, 0};
  for (int k = 0; k < 4; ++k) {
    // Rank k finishes chunk k in the fourth step of a loop.
    EXPECT_EQ(ring->step(k, 0, 0, 3).destination.offset, 64 * k);
    EXPECT_EQ(ring->step(k, 0, 0, 3).bytes, 64_B);
    EXPECT_EQ(ring->step(k, 0, 0, 14 + 3).bytes.count(), sizes[k]);
  }
  EXPECT_EQ(ring->step(1, 0, 0, 14 + 3).destination.offset, 512 + 32);
  const FluidFlow flow = ring->fluid_flow(0);
  EXPECT_EQ(flow.serial_steps, 3 * 6);
  EXPECT_EQ(flow.step_bytes, 64_B);
  // Two full loops of 6 x 64 B; in the last, twice all 88 B but the chunks of 24 and 0 B.
  EXPECT_EQ(flow.bytes, Bytes{2 * 6 * 64 + 2 * 88 - 24});
}

TEST(RingTest, AFullLoopIsNotCutAnewAndOneUnitMoreStartsAnother) {
  const Group group{4};
  EXPECT_EQ(plan(group.communicator(), call(Collective::kAllReduce, 256_B), "ring", 1, 64_B)->step_count(0, 0, 0), 7);
  EXPECT_EQ(plan(group.communicator(), call(Collective::kAllReduce, 260_B), "ring", 1, 64_B)->step_count(0, 0, 0), 14);
}

// 4 GiB on 8 ranks and one channel: 256 loops of 16 MiB, and a step far into them costs no more than the first.
TEST(RingTest, HugeCallsNeedNoList) {
  const Group group{8};
  const auto ring = plan(group.communicator(), call(Collective::kAllReduce, 4_GiB), "ring");
  EXPECT_EQ(ring->step_count(5, 0, 0), 256 * 15);
  EXPECT_EQ(ring->step(5, 0, 0, 255 * 15 + 7).destination.offset, 255LL * (16 << 20) + 5 * (2 << 20));
  EXPECT_EQ(ring->fluid_flow(0).bytes, 14 * 512_MiB);
}

// A planner's shares (models/nccl §4.6): each channel its own part, one after another, in its own chunks; one may be empty.
TEST(RingTest, SharesSayWhatEachChannelDoes) {
  const Group group{2, 3};
  Choice choice{.algorithm = "ring", .channels = 3};
  choice.shares = {{256_B, 64_B}, {0_B, 64_B}, {44_B, 32_B}};
  const auto ring = make_algorithm("ring")->plan(group.communicator(), call(Collective::kAllReduce, 300_B), choice);
  EXPECT_EQ(ring->step_count(0, 0, 0), 2 * 3);
  EXPECT_EQ(ring->step_count(0, 1, 0), 0);
  // 44 B are less than a loop of 2 x 32: chunks of 22, rounded up to 32, so 32 and 12 B. Rank 1 sends chunk 0 first.
  EXPECT_EQ(ring->step_count(1, 2, 0), 3);
  EXPECT_EQ(ring->step(1, 2, 0, 0).source.offset, 256);
  EXPECT_EQ(ring->step(1, 2, 0, 0).bytes, 32_B);
  EXPECT_EQ(ring->step(0, 2, 0, 0).source.offset, 256 + 32);
  EXPECT_EQ(ring->step(0, 2, 0, 0).bytes, 12_B);
  ASSERT_EQ(ring->fluid_flow_count(), 2);
  EXPECT_EQ(ring->fluid_flow(1).channel, 2);
}

TEST(RingTest, AllGatherPassesBlocksOn) {
  const Group group{4};
  const auto ring = plan(group.communicator(), call(Collective::kAllGather, 1024_B), "ring");  // blocks of 256 B
  ASSERT_EQ(ring->step_count(2, 0, 0), 4);
  const std::int64_t blocks[] = {2, 1, 0, 3};
  for (int j = 0; j < 4; ++j) EXPECT_EQ(ring->step(2, 0, 0, j).destination.offset, 256 * blocks[j]);
  EXPECT_EQ(ring->fluid_flow(0).bytes, 768_B);
  EXPECT_EQ(ring->fluid_flow(0).serial_steps, 3);
  EXPECT_EQ(ring->fluid_flow(0).edges.size(), 4U);
}

TEST(RingTest, ReduceScatterEndsWithTheOwnBlock) {
  const Group group{4};
  const auto ring = plan(group.communicator(), call(Collective::kReduceScatter, 1024_B), "ring");
  const std::int64_t blocks[] = {1, 0, 3, 2};
  for (int j = 0; j < 4; ++j) EXPECT_EQ(ring->step(2, 0, 0, j).source.offset, 256 * blocks[j]);
  EXPECT_EQ(ring->step(2, 0, 0, 3).destination, (Chunk{Buffer::kOutput, 0}));
}

// Chain of a broadcast from rank 3 on channel 1, whose ring runs 2 1 0 3: 3 2 1 0.
TEST(RingTest, BroadcastAndReduceAreChainsWithinTheRing) {
  const Group group{4, 2};
  ASSERT_EQ(group.communicator().ring(1), (RingOrder{2, 1, 0, 3}));
  const auto broadcast = plan(group.communicator(), call(Collective::kBroadcast, 320_B, 3), "ring", 2, 64_B);
  EXPECT_TRUE(broadcast->step(3, 1, 0, 0).receive_from.empty());
  EXPECT_EQ(broadcast->step(3, 1, 0, 0).send_to, Peers{2});
  EXPECT_EQ(broadcast->step(1, 1, 0, 0).receive_from, Peers{2});
  EXPECT_TRUE(broadcast->step(0, 1, 0, 0).send_to.empty());
  // 160 B a channel: 64 + 64 + 32.
  EXPECT_EQ(broadcast->step_count(1, 1, 0), 3);
  EXPECT_EQ(broadcast->step(1, 1, 0, 2).bytes, 32_B);
  const FluidFlow flow = broadcast->fluid_flow(1);
  ASSERT_EQ(flow.edges.size(), 3U);
  EXPECT_EQ(flow.edges.front().from, 3);
  EXPECT_EQ(flow.edges.back().to, 0);
  EXPECT_EQ(flow.bytes, 160_B);
  EXPECT_EQ(flow.serial_steps, 3 + 4 - 2);
  EXPECT_EQ(flow.fill_bytes, 2 * 64_B);

  const auto reduce = plan(group.communicator(), call(Collective::kReduce, 320_B, 3), "ring", 2, 64_B);
  EXPECT_TRUE(reduce->step(2, 1, 0, 0).receive_from.empty());
  EXPECT_EQ(reduce->step(0, 1, 0, 0).send_to, Peers{3});
  EXPECT_TRUE(reduce->step(3, 1, 0, 0).send_to.empty());
  EXPECT_EQ(reduce->fluid_flow(1).edges.front().from, 2);
  EXPECT_EQ(reduce->fluid_flow(1).edges.back().to, 3);
}

TEST(RingTest, ALoneRankCopies) {
  const Group group{1};
  const auto ring = plan(group.communicator(), call(Collective::kAllReduce, 1_MiB), "ring", 1, 64_B);
  ASSERT_EQ(ring->step_count(0, 0, 0), 1);
  EXPECT_EQ(ring->step(0, 0, 0, 0).bytes, 1_MiB);
  EXPECT_EQ(ring->fluid_flow_count(), 0);
}

}  // namespace
}  // namespace weft::coll
