#include <gtest/gtest.h>

#include "sim/collectives/libraries.h"
#include "tests/support/ideal_time.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::ideal_time;

std::unique_ptr<Schedule> shot_of(const Group& group, Bytes bytes, std::string_view protocol) {
  return make_algorithm("custom_all_reduce")
      ->plan(group.communicator(), call(Collective::kAllReduce, bytes), {.protocol = std::string{protocol}});
}

// A flag, the whole vector, a flag; each on its own link.
TEST(CustomAllReduceTest, AOneShotIsABarrierAReadAndABarrier) {
  const Group group{4};
  EXPECT_EQ(ideal_time(*shot_of(group, 4096_B, kOneShot)), ideal_time(3, 4096));
}

// A flag, a quarter of the vector, a flag, a quarter, a flag.
TEST(CustomAllReduceTest, ATwoShotReadsAPartTwice) {
  const Group group{4};
  EXPECT_EQ(ideal_time(*shot_of(group, 4096_B, kTwoShot)), ideal_time(5, 2 * 1024));
}

TEST(CustomAllReduceTest, AOneShotReadsAllOfEveryPeer) {
  const Group group{8};
  const auto schedule = shot_of(group, 1024_B, kOneShot);
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(*schedule)) EXPECT_EQ(bytes, 1024);
  const Step adds_up = schedule->step(3, 0, 0, 1);
  EXPECT_EQ(adds_up.receive_from.size(), 7);
  EXPECT_TRUE(adds_up.use_source && adds_up.store);
}

// Part i of n is rank i's: it reads that from each peer, and each peer reads its sum.
TEST(CustomAllReduceTest, ATwoShotReadsAsMuchAsItIsReadFrom) {
  const Group group{8};
  const auto schedule = shot_of(group, 1024_B, kTwoShot);
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(*schedule)) EXPECT_EQ(bytes, 2 * 128);
}

// Without a word on the shot vLLM's rule holds.
TEST(CustomAllReduceTest, TheShotGoesByBytesAndRanks) {
  EXPECT_EQ(custom_shot(2, 1_GiB), kOneShot);
  EXPECT_EQ(custom_shot(4, 512_KiB - 1_B), kOneShot);
  EXPECT_EQ(custom_shot(4, 512_KiB), kTwoShot);
  EXPECT_EQ(custom_shot(8, 256_KiB - 1_B), kOneShot);
  EXPECT_EQ(custom_shot(8, 256_KiB), kTwoShot);
  const Group group{8};
  EXPECT_EQ(shot_of(group, 256_KiB - 16_B, "")->step_count(0, 0, 1), 3);
  EXPECT_EQ(shot_of(group, 256_KiB, "")->step_count(0, 0, 1), 5);
}

}  // namespace
}  // namespace weft::coll
