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

// Scatter: log2 n latencies and (n-1)/n of the vector; ring: n-1 latencies and as much again.
TEST(VanDeGeijnTest, TakesTheTimeOfTheFormula) {
  const Group group{8};
  const auto schedule = plan(group.communicator(), call(Collective::kBroadcast, 8 * 512_B, 3), "van_de_geijn");
  EXPECT_EQ(ideal_time(*schedule), ideal_time(3 + 7, 2 * 7 * 512));
}

TEST(VanDeGeijnTest, TheRingStartsFromTheRootsPlace) {
  const Group group{4};
  const auto schedule = plan(group.communicator(), call(Collective::kBroadcast, 4 * 64_B, 2), "van_de_geijn");
  // Rank 3 is vertex 1: it receives block 1 from the root, and sends it on to vertex 2, rank 0.
  const Step receive = schedule->step(3, 0, 0, 0);
  EXPECT_EQ(receive.receive_from, Peers{2});
  EXPECT_EQ(receive.destination, (Chunk{Buffer::kOutput, 64}));
  const Step pass_on = schedule->step(3, 0, 0, 1);
  EXPECT_EQ(pass_on.send_to, Peers{0});
  EXPECT_EQ(pass_on.source, (Chunk{Buffer::kOutput, 64}));
}

}  // namespace
}  // namespace weft::coll
