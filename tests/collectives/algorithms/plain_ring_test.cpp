#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// One message of S/n per step, 2(n-1) of them from every rank, whatever the chunk.
TEST(PlainRingTest, AllReduceSendsOneMessagePerStep) {
  const Group group{16};
  const auto ring = plan(group.communicator(), call(Collective::kAllReduce, 1_GiB), "plain_ring", 1, 64_B);
  std::int64_t messages = 0;
  for (std::int64_t i = 0; i < ring->step_count(3, 0, 0); ++i) {
    const Step step = ring->step(3, 0, 0, i);
    if (step.send_to.empty()) continue;
    ++messages;
    EXPECT_EQ(step.bytes, 64_MiB);
  }
  EXPECT_EQ(messages, 30);
  EXPECT_EQ(ring->fluid_flow(0).bytes, 30 * 64_MiB);
  EXPECT_EQ(ring->fluid_flow(0).serial_steps, 30);
}

TEST(PlainRingTest, ChannelsShareTheMessages) {
  const Group group{8, 4};
  const auto ring = plan(group.communicator(), call(Collective::kAllReduce, 1_MiB), "plain_ring", 4);
  for (int channel = 0; channel < 4; ++channel) EXPECT_EQ(ring->step(0, channel, 0, 0).bytes, 32_KiB);
  EXPECT_EQ(ring->fluid_flow_count(), 4);
}

TEST(PlainRingTest, AllGatherAndReduceScatterSendWholeBlocks) {
  const Group group{8};
  for (const Collective kind : {Collective::kAllGather, Collective::kReduceScatter}) {
    const auto ring = plan(group.communicator(), call(kind, 256_MiB), "plain_ring");
    EXPECT_EQ(ring->step_count(0, 0, 0), 8);
    EXPECT_EQ(ring->step(0, 0, 0, 0).bytes, 32_MiB);
    EXPECT_EQ(ring->fluid_flow(0).serial_steps, 7);
  }
}

TEST(PlainRingTest, BroadcastIsAChainOfAsManyChunksAsRanks) {
  const Group group{8};
  const auto ring = plan(group.communicator(), call(Collective::kBroadcast, 64_MiB), "plain_ring");
  EXPECT_EQ(ring->step_count(0, 0, 0), 8);
  EXPECT_EQ(ring->step(0, 0, 0, 0).bytes, 8_MiB);
  EXPECT_EQ(ring->fluid_flow(0).serial_steps, 8 + 8 - 2);
}

}  // namespace
}  // namespace weft::coll
