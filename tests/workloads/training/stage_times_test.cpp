// Stages whose passes' times are given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

TrainingSetup pipeline(const char* schedule) {
  TrainingSetup setup = llama();
  setup.model.layers = 8;
  setup.plan.pipeline = 4;
  setup.plan.schedule = schedule;
  setup.plan.data_parallelism = DataParallelism::kMegatron;
  setup.batch = {.global = 8, .micro = 1, .sequence = 512};
  setup.stage_times = StageTimes{
      .forward = {Duration::from_us(1000)}, .backward = {Duration::from_us(1100)}, .weight = {Duration::from_us(800)}};
  return setup;
}

Duration sum_of(const RankProgram& program, std::string_view name) {
  Duration sum;
  for (const Operation& op : program.operations) {
    if (program.names[op.name] == name) sum += op.duration;
  }
  return sum;
}

TEST(StageTimesTest, PassesTakeTheTimesThatAreGiven) {
  for (const char* schedule : {"1f1b", "zb_h1"}) {
    const Program program = program_of(pipeline(schedule));
    for (const RankProgram& own : program.programs) {
      EXPECT_EQ(sum_of(own, "forward"), Duration::from_us(8 * 1000)) << schedule;
      EXPECT_EQ(sum_of(own, "backward"), Duration::from_us(8 * 1100)) << schedule;
      EXPECT_EQ(sum_of(own, "backward of weights"), Duration::from_us(8 * 800)) << schedule;
      EXPECT_EQ(named(own, "qkv"), 0);
      EXPECT_EQ(named(own, "optimizer"), 1);
    }
  }
}

TEST(StageTimesTest, EachStageHasItsOwn) {
  TrainingSetup setup = pipeline("1f1b");
  setup.stage_times->forward = {Duration::from_us(10), Duration::from_us(20), Duration::from_us(30), Duration::from_us(40)};
  const Program program = program_of(setup);
  EXPECT_EQ(sum_of(program.programs[2], "forward"), Duration::from_us(8 * 30));
}

TEST(StageTimesTest, ActivationsAreThoseOfTheLayers) {
  TrainingSetup setup = pipeline("1f1b");
  const Program given = program_of(setup);
  setup.stage_times.reset();
  const Program layers = program_of(setup);
  EXPECT_EQ(peak_bytes(given.programs[1]), peak_bytes(layers.programs[1]));
}

TEST(StageTimesTest, RecomputationAndFsdpAreRefused) {
  TrainingSetup setup = pipeline("1f1b");
  setup.plan.recompute = Recompute::kFull;
  EXPECT_THAT(training_refusal(setup), ::testing::HasSubstr("hold their recomputation"));
  setup.plan.recompute = Recompute::kNone;
  setup.plan.data_parallelism = DataParallelism::kFsdp;
  EXPECT_THAT(training_refusal(setup), ::testing::HasSubstr("fsdp gathers around each"));
}

}  // namespace
}  // namespace weft::work::test
