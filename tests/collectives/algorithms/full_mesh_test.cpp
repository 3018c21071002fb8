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

// Lane 0 takes in; lane t sends to the rank t further on, straight from the input.
TEST(FullMeshTest, EveryPairExchangesOneMessageAtOnce) {
  const Group group{4};
  const auto schedule = plan(group.communicator(), call(Collective::kAllGather, 4 * 64_B), "full_mesh");
  ASSERT_EQ(schedule->lanes(1, 0), 4);
  for (int lane = 1; lane < 4; ++lane) {
    ASSERT_EQ(schedule->step_count(1, 0, lane), 1);
    EXPECT_EQ(schedule->step(1, 0, lane, 0).send_to, Peers{(1 + lane) % 4});
    EXPECT_EQ(schedule->step(1, 0, lane, 0).source, (Chunk{Buffer::kInput, 0}));
    const Step receive = schedule->step(1, 0, 0, lane);
    EXPECT_EQ(receive.receive_from, Peers{(5 - lane) % 4});
    EXPECT_EQ(receive.destination, (Chunk{Buffer::kOutput, 64 * ((5 - lane) % 4)}));
  }
}

TEST(FullMeshTest, ReduceScatterAddsUpWhatComes) {
  const Group group{4};
  const auto schedule = plan(group.communicator(), call(Collective::kReduceScatter, 4 * 64_B), "full_mesh");
  EXPECT_EQ(schedule->step(1, 0, 2, 0).source, (Chunk{Buffer::kInput, 3 * 64}));
  const Step reduce = schedule->step(1, 0, 0, 1);
  EXPECT_TRUE(reduce.use_source && reduce.store);
  EXPECT_EQ(reduce.source, (Chunk{Buffer::kOutput, 0}));
}

}  // namespace
}  // namespace weft::coll
