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

// Thakur, Rabenseifner and Gropp, 2005: 2 log2 n latencies and 2(n-1)/n of the vector; half of each for the parts.
TEST(RecursiveHalvingDoublingTest, TakesTheTimeOfTheFormula) {
  const Group group{16};
  const auto time = [&](Collective kind) {
    return ideal_time(*plan(group.communicator(), call(kind, 16 * 256_B), "recursive_halving_doubling"));
  };
  EXPECT_EQ(time(Collective::kAllReduce), ideal_time(8, 2 * 15 * 256));
  EXPECT_EQ(time(Collective::kReduceScatter), ideal_time(4, 15 * 256));
  EXPECT_EQ(time(Collective::kAllGather), ideal_time(4, 15 * 256));
}

// Rank 5 of 8: with 1 the lower half for the upper, with 7, then with 4.
TEST(RecursiveHalvingDoublingTest, HalvesFromFarToNear) {
  const Group group{8};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 8 * 64_B), "recursive_halving_doubling");
  const struct {
    Rank peer;
    std::int64_t sent, kept, bytes;
  } rounds[] = {{1, 0, 256, 256}, {7, 384, 256, 128}, {4, 256, 320, 64}};
  for (int i = 0; i < 3; ++i) {
    const Step send = schedule->step(5, 0, 0, 1 + 2 * i);
    const Step reduce = schedule->step(5, 0, 0, 2 + 2 * i);
    EXPECT_EQ(send.send_to, Peers{rounds[i].peer});
    EXPECT_EQ(send.source.offset, rounds[i].sent);
    EXPECT_EQ(reduce.destination.offset, rounds[i].kept);
    EXPECT_TRUE(reduce.use_source && reduce.store);
    EXPECT_EQ(reduce.bytes.count(), rounds[i].bytes);
  }
}

// 3 ranks: 0 folds onto 1, which halves with 2 for the blocks 0 and 1 together, and gives 0 its block back.
TEST(RecursiveHalvingDoublingTest, AFoldedRanksBlockComesBackToIt) {
  const Group group{3};
  const auto schedule = plan(group.communicator(), call(Collective::kReduceScatter, 3 * 64_B), "recursive_halving_doubling");
  // In: the input; out: the own block.
  ASSERT_EQ(schedule->step_count(0, 0, 0), 1 + 2 + 1);
  EXPECT_EQ(schedule->step(0, 0, 0, 1).bytes, 192_B);
  EXPECT_EQ(schedule->step(0, 0, 0, 2).bytes, 64_B);
  const Step send = schedule->step(1, 0, 0, 2);
  EXPECT_EQ(send.send_to, Peers{2});
  EXPECT_EQ(send.source.offset, 128);
  EXPECT_EQ(schedule->step(1, 0, 0, 3).bytes, 128_B);
}

}  // namespace
}  // namespace weft::coll
