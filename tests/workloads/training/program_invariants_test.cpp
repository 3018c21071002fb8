// Every training program obeys these, over random setups.
#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "tests/workloads/training/progress.h"
#include "tests/workloads/training/random_plans.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

constexpr std::uint64_t kSetups = 400;

template <class Check>
int for_random_setups(const Check& check) {
  int checked = 0;
  for (std::uint64_t seed = 0; seed < kSetups; ++seed) {
    const TrainingSetup setup = random_setup(seed);
    if (!training_refusal(setup).empty()) continue;
    ++checked;
    SCOPED_TRACE(describe(setup));
    check(setup, program_of(setup));
    if (::testing::Test::HasFailure()) break;
  }
  return checked;
}

TEST(ProgramInvariantsTest, OperationsWaitForEarlierOnesOnly) {
  for_random_setups([](const TrainingSetup&, const Program& program) {
    for (const RankProgram& stage : program.programs) {
      for (OpIndex i = 0; i < stage.operations.size(); ++i) {
        for (const OpIndex wait : stage.waits_of(stage.operations[i])) ASSERT_LT(wait, i);
      }
    }
  });
}

TEST(ProgramInvariantsTest, WhatIsAllocatedIsReleased) {
  for_random_setups([](const TrainingSetup&, const Program& program) {
    for (const RankProgram& stage : program.programs) {
      std::int64_t live = 0;
      OpIndex last = 0;
      for (const MemoryChange& change : stage.memory) {
        ASSERT_GE(change.op, last);
        ASSERT_LT(change.op, stage.operations.size());
        last = change.op;
        live += change.bytes;
      }
      ASSERT_EQ(live, 0);
      ASSERT_GT(stage.resident.total(), 0);
    }
  });
}

TEST(ProgramInvariantsTest, EveryProgramRunsToItsEnd) {
  const int checked =
      for_random_setups([](const TrainingSetup&, const Program& program) { ASSERT_EQ(Progress{program}.run(), ""); });
  EXPECT_GT(checked, 200);
}

TEST(ProgramInvariantsTest, RanksOfAStageShareAProgramAndFoldOntoTheFirst) {
  TrainingSetup setup = pp4();
  setup.plan.data = 2;
  setup.batch.global = 16;
  const Program program = program_of(setup, true);
  ASSERT_EQ(program.programs.size(), 4U);
  ASSERT_EQ(program.ranks.size(), 8U);
  // Order tp-cp-ep-dp-pp: stage s holds ranks 2s and 2s + 1.
  for (Rank rank = 0; rank < 8; ++rank) {
    const ProgramRank& own = program.ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(own.program, static_cast<std::uint32_t>(rank / 2));
    EXPECT_EQ(own.leader, rank / 2 * 2);
    EXPECT_EQ(own.peers, (std::vector<Rank>{(rank + 6) % 8, (rank + 2) % 8}));
  }
  const Program apart = program_of(setup, false);
  for (Rank rank = 0; rank < 8; ++rank) EXPECT_EQ(apart.ranks[static_cast<std::size_t>(rank)].leader, rank);
}

TEST(ProgramInvariantsTest, MeasuredStepsRunToTheirEnd) {
  for (const TrainingSetup& setup : {single(), ddp(), fsdp(), tp4(), tp2dp2(), pp4(), ep4()}) {
    EXPECT_EQ(Progress{program_of(setup)}.run(), "");
  }
}

TEST(ProgramInvariantsTest, MoreRanksThanEndpointsAreTheUsersError) {
  const net::Topology topology = testing::star(3, Bandwidth::from_bits_per_second(1'000'000'000), Duration::from_us(1));
  EXPECT_THROW(static_cast<void>(training_program(ddp(), kernel_times(), topology, false)), ConfigError);
}

}  // namespace
}  // namespace weft::work::test
