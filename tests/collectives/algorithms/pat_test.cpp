#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "sim/collectives/verifier.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// Steps of rank 0 that receive: what the rank waits for, one after another.
std::vector<Step> receives(const Schedule& schedule) {
  std::vector<Step> steps;
  for (std::int64_t i = 0; i < schedule.step_count(0, 0, 0); ++i) {
    const Step step = schedule.step(0, 0, 0, i);
    if (!step.receive_from.empty()) steps.push_back(step);
  }
  return steps;
}

// Small blocks, n = 2^k: up to n/2 blocks a message, so k exchanges: k - 1 to collect n/2 blocks (1, 2, ... n/4 at a time) and
// one for the neighbour's (models/nccl §3.5: log2(n) network steps).
TEST(PatTest, SmallBlocksTakeLogarithmicallyManyMessages) {
  for (const int n : {2, 4, 8, 16, 32}) {
    const Group group{n};
    const auto pat = plan(group.communicator(), call(Collective::kAllGather, Bytes{64 * n}), "pat");
    const std::vector<Step> steps = receives(*pat);
    const int dimensions = std::countr_zero(static_cast<unsigned>(n));
    ASSERT_EQ(steps.size(), static_cast<std::size_t>(dimensions)) << n;
    int distance = n / 2;  // the far ones first
    int blocks = 1;
    for (const Step& step : steps) {
      EXPECT_EQ(step.receive_from, Peers{distance});
      EXPECT_EQ(step.bytes.count(), 64 * blocks);
      distance /= 2;
      blocks *= 2;
    }
  }
}

// Blocks of a slot (512 KiB) and more travel alone, each once: n - 1 messages.
TEST(PatTest, LargeBlocksTravelAlone) {
  const Group group{11};
  const auto pat = plan(group.communicator(), call(Collective::kAllGather, 11 * 512_KiB), "pat", 1, 512_KiB);
  const std::vector<Step> steps = receives(*pat);
  ASSERT_EQ(steps.size(), 10U);
  for (int d = 1; d <= 10; ++d) {
    EXPECT_EQ(steps[static_cast<std::size_t>(d - 1)].receive_from, Peers{d & -d});  // block d comes from its lowest bit away
    EXPECT_EQ(steps[static_cast<std::size_t>(d - 1)].destination.offset, d * 512 * 1024);
  }
}

// 16 ranks, blocks of 128 KiB: four fit a slot of 512 KiB. Two exchanges collect four blocks, 4 ranks apart; three more
// messages bring the groups of the ranks 1, 2 and 3 away.
TEST(PatTest, BlocksInBetweenTravelAsManyAsFitASlot) {
  const Group group{16};
  const auto pat = plan(group.communicator(), call(Collective::kAllGather, 16 * 128_KiB), "pat", 1, 512_KiB);
  const std::vector<Step> steps = receives(*pat);
  ASSERT_EQ(steps.size(), 5U);
  const int from[] = {8, 4, 1, 2, 1};
  const int blocks[] = {1, 2, 4, 4, 4};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(steps[i].receive_from, Peers{from[i]}) << i;
    EXPECT_EQ(steps[i].bytes, blocks[i] * 128_KiB) << i;
  }
}

TEST(PatTest, ReduceScatterSendsTheOtherWay) {
  const Group group{8};
  const auto traffic =
      weft::testing::traffic_of_steps(*plan(group.communicator(), call(Collective::kReduceScatter, 512_B), "pat"));
  for (const auto& [edge, bytes] : traffic) {
    const int distance = (edge.second.second - edge.second.first + 8) % 8;
    EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(distance)));
    EXPECT_EQ(bytes, 64 * 4 / distance);  // near ranks pass on the most blocks
  }
}

TEST(PatTest, DataEndRightHoweverManyBlocksAreAggregated) {
  for (int n = 2; n <= 33; ++n) {
    const Group group{n};
    for (const Bytes block : {512_KiB, 256_KiB, 100_KiB, 64_KiB, 16_KiB}) {
      for (const Collective kind : {Collective::kAllGather, Collective::kReduceScatter}) {
        const auto pat = plan(group.communicator(), call(kind, n * block), "pat", 1, 200_KiB);
        EXPECT_EQ(verify(*pat, call(kind, n * block)).value_or("none"), "none") << n << " ranks, " << block.count();
      }
    }
  }
}

// Nobody receives a block twice: n - 1 blocks come in, and as many go out.
TEST(PatTest, EveryRankReceivesEveryBlockOnce) {
  for (const int n : {3, 5, 6, 7, 12, 13, 21, 33}) {
    const Group group{n};
    for (const Bytes block : {64_B, 64_KiB, 512_KiB}) {
      std::int64_t in = 0;
      for (const Step& step : receives(*plan(group.communicator(), call(Collective::kAllGather, n * block), "pat")))
        in += step.bytes.count();
      EXPECT_EQ(in, (n - 1) * block.count()) << n << " ranks";
    }
  }
}

}  // namespace
}  // namespace weft::coll
