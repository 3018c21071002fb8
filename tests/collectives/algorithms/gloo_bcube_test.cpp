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

// 16 ranks in groups of 4: three messages of a quarter, three of a sixteenth, and back, one after another.
TEST(GlooBcubeTest, TakesLogNStepsInGroupsOfFour) {
  const Group group{16};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 16 * 64_B), "gloo_bcube");
  EXPECT_EQ(ideal_time(*schedule), ideal_time(2 * 6, 2 * 3 * (256 + 64)));
  // Rank 6 = (2, 1): first with 7, 4, 5, then with 10, 14, 2.
  const Rank peers[] = {7, 4, 5, 10, 14, 2};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(schedule->step(6, 0, 0, 1 + i + (i < 3 ? 0 : 3)).send_to, Peers{peers[i]}) << i;
  }
}

// 12 = 4 * 3; 14 = 2 * 7; 13 is one group.
TEST(GlooBcubeTest, OtherNumbersOfRanksAreGroupedByTheirDivisors) {
  const auto steps = [](int ranks) {
    const Group group{ranks};
    return plan(group.communicator(), call(Collective::kAllReduce, Bytes{16 * ranks}), "gloo_bcube")->step_count(0, 0, 0);
  };
  EXPECT_EQ(steps(12), 1 + 4 * (3 + 2));
  EXPECT_EQ(steps(14), 1 + 4 * (1 + 6));
  EXPECT_EQ(steps(13), 1 + 4 * 12);
}

}  // namespace
}  // namespace weft::coll
