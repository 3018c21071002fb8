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

// Rank 2's lane 1 pushes part 3 to rank 3, then, once lane 0 has its own part and three others added up, sends the total.
TEST(ParameterServerTest, AServerAnswersOnceAllHavePushed) {
  const Group group{4};
  const auto schedule = plan(group.communicator(), call(Collective::kAllReduce, 4 * 64_B), "parameter_server");
  const Step push = schedule->step(2, 0, 1, 0);
  EXPECT_EQ(push.send_to, Peers{3});
  EXPECT_EQ(push.source, (Chunk{Buffer::kInput, 3 * 64}));
  EXPECT_EQ(push.after, Progress{});
  const Step pull = schedule->step(2, 0, 1, 1);
  EXPECT_EQ(pull.send_to, Peers{3});
  EXPECT_EQ(pull.source, (Chunk{Buffer::kOutput, 2 * 64}));
  EXPECT_EQ(pull.after, (Progress{.channel = 0, .lane = 0, .steps = 4}));
  ASSERT_EQ(schedule->step_count(2, 0, 0), 1 + 3);
  ASSERT_EQ(schedule->step_count(2, 0, 4), 3);  // the totals of the others
  EXPECT_TRUE(schedule->step(2, 0, 0, 3).use_source);
  EXPECT_FALSE(schedule->step(2, 0, 4, 0).use_source);
  EXPECT_EQ(schedule->step(2, 0, 4, 0).receive_from, Peers{1});
  EXPECT_EQ(schedule->step(2, 0, 4, 0).destination, (Chunk{Buffer::kOutput, 64}));
}

// Push and pull: n-1 parts each way, as little as a ring.
TEST(ParameterServerTest, EveryRankSendsTwiceAllButItsPart) {
  const Group group{8};
  std::int64_t sent = 0;
  for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(
           *plan(group.communicator(), call(Collective::kAllReduce, 8 * 64_B), "parameter_server"))) {
    if (edge.second.first == 5) sent += bytes;
  }
  EXPECT_EQ(sent, 2 * 7 * 64);
}

}  // namespace
}  // namespace weft::coll
