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

// 4 ranks, 8 segments of 512 B: 6 are sent in each phase, one after another.
TEST(GlooRingTest, SendsTwoSegmentsForEachRankButOneInBothPhases) {
  const Group group{4};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 4096_B), "gloo_ring");
  ASSERT_EQ(schedule->step_count(0, 0, 0), 1 + 4 * 6);
  EXPECT_EQ(ideal_time(*schedule), ideal_time(12, 12 * 512));
}

// Rank 1 sends segments 4, 5 (chunk 2) to rank 0 and receives 6, 7 (chunk 3) from rank 2; it ends with its own, 2 and 3.
TEST(GlooRingTest, TwoSegmentsAreUnderWay) {
  const Group group{4};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 4096_B), "gloo_ring");
  const std::int64_t sent[] = {4, 5, 6, 7, 0, 1};
  const std::int64_t received[] = {6, 7, 0, 1, 2, 3};
  const int sends_at[] = {1, 2, 4, 6, 8, 10};
  const int receives_at[] = {3, 5, 7, 9, 11, 12};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(schedule->step(1, 0, 0, sends_at[i]).send_to, Peers{0});
    EXPECT_EQ(schedule->step(1, 0, 0, sends_at[i]).source.offset, 512 * sent[i]);
    EXPECT_EQ(schedule->step(1, 0, 0, receives_at[i]).receive_from, Peers{2});
    EXPECT_EQ(schedule->step(1, 0, 0, receives_at[i]).destination.offset, 512 * received[i]);
  }
}

// Chunks of 4 MiB on 4 ranks: four segments each, at most 1 MiB; one element more makes five.
TEST(GlooRingTest, SegmentsHaveAtMostAMebibyte) {
  const Group group{4};
  const auto steps = [&](Bytes bytes) {
    return plan(group.communicator(), call(Collective::kAllReduce, bytes), "gloo_ring")->step_count(0, 0, 0);
  };
  EXPECT_EQ(steps(16_MiB), 1 + 4 * 3 * 4);
  EXPECT_EQ(steps(16_MiB + 4_B), 1 + 4 * 3 * 5);
}

}  // namespace
}  // namespace weft::coll
