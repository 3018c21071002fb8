// Steps of schedules whose buffers are registered: what they still move.
#include "sim/collectives/registered_schedule.h"

#include <gtest/gtest.h>

#include "sim/collectives/step_work.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using testing::Group;
using namespace literals;

// Loads of messages cost 1/5 of a step that reads and sends, the read 3/10 of it, and a store 3/5.
constexpr StepCosts kSharesOfAStep{.memory = {.receive = 0.2, .source = 0.3, .store = 0.6}};

std::shared_ptr<const Schedule> registered(const Group& group, Collective kind, const std::string& algorithm,
                                           const RegisteredBuffers& buffers) {
  return with_registration(testing::plan(group.communicator(), testing::call(kind, 256_KiB), algorithm, 1, 64_KiB),
                           group.communicator(), buffers);
}

double effort_at(const Schedule& schedule, std::int64_t index, int lane = 0) {
  return effort_of(kSharesOfAStep, schedule.step(0, 0, lane, index));
}

TEST(RegisteredScheduleTest, NothingRegisteredIsTheScheduleItself) {
  const Group group{4};
  const std::shared_ptr<const Schedule> plain =
      testing::plan(group.communicator(), testing::call(Collective::kAllGather, 256_KiB), "ring", 1, 64_KiB);
  EXPECT_EQ(with_registration(plain, group.communicator(), {}), plain);
}

// A ring of four: it copies and sends (1.6), passes on what the peer has stored twice (0.2 + 0.7 in place of 1.5), and has
// nothing to do with the last.
TEST(RegisteredScheduleTest, AGatherInARingStoresItsOwnBlockOnly) {
  const Group group{std::vector<int>{4}};
  const auto schedule = registered(group, Collective::kAllGather, "ring", {.of_peers = true});
  EXPECT_NEAR(effort_at(*schedule, 0), 1.6, 1e-12);
  EXPECT_NEAR(effort_at(*schedule, 1), 0.9, 1e-12);
  EXPECT_NEAR(effort_at(*schedule, 2), 0.9, 1e-12);
  EXPECT_EQ(effort_at(*schedule, 3), 0.0);
  EXPECT_NEAR(usual_step(*schedule, kSharesOfAStep).effort, (1.6 + 2 * 0.9) / 3, 1e-12);
  EXPECT_NEAR(usual_step(*schedule, kSharesOfAStep).copies, 1.0 / 3, 1e-12);
}

// An all-reduce adds up as without: 1, 1.2, 1.2, 1.8; then it passes on twice.
TEST(RegisteredScheduleTest, AnAllReduceInARingSavesTheStoresOfItsSecondHalf) {
  const Group group{std::vector<int>{4}};
  const auto schedule = registered(group, Collective::kAllReduce, "ring", {.of_peers = true});
  EXPECT_NEAR(usual_step(*schedule, kSharesOfAStep).effort, (1 + 2 * 1.2 + 1.8 + 2 * 0.9) / 6, 1e-12);
}

// Peers on other nodes store nothing, and NICs serve no peers on the same one.
TEST(RegisteredScheduleTest, PeersAndNicsAreToldApart) {
  const Group spread{std::vector<int>{1, 1, 1, 1}};
  EXPECT_NEAR(effort_at(*registered(spread, Collective::kAllGather, "ring", {.of_peers = true}), 1), 1.5, 1e-12);
  const Group node{std::vector<int>{4}};
  EXPECT_NEAR(effort_at(*registered(node, Collective::kAllGather, "ring", {.of_network = true}), 1), 1.5, 1e-12);
  // NICs do all but the copy of its own block, which warps of no lane make meanwhile.
  const auto by_nics = registered(spread, Collective::kAllGather, "ring", {.of_network = true});
  for (const std::int64_t index : {0, 1, 2, 3}) EXPECT_EQ(effort_at(*by_nics, index), 0.0);
}

// Lanes: scatter, reduce, gather. Nothing is scattered or gathered, and 18 of 20 warps reduce.
TEST(RegisteredScheduleTest, TheSwitchReadsAndWritesBuffersOfNvls) {
  const Group group{std::vector<int>{4}};
  const auto schedule = registered(group, Collective::kAllReduce, "nvls", {.in_switch = true});
  ASSERT_EQ(schedule->lanes(0, 0), 3);
  EXPECT_EQ(effort_at(*schedule, 0, 0), 0.0);
  EXPECT_GT(effort_at(*schedule, 0, 1), 0.0);
  EXPECT_EQ(effort_at(*schedule, 0, 2), 0.0);
  EXPECT_NEAR(schedule->warp_share(0, 0, 0), 0.05, 1e-12);
  EXPECT_NEAR(schedule->warp_share(0, 0, 1), 0.90, 1e-12);
  EXPECT_NEAR(schedule->warp_share(0, 0, 2), 0.05, 1e-12);
  EXPECT_FALSE(schedule->has_fluid_flows());
}

}  // namespace
}  // namespace weft::coll
