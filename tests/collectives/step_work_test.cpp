#include "sim/collectives/step_work.h"

#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using testing::Group;
using namespace literals;

// Loads of messages cost 1/5 of a step that reads and sends, the read 3/10 of it, and a store 3/5.
constexpr StepCosts kCosts{.memory = {.receive = 0.2, .source = 0.3, .store = 0.6}};

UsualStep ring_step(Collective kind, int ranks, Bytes bytes = 256_KiB) {
  const Group group{ranks};
  return usual_step(*testing::plan(group.communicator(), testing::call(kind, bytes), "ring", 1, 64_KiB), kCosts);
}

double ring_effort(Collective kind, int ranks, Bytes bytes = 256_KiB) { return ring_step(kind, ranks, bytes).effort; }

TEST(StepWorkTest, CountsTheOperandsAndTheResultsOfAStep) {
  Step step;
  step.receive_from.add(1);
  step.receive_from.add(3);
  step.send_to = Rank{2};
  step.use_source = true;
  step.store = true;
  const StepWork work = work_of(step);
  EXPECT_EQ(work.received, 2);
  EXPECT_EQ(work.sourced, 1);
  EXPECT_EQ(work.stored, 1);
  EXPECT_EQ(work.sent, 1);
  step.accumulate = true;
  EXPECT_EQ(work_of(step).sourced, 2);
}

// A ring of four: it sends (1), adds and sends twice (1.2), adds, keeps and sends (1.8), and keeps and passes on twice (1.5).
TEST(StepWorkTest, ARingsPaceIsTheMeanOfItsSendingSteps) {
  EXPECT_NEAR(ring_effort(Collective::kAllReduce, 4), (1 + 2 * 1.2 + 1.8 + 2 * 1.5) / 6, 1e-12);
  EXPECT_NEAR(ring_effort(Collective::kReduceScatter, 4), (1 + 2 * 1.2) / 3, 1e-12);
  EXPECT_NEAR(ring_effort(Collective::kAllGather, 4), (1.6 + 2 * 1.5) / 3, 1e-12);
}

// A chain is as fast as its slowest rank: the root copies and sends, the others keep and pass on.
TEST(StepWorkTest, AChainsPaceIsThatOfTheBusiestRank) {
  EXPECT_NEAR(ring_effort(Collective::kBroadcast, 4), 1.6, 1e-12);
  EXPECT_NEAR(ring_effort(Collective::kReduce, 4), 1.2, 1e-12);
}

// In an all-reduce two of six sending steps pass on what was added up before.
TEST(StepWorkTest, StepsThatKeepTheirOnlyOperandCopy) {
  EXPECT_NEAR(ring_step(Collective::kAllReduce, 4).copies, 2.0 / 6, 1e-12);
  EXPECT_EQ(ring_step(Collective::kReduceScatter, 4).copies, 0);
  EXPECT_EQ(ring_step(Collective::kAllGather, 4).copies, 1);
}

// A sample of the 2 x 511 + 1 steps of a long ring, and of the many loops of seven steps of a short one.
TEST(StepWorkTest, LooksAtAFewOfManySteps) {
  EXPECT_NEAR(ring_effort(Collective::kAllReduce, 512), (1.2 + 1.5) / 2, 0.01);
  EXPECT_NEAR(ring_effort(Collective::kAllReduce, 4, 256_MiB), ring_effort(Collective::kAllReduce, 4), 0.01);
}

}  // namespace
}  // namespace weft::coll
