// Recomputation of everything but attention and every second matrix product.
#include <gtest/gtest.h>

#include "sim/workloads/model/flops.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

TrainingSetup recomputing() {
  TrainingSetup setup = llama();
  setup.plan.data_parallelism = DataParallelism::kMegatron;
  setup.plan.recompute = Recompute::kOperators;
  return setup;
}

TEST(RecomputeOperatorsTest, RunsEverySecondProductAgainAndAttentionOnce) {
  const RankProgram program = program_of(recomputing()).programs.front();
  EXPECT_EQ(named(program, "keys"), 3);
  EXPECT_EQ(named(program, "qkv"), 3);
  EXPECT_EQ(named(program, "proj"), 2 * 3);
  EXPECT_EQ(named(program, "up"), 2 * 3);  // whole, then one half
  EXPECT_EQ(named(program, "down"), 3);
  EXPECT_EQ(named(program, "attention"), 3);
}

TEST(RecomputeOperatorsTest, CountsInHardwareFlops) {
  const TransformerModel model = recomputing().model;
  const auto flops = [&](Recompute recompute) {
    return hardware_flops(model, 512, 512, FlopConvention::kCausalAttention, recompute);
  };
  // Two FLOPs for each weight of K (h x 2 heads), output and one of the two first matrices of the MLP.
  EXPECT_DOUBLE_EQ(flops(Recompute::kOperators) - flops(Recompute::kNone), 2.0 * 512 * 3 * 1024 * (256 + 1024 + 2816));
  EXPECT_LT(flops(Recompute::kOperators), flops(Recompute::kFull));
}

TEST(RecomputeOperatorsTest, KeepsLessThanNothingRecomputedAndMoreThanLayers) {
  TrainingSetup setup = recomputing();
  const auto peak = [&](Recompute recompute) {
    setup.plan.recompute = recompute;
    return peak_bytes(program_of(setup).programs.front());
  };
  EXPECT_LT(peak(Recompute::kOperators), peak(Recompute::kNone));
  EXPECT_GT(peak(Recompute::kOperators), peak(Recompute::kFull));
}

TEST(RecomputeOperatorsTest, IsOfDenseLayersOfMegatron) {
  TrainingSetup setup = recomputing();
  EXPECT_EQ(training_refusal(setup), "");
  setup.model.moe = {.experts = 8, .experts_per_token = 2, .expert_ffn = 2816};
  EXPECT_NE(training_refusal(setup).find("recompute: operators"), std::string::npos);
}

}  // namespace
}  // namespace weft::work::test
