// A step that does not fit its GPUs: refused, or timed as if it did where the scenario says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "sim/scenario/run_scenario.h"

namespace weft::scenario {
namespace {

using ::testing::HasSubstr;

// The shipped step of four stages, with as many sequences in a microbatch.
Scenario pipeline(const char* micro, const char* must_fit) {
  Overrides overrides;
  overrides.sets = {{"workload.batch.micro", micro}, {"workload.batch.global", "256"}, {"simulation.must_fit", must_fit}};
  Diagnostics diagnostics;
  return load_scenario(WEFT_SOURCE_DIR "/configs/scenarios/training/gpt_1f1b.yaml", overrides, diagnostics);
}

std::string refusal(const Scenario& scenario) {
  try {
    static_cast<void>(run_scenario(scenario));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(TrainingMemoryTest, AStepThatDoesNotFitIsRefusedWithWhatWouldHelp) {
  const std::string text = refusal(pipeline("32", "true"));
  EXPECT_THAT(text, HasSubstr("out of memory: rank "));
  EXPECT_THAT(text, HasSubstr("and h200_sxm has 150.1 GB"));
  EXPECT_THAT(text, HasSubstr("a smaller batch.micro"));
}

TEST(TrainingMemoryTest, ItIsTimedWhereTheScenarioSaysSoAndTheResultTells) {
  const RunResult result = run_scenario(pipeline("32", "false"));
  ASSERT_TRUE(result.training);
  EXPECT_FALSE(result.training->memory.fits());
  EXPECT_GT(result.training->iteration, Duration{});
  ASSERT_FALSE(result.notes.empty());
  EXPECT_THAT(result.notes.back(), HasSubstr("this step does not fit, and is timed as if it did"));
}

TEST(TrainingMemoryTest, OneThatFitsIsTheSameEitherWay) {
  const RunResult checked = run_scenario(pipeline("1", "true"));
  const RunResult unchecked = run_scenario(pipeline("1", "false"));
  EXPECT_TRUE(checked.training->memory.fits());
  EXPECT_EQ(checked.digest, unchecked.digest);
  EXPECT_EQ(checked.notes, unchecked.notes);
}

}  // namespace
}  // namespace weft::scenario
