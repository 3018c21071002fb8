// The fewest layers that are recomputed so that a step fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/scenario/run_scenario.h"

namespace weft::scenario {
namespace {

using ::testing::HasSubstr;

// The shipped step of four stages with six layers each.
RunResult run_pipeline(const char* micro, std::vector<std::pair<std::string, std::string>> more) {
  Overrides overrides;
  overrides.sets = {{"workload.batch.micro", micro}, {"workload.batch.global", "256"}};
  for (auto& each : more) overrides.sets.push_back(std::move(each));
  Diagnostics diagnostics;
  return run_scenario(load_scenario(WEFT_SOURCE_DIR "/configs/scenarios/training/gpt_1f1b.yaml", overrides, diagnostics));
}

const std::vector<std::pair<std::string, std::string>> kAsNeeded = {{"workload.parallelism.recompute", "as_needed"}};

// The first stage holds four microbatches of 32 sequences. A layer of each keeps 34 bytes of 65,536 tokens x 4096 less those of
// attention's scores, 8.6 GB here, or 0.54 GB of input where it is recomputed; parameters, gradients and optimizer take 22.6 GB
// of the 139 that are free. 4 (0.54 k + 8.6 (6 - k)) is at most 116.4 from k = 3 on.
TEST(RecomputeAsNeededTest, TakesTheFewestLayersThatFit) {
  const RunResult found = run_pipeline("32", kAsNeeded);
  ASSERT_TRUE(found.training);
  ASSERT_TRUE(found.training->recomputed_layers);
  EXPECT_EQ(*found.training->recomputed_layers, 3);
  EXPECT_TRUE(found.training->memory.fits());
  const RunResult three =
      run_pipeline("32", {{"workload.parallelism.recompute", "full"}, {"workload.parallelism.recompute_layers", "3"}});
  EXPECT_EQ(found.digest, three.digest);
  EXPECT_DOUBLE_EQ(found.training->hfu, three.training->hfu);
  EXPECT_THROW(run_pipeline("32", {{"workload.parallelism.recompute", "full"}, {"workload.parallelism.recompute_layers", "2"}}),
               ConfigError);
}

TEST(RecomputeAsNeededTest, RecomputesNothingWhereTheStepFits) {
  const RunResult found = run_pipeline("1", kAsNeeded);
  EXPECT_EQ(found.training->recomputed_layers, 0);
  EXPECT_EQ(found.digest, run_pipeline("1", {}).digest);
}

TEST(RecomputeAsNeededTest, RefusesAStepThatDoesNotFitWithAllLayersRecomputed) {
  try {
    static_cast<void>(run_pipeline("256", kAsNeeded));
    FAIL() << "logits of 524,288 tokens are 105 GB";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_THAT(text, HasSubstr("out of memory: with every layer recomputed, rank 3 needs "));
    EXPECT_EQ(text.find("recompute: as_needed"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::scenario
