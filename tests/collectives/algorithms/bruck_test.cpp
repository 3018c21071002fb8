#include <gtest/gtest.h>

#include "tests/support/ideal_time.h"

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::ideal_time;
using weft::testing::plan;

TEST(BruckTest, TakesTheTimeOfTheFormula) {
  const Group group{16};
  // All-gather: log2 n latencies, n-1 blocks. All-to-all: n/2 blocks in each of log2 n rounds.
  EXPECT_EQ(ideal_time(*plan(group.communicator(), call(Collective::kAllGather, 16 * 64_B), "bruck")), ideal_time(4, 15 * 64));
  EXPECT_EQ(ideal_time(*plan(group.communicator(), call(Collective::kAllToAll, 16 * 64_B), "bruck")),
            ideal_time(4, 4 * 8 * 64));
}

// 5 ranks: 1, 2 and 1 blocks, to ranks i-1, i-2, i-4.
TEST(BruckTest, AnyNumberOfRanksTakesLogNRounds) {
  const Group group{5};
  const auto schedule = plan(group.communicator(), call(Collective::kAllGather, 5 * 64_B), "bruck");
  // Own block in, six moves, and each block out of scratch.
  ASSERT_EQ(schedule->step_count(1, 0, 0), 1 + 6 + 5);
  const Rank to[] = {0, 4, 2};
  const std::int64_t blocks[] = {1, 2, 1};
  for (int round = 0; round < 3; ++round) {
    const Step send = schedule->step(1, 0, 0, 1 + 2 * round);
    EXPECT_EQ(send.send_to, Peers{to[round]});
    EXPECT_EQ(send.bytes.count(), 64 * blocks[round]);
    EXPECT_EQ(send.source, (Chunk{Buffer::kScratch, 0}));
  }
}

// 4 ranks, second round: the blocks at places 2 and 3 are packed and go two ranks on.
TEST(BruckTest, AllToAllSendsTheBlocksWhosePlaceHasTheBit) {
  const Group group{4};
  const auto schedule = plan(group.communicator(), call(Collective::kAllToAll, 4 * 64_B), "bruck");
  // In: 4 copies. Round 0: 2 packed, send, receive, 2 unpacked. Round 1 begins at step 10.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(schedule->step(0, 0, 0, 10 + i).source, (Chunk{Buffer::kScratch, 64 * (2 + i)}));
    EXPECT_EQ(schedule->step(0, 0, 0, 10 + i).destination, (Chunk{Buffer::kScratch, 64 * (4 + i)}));
  }
  EXPECT_EQ(schedule->step(0, 0, 0, 12).send_to, Peers{2});
  EXPECT_EQ(schedule->step(0, 0, 0, 12).bytes, 128_B);
}

}  // namespace
}  // namespace weft::coll
