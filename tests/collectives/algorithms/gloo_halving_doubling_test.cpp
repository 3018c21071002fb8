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

TEST(GlooHalvingDoublingTest, TakesTheTimeOfTheFormula) {
  const Group group{16};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 16 * 256_B), "gloo_halving_doubling");
  EXPECT_EQ(ideal_time(*schedule), ideal_time(8, 2 * 15 * 256));
}

// 6 = 4 + 2 ranks, 4 chunks of 64 B. Ranks 4 and 5 halve by themselves; then 4 has chunks 0 and 1, which go to those of ranks 0
// to 3 that hold them. The large block's order is that of reversed bits: ranks 0, 2, 1, 3 hold chunks 0, 1, 2, 3.
TEST(GlooHalvingDoublingTest, SmallerBlocksGiveTheirSumsToTheNextLarger) {
  const Group group{6};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 4 * 64_B), "gloo_halving_doubling");
  ASSERT_EQ(schedule->step_count(4, 0, 0), 1 + 2 + 2 + 2 + 2);
  EXPECT_EQ(schedule->step(4, 0, 0, 1).send_to, Peers{5});
  EXPECT_EQ(schedule->step(4, 0, 0, 1).source.offset, 128);
  const Rank to[] = {0, 2};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(schedule->step(4, 0, 0, 3 + i).send_to, Peers{to[i]});
    EXPECT_EQ(schedule->step(4, 0, 0, 3 + i).source.offset, 64 * i);
    EXPECT_EQ(schedule->step(4, 0, 0, 5 + i).receive_from, Peers{to[i]});
  }
  // Rank 3 is the partner of 5 within the block of four: 3 mod 2 = 1.
  const Step sum = schedule->step(3, 0, 0, 5);
  EXPECT_EQ(sum.receive_from, Peers{5});
  EXPECT_EQ(sum.destination.offset, 192);
}

}  // namespace
}  // namespace weft::coll
