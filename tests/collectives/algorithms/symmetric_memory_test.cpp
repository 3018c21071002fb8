#include <gtest/gtest.h>

#include "sim/collectives/libraries.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;

// Lanes of 4 ranks: takes in; flags to three; what is left for the switch; the own part, which it adds up and copies.
TEST(SymmetricMemoryTest, EachRankHasTheSwitchAddUpItsPart) {
  const Group group{4};
  const auto schedule =
      make_algorithm("symmetric_memory")
          ->plan(group.communicator(), call(Collective::kAllReduce, 4096_B), {.protocol = std::string{kMultimem}});
  ASSERT_EQ(schedule->lanes(2, 0), 6);
  const Step part = schedule->step(2, 0, 5, 0);
  EXPECT_EQ(part.bytes, 1024_B);
  EXPECT_TRUE(part.receive_in_switch && part.multicasts());
  EXPECT_EQ(part.receive_from.size(), 4);
  EXPECT_EQ(part.after, (Progress{.channel = 0, .lane = 0, .steps = 1}));
  EXPECT_TRUE(schedule->step(2, 0, 4, 0).contributes());
  EXPECT_EQ(schedule->step(2, 0, 0, 1).bytes, 4096_B);
}

}  // namespace
}  // namespace weft::coll
