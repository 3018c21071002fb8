// Megatron-LM's kernels before FlashAttention and Transformer Engine.
#include <gtest/gtest.h>

#include <string>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

TrainingSetup gpt(bool flash_attention) {
  TrainingSetup setup = llama();
  setup.model.kv_heads = setup.model.heads;
  setup.model.gated_mlp = false;
  setup.model.linear_bias = true;
  setup.flash_attention = flash_attention;
  return setup;
}

TEST(BeforeFlashTest, BiasesAndLayoutsHaveKernelsOfTheirOwn) {
  const Program program = program_of(gpt(false));
  const RankProgram& own = program.programs[0];
  for (const std::string name :
       {"bias of QKV", "masked softmax", "context to contiguous", "gradients of QKV to one", "bias gradient of qkv",
        "bias gradient of proj", "bias gradient of up", "bias gradient of down"}) {
    EXPECT_EQ(named(own, name), 3) << name;  // a layer each
  }
  const Program fused = program_of(gpt(true));
  EXPECT_EQ(named(fused.programs[0], "bias of QKV") + named(fused.programs[0], "bias gradient of qkv"), 0);
}

TEST(BeforeFlashTest, DropoutHasAMaskAndABackwardKernelAtEachResidual) {
  TrainingSetup setup = gpt(false);
  const auto named_of = [&](std::string_view name) { return named(program_of(setup).programs[0], name); };
  EXPECT_EQ(named_of("dropout backward") + named_of("dropout of scores"), 0);
  setup.model.dropout = 0.1;
  EXPECT_EQ(named_of("dropout backward"), 2 * 3);
  EXPECT_EQ(named_of("dropout of scores"), 3);
  EXPECT_EQ(named_of("dropout backward of scores"), 3);
}

TEST(BeforeFlashTest, WithoutBiasesThereAreNone) {
  TrainingSetup setup = gpt(false);
  setup.model.linear_bias = false;
  const Program program = program_of(setup);
  EXPECT_EQ(named(program.programs[0], "bias of QKV") + named(program.programs[0], "bias gradient of up"), 0);
  EXPECT_EQ(named(program.programs[0], "context to contiguous"), 3);
}

TEST(BeforeFlashTest, RecomputationAddsTheBiasAgain) {
  TrainingSetup setup = gpt(false);
  setup.plan.recompute = Recompute::kFull;
  const Program program = program_of(setup);
  EXPECT_EQ(named(program.programs[0], "bias of QKV"), 6);
  EXPECT_EQ(named(program.programs[0], "bias gradient of qkv"), 3);
}

}  // namespace
}  // namespace weft::work::test
