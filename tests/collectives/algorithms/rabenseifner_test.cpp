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

TEST(RabenseifnerTest, TakesTheTimeOfTheFormula) {
  const Group group{16};
  for (const Collective kind : {Collective::kAllReduce, Collective::kReduce}) {
    const auto schedule = plan(group.communicator(), call(kind, 16 * 256_B, 5), "rabenseifner");
    EXPECT_EQ(ideal_time(*schedule), ideal_time(8, 2 * 15 * 256));
  }
}

// Neighbours exchange the large halves: rank 5 of 8 with 4, then 7, then 1.
TEST(RabenseifnerTest, HalvesFromNearToFar) {
  const Group group{8};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 8 * 64_B), "rabenseifner");
  const Rank peers[] = {4, 7, 1};
  const std::int64_t kept[] = {256, 256, 320};  // bits 1, 0, 1 of the rank, from the lowest: upper, lower, upper
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(schedule->step(5, 0, 0, 1 + 2 * i).send_to, Peers{peers[i]});
    EXPECT_EQ(schedule->step(5, 0, 0, 2 + 2 * i).destination.offset, kept[i]);
    EXPECT_EQ(schedule->step(5, 0, 0, 2 + 2 * i).bytes.count(), 256 >> i);
  }
}

// 3 ranks: 0 and 1 exchange halves of 128 B, 1 hands its half over; 0 and 2 halve, double; 1 gets the result.
TEST(RabenseifnerTest, PairsFoldByHalves) {
  const Group group{3};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 256_B), "rabenseifner");
  EXPECT_EQ(schedule->step(0, 0, 0, 1).bytes, 128_B);
  EXPECT_EQ(schedule->step(0, 0, 0, 1).source.offset, 128);
  EXPECT_EQ(schedule->step(1, 0, 0, 1).source.offset, 0);
  EXPECT_EQ(schedule->step(1, 0, 0, 3).send_to, Peers{0});
  EXPECT_EQ(schedule->step_count(1, 0, 0), 1 + 4);
  EXPECT_EQ(ideal_time(*schedule), ideal_time(2 + 2 + 1, 2 * 128 + 2 * 128 + 256));
}

TEST(RabenseifnerTest, AReduceEndsAtTheRootOnly) {
  const Group group{8};
  const auto schedule = plan(group.communicator(), call(Collective::kReduce, 512_B, 6), "rabenseifner");
  // Rank 7 differs from 6 in the lowest bit, so it sends in the last exchange of three; rank 2 in the highest: in the first.
  EXPECT_EQ(schedule->step_count(6, 0, 0), 1 + 6 + 3);
  EXPECT_EQ(schedule->step_count(7, 0, 0), 1 + 6 + 3);
  EXPECT_EQ(schedule->step_count(2, 0, 0), 1 + 6 + 1);
  EXPECT_EQ(schedule->step(7, 0, 0, 9).send_to, Peers{6});
}

}  // namespace
}  // namespace weft::coll
