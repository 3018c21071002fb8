// Activations that a program keeps, against the closed forms of models/workloads §1.4 and §3. Gradients and parameters of these
// setups are resident; stages between the first and the last have nothing but layers.
#include <gtest/gtest.h>

#include "sim/workloads/model/memory.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

TrainingSetup pipeline(const std::string& schedule, int stages, int microbatches, int virtual_stages = 1) {
  TrainingSetup setup;
  setup.model = {
      .name = "m", .layers = 16, .hidden = 512, .heads = 8, .kv_heads = 8, .head_dim = 64, .ffn = 1024, .vocab = 1024};
  setup.plan.pipeline = stages;
  setup.plan.schedule = schedule;
  setup.plan.virtual_stages = virtual_stages;
  setup.plan.data_parallelism = DataParallelism::kMegatron;
  setup.batch = {.global = microbatches, .micro = 1, .sequence = 1024};
  return setup;
}

double one_layer(const TrainingSetup& setup) {
  return activation_bytes(setup.model, 0, setup.plan, setup.batch, setup.precision);
}

// Between two stages.
double message(const TrainingSetup& setup) { return 2.0 * 1024 * static_cast<double>(setup.model.hidden); }

// Layers' activations that a stage holds at most, beside the messages that have arrived: a gradient at the peak, with the
// activations of the forward pass that comes next where receives are posted early.
double layers_held(const TrainingSetup& setup, const Program& program, std::size_t stage, int messages = 1) {
  const RankProgram& own = program.programs[stage];
  return (static_cast<double>(peak_bytes(own) - own.resident.total()) - messages * message(setup)) / one_layer(setup);
}

TEST(LiveActivationsTest, OneForwardOneBackwardHoldsOneMicrobatchLessPerStage) {
  const TrainingSetup setup = pipeline("1f1b", 4, 8);
  const Program program = program_of(setup);
  for (std::size_t stage = 0; stage < 3; ++stage) {
    EXPECT_DOUBLE_EQ(layers_held(setup, program, stage), static_cast<double>((4 - stage) * 4));
  }
}

TEST(LiveActivationsTest, GpipeHoldsAllMicrobatches) {
  const TrainingSetup setup = pipeline("gpipe", 4, 8);
  const Program program = program_of(setup);
  for (std::size_t stage = 0; stage < 3; ++stage) EXPECT_DOUBLE_EQ(layers_held(setup, program, stage), 8.0 * 4);
}

// 2 (p - s - 1) + (v - 1) p + 1 chunks of 16 / (4 x 2) = 2 layers.
TEST(LiveActivationsTest, InterleavedHoldsChunksOfTheClosedForm) {
  const TrainingSetup setup = pipeline("interleaved_1f1b", 4, 8, 2);
  const Program program = program_of(setup);
  for (int stage = 0; stage < 3; ++stage) {
    EXPECT_DOUBLE_EQ(layers_held(setup, program, static_cast<std::size_t>(stage), 2), 2.0 * (2 * (4 - stage - 1) + 4 + 1));
  }
}

TEST(LiveActivationsTest, ZeroBubbleH1HoldsAsManyOnEveryStage) {
  const TrainingSetup setup = pipeline("zb_h1", 4, 8);
  const Program program = program_of(setup);
  for (std::size_t stage = 0; stage < 3; ++stage) EXPECT_DOUBLE_EQ(layers_held(setup, program, stage), 4.0 * 4);
}

TEST(LiveActivationsTest, FullRecomputationHoldsInputsAndOneLayer) {
  TrainingSetup setup = pipeline("1f1b", 4, 8);
  const double whole = one_layer(setup);
  setup.plan.recompute = Recompute::kFull;
  const Program program = program_of(setup);
  const double input = 2.0 * 1024 * 512;
  const RankProgram& first = program.programs[0];
  // Four microbatches of four layers' inputs; the last layer of one of them, recomputed.
  EXPECT_DOUBLE_EQ(static_cast<double>(peak_bytes(first) - first.resident.total()),
                   16 * input + whole - input + message(setup));
}

// Two inputs of four layers are kept of each microbatch; both layers of a group are there before the last one's backward pass.
TEST(LiveActivationsTest, UniformRecomputationHoldsGroupsInputsAndOneGroup) {
  TrainingSetup setup = pipeline("1f1b", 4, 8);
  const double whole = one_layer(setup);
  setup.plan.recompute = Recompute::kFull;
  setup.plan.recompute_method = RecomputeMethod::kUniform;
  setup.plan.recompute_layers = 2;
  const Program program = program_of(setup);
  const double input = message(setup);
  const RankProgram& first = program.programs[0];
  EXPECT_DOUBLE_EQ(static_cast<double>(peak_bytes(first) - first.resident.total()),
                   4 * 2 * input + 2 * whole - input + message(setup));
  EXPECT_EQ(named(first, "qkv"), 8 * (4 + 4));
  EXPECT_DOUBLE_EQ(recomputed_share(setup), 1.0);
  setup.framework = "pytorch_compile";
  EXPECT_NE(training_refusal(setup).find("recompute_method: uniform"), std::string::npos);
}

TEST(LiveActivationsTest, RecomputationOfSomeLayersHoldsTheOthersWhole) {
  TrainingSetup setup = pipeline("1f1b", 4, 8);
  const double whole = one_layer(setup);
  setup.plan.recompute = Recompute::kFull;
  setup.plan.recompute_layers = 1;
  const Program program = program_of(setup);
  const double input = 2.0 * 1024 * 512;
  const RankProgram& first = program.programs[0];
  // One layer's input and three layers of each of four microbatches; theirs are gone when the first one is recomputed.
  EXPECT_DOUBLE_EQ(static_cast<double>(peak_bytes(first) - first.resident.total()), 4 * (input + 3 * whole) + message(setup));
  EXPECT_EQ(named(first, "qkv"), 8 * (4 + 1));
  EXPECT_DOUBLE_EQ(recomputed_share(setup), 0.25);
}

}  // namespace
}  // namespace weft::work::test
