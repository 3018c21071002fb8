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

// 8 ranks, 4096 B: three exchanges of the whole vector.
TEST(RecursiveDoublingTest, AllReduceTakesLogNWholeVectors) {
  const Group group{8};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 4096_B), "recursive_doubling");
  EXPECT_EQ(ideal_time(*schedule), ideal_time(3, 3 * 4096));
  // The input is copied, then round k goes to rank 5 xor 2^k.
  ASSERT_EQ(schedule->step_count(5, 0, 0), 1 + 6);
  const Rank peers[] = {4, 7, 1};
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(schedule->step(5, 0, 0, 1 + 2 * round).send_to, Peers{peers[round]});
    EXPECT_EQ(schedule->step(5, 0, 0, 2 + 2 * round).receive_from, Peers{peers[round]});
  }
}

// 6 ranks: 0 and 2 hand over to 1 and 3, which with 4 and 5 take two rounds; then 0 and 2 get the result.
TEST(RecursiveDoublingTest, RanksBeyondAPowerOfTwoFoldOntoANeighbour) {
  const Group group{6};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 4096_B), "recursive_doubling");
  EXPECT_EQ(ideal_time(*schedule), ideal_time(2 + 2, 4 * 4096));
  EXPECT_EQ(schedule->step_count(0, 0, 0), 1 + 2);
  EXPECT_EQ(schedule->step(0, 0, 0, 1).send_to, Peers{1});
  EXPECT_EQ(schedule->step(1, 0, 0, 2).send_to, Peers{3});
  EXPECT_EQ(schedule->step(1, 0, 0, 4).send_to, Peers{4});
}

// 8 blocks of 512 B: 1, 2 and 4 of them.
TEST(RecursiveDoublingTest, AllGatherDoublesWhatItSends) {
  const Group group{8};
  const auto schedule = plan(group.communicator(), call(Collective::kAllGather, 4096_B), "recursive_doubling");
  EXPECT_EQ(ideal_time(*schedule), ideal_time(3, 7 * 512));
  const Step last = schedule->step(5, 0, 0, 5);  // own block, then send and receive for each round
  EXPECT_EQ(last.send_to, Peers{1});
  EXPECT_EQ(last.source, (Chunk{Buffer::kOutput, 4 * 512}));
  EXPECT_EQ(last.bytes, 2048_B);
}

}  // namespace
}  // namespace weft::coll
