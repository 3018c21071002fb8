#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

constexpr int kGive = 0;
constexpr int kTake = 1;
constexpr int kSwitches = 2;

TEST(InNetworkTest, EveryRankGivesAndTakesOnceWhateverItsNumber) {
  for (const int ranks : {2, 5, 16}) {
    const Group group{ranks};
    const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 64 * 64_B), "in_network");
    for (Rank rank = 0; rank < ranks; ++rank) {
      std::int64_t given = 0;
      std::int64_t taken = 0;
      for (std::int64_t i = 0; i < schedule->step_count(rank, 0, kGive); ++i) {
        const Step step = schedule->step(rank, 0, kGive, i);
        EXPECT_TRUE(step.contributes());
        given += step.bytes.count();
      }
      for (std::int64_t i = 0; i < schedule->step_count(rank, 0, kTake); ++i)
        taken += schedule->step(rank, 0, kTake, i).bytes.count();
      EXPECT_EQ(given, 64 * 64);
      EXPECT_EQ(taken, 64 * 64);
    }
  }
}

TEST(InNetworkTest, TheSwitchesAddUpWhatAllGiveAndCopyItToAll) {
  const Group group{4};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 64 * 64_B), "in_network");
  // Rank 0 stands for them on channel 0, and nobody else does.
  const Step total = schedule->step(0, 0, kSwitches, 0);
  EXPECT_TRUE(total.receive_in_switch);
  EXPECT_TRUE(total.multicasts());
  EXPECT_EQ(total.receive_from.size(), 4);
  EXPECT_EQ(total.send_to.size(), 4);
  for (Rank rank = 1; rank < 4; ++rank) EXPECT_EQ(schedule->step_count(rank, 0, kSwitches), 0);
}

}  // namespace
}  // namespace weft::coll
