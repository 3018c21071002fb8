#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;
using weft::testing::plan;

TEST(PairwiseTest, RoundsFollowEachOtherInOneLane) {
  const Group group{4};
  const auto pairwise =
      plan(group.communicator(), {.kind = Collective::kAllToAll, .bytes = 1024_B, .element_size = 4, .root = 0}, "pairwise");
  ASSERT_EQ(pairwise->lanes(1, 0), 2);
  ASSERT_EQ(pairwise->step_count(1, 0, 1), 6);
  for (int round = 1; round < 4; ++round) {
    const Step send = pairwise->step(1, 0, 1, 2 * (round - 1));
    const Step receive = pairwise->step(1, 0, 1, 2 * (round - 1) + 1);
    EXPECT_EQ(send.send_to, Peers{(1 + round) % 4});
    EXPECT_EQ(send.source.offset, 256 * ((1 + round) % 4));
    EXPECT_EQ(receive.receive_from, Peers{(5 - round) % 4});
    EXPECT_EQ(receive.destination.offset, 256 * ((5 - round) % 4));
  }
}

// In every round each rank sends to one and receives from one: a permutation without fixed points.
TEST(PairwiseTest, EveryRoundIsAPermutation) {
  const Group group{7};
  const auto pairwise =
      plan(group.communicator(), {.kind = Collective::kAllToAll, .bytes = 1024_B, .element_size = 4, .root = 0}, "pairwise");
  for (std::int64_t round = 0; round < 6; ++round) {
    std::vector<int> received(7, 0);
    for (Rank rank = 0; rank < 7; ++rank) {
      const Rank to = *pairwise->step(rank, 0, 1, 2 * round).send_to.begin();
      EXPECT_NE(to, rank);
      ++received[static_cast<std::size_t>(to)];
      EXPECT_EQ(*pairwise->step(to, 0, 1, 2 * round + 1).receive_from.begin(), rank);
    }
    EXPECT_EQ(std::count(received.begin(), received.end(), 1), 7);
  }
}

TEST(PairwiseTest, TheFluidFormHasAllPairsAndTheLatencyOfEveryRound) {
  const Group group{4, 2};
  const auto pairwise =
      plan(group.communicator(), {.kind = Collective::kAllToAll, .bytes = 1024_B, .element_size = 4, .root = 0}, "pairwise", 2);
  ASSERT_EQ(pairwise->fluid_flow_count(), 2);
  EXPECT_EQ(pairwise->fluid_flow(1).edges.size(), 12U);
  EXPECT_EQ(pairwise->fluid_flow(1).bytes, 128_B);
  EXPECT_EQ(pairwise->fluid_flow(1).serial_steps, 3);
}

}  // namespace
}  // namespace weft::coll
