#include <gtest/gtest.h>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

using namespace literals;

// Matrices of 3 h^2, h^2, 4 h^2 and 4 h^2 with their biases; norms and the table's positions are small beside them.
TrainingSetup gpt(std::int64_t hidden, int ranks) {
  TrainingSetup setup;
  setup.model = {.name = "gpt",
                 .layers = 2,
                 .hidden = hidden,
                 .heads = 16,
                 .kv_heads = 16,
                 .head_dim = hidden / 16,
                 .ffn = 4 * hidden,
                 .vocab = 1024,
                 .learned_positions = 128,
                 .norm = NormKind::kLayerNorm,
                 .gated_mlp = false,
                 .tied_embedding = true,
                 .linear_bias = true};
  setup.plan.data = ranks;
  setup.plan.data_parallelism = DataParallelism::kDeepSpeed2021;
  setup.plan.zero = 3;
  setup.batch = {.global = ranks, .micro = 1, .sequence = 128};
  return setup;
}

std::int64_t matrices_of_a_layer(std::int64_t h) { return 3 * h * (h + 1) + h * (h + 1) + 4 * h * (h + 1) + h * (4 * h + 1); }

TEST(DeepSpeedSyncTest, EveryMatrixIsGatheredAndReducedByItself) {
  const RankProgram program = program_of(gpt(1024, 4)).programs.front();
  const auto gathered = collective_bytes(program, coll::Collective::kAllGather, Category::kCommData);
  const auto reduced = collective_bytes(program, coll::Collective::kReduceScatter, Category::kCommData);
  // The table forward, and again for the head; each layer's four forward and backward.
  EXPECT_EQ(gathered.size(), 2 + 2 * 2 * 4);
  const std::int64_t table = (1024 + 128) * 1024;
  EXPECT_EQ(sum(gathered), 2 * (2 * table + 2 * 2 * matrices_of_a_layer(1024)));
  // Norms of 2 h are never gathered, but reduced.
  EXPECT_EQ(reduced.size(), 2 + 2 * 6);
  EXPECT_EQ(sum(reduced), 2 * (table + 2 * 1024 + 2 * (matrices_of_a_layer(1024) + 2 * 2 * 1024)));
}

TEST(DeepSpeedSyncTest, RecomputationGathersAgainWhatIsFarFromItsBackwardPass) {
  TrainingSetup setup = gpt(1024, 4);
  setup.plan.recompute = Recompute::kFull;
  const auto gathers = [&] {
    return collective_bytes(program_of(setup).programs.front(), coll::Collective::kAllGather, Category::kCommData).size();
  };
  EXPECT_EQ(gathers(), 2 + 2 * 2 * 4);  // 2 x 9 h^2 elements lie between at most: all are kept
  // 12288: up waits for 2 x 4 h^2 = 1.2e9 elements, those before it for more, down for none.
  setup.model.hidden = 12288;
  setup.model.ffn = 4 * 12288;
  setup.model.head_dim = 12288 / 16;
  EXPECT_EQ(gathers(), 2 + 2 * (2 * 4 + 3));
}

TEST(DeepSpeedSyncTest, TheHostPaysForEveryRankOfEveryCall) {
  const auto host_time = [](int ranks) {
    Duration total;
    const Program program = program_of(gpt(1024, ranks));
    for (const Operation& op : program.programs.front().operations) {
      if (op.kind == OpKind::kHostDelay) total += op.duration;
    }
    return total;
  };
  // 18 gathers of two operators for each rank, 14 reductions of three; 13 us each.
  EXPECT_EQ(host_time(2), (18 * 2 + 14 * 3) * 2 * 13_us);
  EXPECT_EQ(host_time(8), 4 * host_time(2));
}

TEST(DeepSpeedSyncTest, HasNoPipelineAndNoTensorGroups) {
  TrainingSetup setup = gpt(1024, 4);
  EXPECT_EQ(training_refusal(setup), "");
  setup.plan.tensor = 2;
  EXPECT_NE(training_refusal(setup).find("deepspeed_2021"), std::string::npos);
}

}  // namespace
}  // namespace weft::work::test
