// A step that computes more than its GPUs can is told: its figures are those of the times that were given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/run_scenario.h"

namespace weft::scenario {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// The shipped step of four stages, whose passes take `each`.
RunResult with_passes_of(const char* each) {
  Overrides overrides;
  overrides.sets = {{"workload.stage_times.forward", each}, {"workload.stage_times.backward", each}};
  Diagnostics diagnostics;
  return run_scenario(load_scenario(WEFT_SOURCE_DIR "/configs/scenarios/training/gpt_1f1b.yaml", overrides, diagnostics));
}

TEST(ImpossibleRateTest, GivenTimesThatAreTooShortAreNoted) {
  const RunResult result = with_passes_of("1 us");
  EXPECT_GT(result.training->mfu, 1);
  EXPECT_THAT(result.notes, Contains(HasSubstr("stage_times are too short for this model, batch and precision")));
}

TEST(ImpossibleRateTest, TimesThatAGpuCanMeetAreNot) {
  const RunResult result = with_passes_of("10 s");
  EXPECT_LT(result.training->mfu, 1);
  EXPECT_THAT(result.notes, Not(Contains(HasSubstr("peak allows"))));
}

}  // namespace
}  // namespace weft::scenario
