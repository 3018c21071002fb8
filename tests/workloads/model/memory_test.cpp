#include "sim/workloads/model/memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/workloads/model/messages.h"
#include "sim/workloads/model/parameters.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

double activations(const TransformerModel& model, const ParallelPlan& plan, std::int64_t sequence, std::int64_t layer = 0) {
  return activation_bytes(model, layer, plan, one_sequence(sequence), {});
}

ParallelPlan tensor_plan(int tensor, bool sequence_parallel) {
  ParallelPlan plan;
  plan.tensor = tensor;
  plan.sequence_parallel = sequence_parallel;
  return plan;
}

TEST(MemoryTest, OfTheReferencesExamplesIsAsPrinted) {
  // models/workloads §1.6. 0 activations: not printed.
  struct Row {
    const char* name;
    std::int64_t sequence;
    double weights_gb;
    double adam_tb;
    double zero1_gb, zero2_gb, zero3_gb;
    double checkpoint_tb;
    double activations_gb;
    double message_mb;
  };
  const std::vector<Row> rows{{"gpt3_175b", 2048, 349.2, 2.794, 731, 387, 43.7, 2.444, 0.806, 50.3},
                              {"llama2_7b", 4096, 13.5, 0.108, 28, 15, 1.7, 0.094, 0.539, 33.6},
                              {"llama2_70b", 4096, 138.0, 1.104, 289, 153, 17.2, 0.966, 1.125, 67.1},
                              {"llama3_405b", 8192, 811.7, 6.494, 1700, 900, 101.5, 5.682, 4.266, 268.4},
                              {"mixtral_8x7b", 4096, 93.4, 0.747, 196, 104, 11.7, 0.654, 0, 33.6},
                              {"deepseek_v3", 4096, 1342.1, 10.736, 2810, 1489, 167.8, 9.394, 0, 58.7}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const TransformerModel model = shipped_model(row.name);
    const StageParameters all{.dense = total_parameters(model)};
    const auto state = [&](int zero) {
      ParallelPlan plan;
      plan.data = 64;
      plan.zero = zero;
      return state_bytes(all, all, plan, {});
    };
    EXPECT_NEAR(state(0).parameters * 1e-9, row.weights_gb, 0.05);
    EXPECT_NEAR(state(0).total() * 1e-12, row.adam_tb, 0.0005);
    EXPECT_NEAR(state(1).total() * 1e-9, row.zero1_gb, 0.5);
    EXPECT_NEAR(state(2).total() * 1e-9, row.zero2_gb, 0.5);
    EXPECT_NEAR(state(3).total() * 1e-9, row.zero3_gb, 0.05);
    EXPECT_NEAR((state(0).parameters + state(0).optimizer) * 1e-12, row.checkpoint_tb, 0.0005);
    if (row.activations_gb > 0) {
      EXPECT_NEAR(activations(model, {}, row.sequence) * 1e-9, row.activations_gb, 0.0005);
    }
    EXPECT_NEAR(hidden_state_bytes(model, {}, one_sequence(row.sequence), Precision::kBf16) * 1e-6, row.message_mb, 0.05);
  }
}

TEST(MemoryTest, SequenceParallelismDividesAllActivations) {
  const TransformerModel model = shipped_model("llama3_70b");
  EXPECT_DOUBLE_EQ(activations(model, tensor_plan(8, true), 4096), activations(model, {}, 4096) / 8);
}

TEST(MemoryTest, TensorParallelismKeepsInputsOfNormsAndMatricesWhole) {
  const TransformerModel model = shipped_model("llama3_70b");
  const double inputs = 4 * 4096.0 * 8192 * 2;
  EXPECT_DOUBLE_EQ(activations(model, tensor_plan(8, false), 4096), inputs + (activations(model, {}, 4096) - inputs) / 8);
}

TEST(MemoryTest, FewerKeyValueHeadsThanRanksAreRepeated) {
  TransformerModel model = shipped_model("llama3_70b");
  const double with_eight = activations(model, tensor_plan(16, true), 4096);
  model.kv_heads = 16;
  EXPECT_DOUBLE_EQ(activations(model, tensor_plan(16, true), 4096), with_eight);
}

TEST(MemoryTest, ContextParallelismDividesTheSequence) {
  const TransformerModel model = shipped_model("llama3_8b");
  ParallelPlan plan;
  plan.context = 4;
  EXPECT_DOUBLE_EQ(activations(model, plan, 8192), activations(model, {}, 2048));
}

TEST(MemoryTest, FullRecomputationKeepsTheLayersInput) {
  const TransformerModel model = shipped_model("llama3_8b");
  ParallelPlan plan = tensor_plan(4, false);
  plan.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(activations(model, plan, 8192), 2.0 * 8192 * 4096);
  plan.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(activations(model, plan, 8192), 2.0 * 8192 * 4096 / 4);
}

TEST(MemoryTest, SelectiveRecomputationDropsSumsOfScores) {
  const TransformerModel model = shipped_model("llama3_8b");
  ParallelPlan plan;
  plan.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(activations(model, plan, 8192), activations(model, {}, 8192) - 4.0 * 32 * 8192);
}

TEST(MemoryTest, DropoutKeepsTwoMasks) {
  TransformerModel model = shipped_model("gpt3_175b");
  const double without = activations(model, {}, 2048);
  model.dropout = 0.1;
  EXPECT_DOUBLE_EQ(activations(model, {}, 2048), without + 2.0 * 2048 * 12288);
}

TEST(MemoryTest, ExpertsKeepWhatTheyWereSent) {
  // 2 s [attention part + k (h + 3 f_e) + h], log-sum-exp, and one index a copy (models/workloads §1.6).
  const double attention = 3 * 4096 + (32 + 2 * 8) * 128 + 32 * 128;
  const double by_hand = 2.0 * 4096 * (attention + 2 * (4096 + 3 * 14336) + 4096) + 4.0 * 32 * 4096 + 4.0 * 2 * 4096;
  EXPECT_DOUBLE_EQ(activations(shipped_model("mixtral_8x7b"), {}, 4096), by_hand);
}

TEST(MemoryTest, SharedExpertsAndLatentAttentionKeepTheirTensors) {
  // Latents before and after their norms, Q, K, V and output of 128 heads; one shared expert.
  const double attention = 3 * 7168 + 2 * (1536 + 512) + 64 + 128 * (2 * 192 + 2 * 128);
  const double mlp = 8 * (7168 + 3 * 2048) + 3 * 2048 + 7168;
  const double by_hand = 2.0 * 4096 * (attention + mlp) + 4.0 * 128 * 4096 + 4.0 * 8 * 4096;
  EXPECT_DOUBLE_EQ(activations(shipped_model("deepseek_v3"), {}, 4096, 60), by_hand);
}

TEST(MemoryTest, RoutedRowsAreTheSameWhereverTheSequenceIsSplit) {
  // Without an expert's tensor group each of 8 ranks routes its eighth of the tokens to whole experts.
  const TransformerModel model = shipped_model("deepseek_v3");
  ParallelPlan plan = tensor_plan(8, true);
  plan.expert_tensor = 1;
  EXPECT_DOUBLE_EQ(activations(model, plan, 4096, 60), activations(model, {}, 4096, 60) / 8);
}

TEST(MemoryTest, StageParametersOfAllRanksAreTheModels) {
  const TransformerModel model = shipped_model("llama3_70b");
  const std::int64_t first = stage_parameters(model, tensor_plan(8, true), 0, 40, true, false).total();
  const std::int64_t last = stage_parameters(model, tensor_plan(8, true), 40, 80, false, true).total();
  const std::int64_t norms = (80 * 2 + 1) * 8192;  // on every rank
  EXPECT_EQ(8 * (first + last) - 7 * norms, total_parameters(model));
}

TEST(MemoryTest, LatentDownProjectionsAndRoutersAreOnEveryRank) {
  const TransformerModel model = shipped_model("deepseek_v3");
  ParallelPlan plan = tensor_plan(8, true);
  plan.data = 8;
  plan.expert = 64;
  plan.expert_tensor = 1;
  const LayerParameters layer = layer_parameters(model, 10);
  const StageParameters held = stage_parameters(model, plan, 10, 11, false, false);
  EXPECT_EQ(held.experts, 4 * 3 * 7168 * 2048);  // 256 experts over 64 ranks
  EXPECT_EQ(held.dense, layer.latent + layer.router + layer.norms + (layer.qkv + layer.proj + layer.mlp) / 8);
}

TEST(MemoryTest, RowParallelBiasesAreWhole) {
  // h = 64, t = 4: biases of QKV and of the first MLP matrix are sharded, those of the others are not.
  const std::int64_t matrices = 12 * 64 * 64 / 4;
  EXPECT_EQ(stage_parameters(gpt(1, 64, 4, 100, 16), tensor_plan(4, false), 0, 1, false, false).dense,
            matrices + (3 * 64 + 4 * 64) / 4 + 2 * 64 + 4 * 64);
}

TEST(MemoryTest, TiedHeadIsACopyOnAnotherStageOnly) {
  const TransformerModel model = gpt(2, 64, 4, 100, 16);
  const std::int64_t layers = 2 * layer_parameters(model, 0).total();
  EXPECT_EQ(stage_parameters(model, {}, 0, 2, true, true).total(), total_parameters(model));
  EXPECT_EQ(stage_parameters(model, {}, 0, 2, false, true).total(), layers + 100 * 64 + 2 * 64);
  EXPECT_EQ(stage_parameters(model, {}, 0, 2, true, false).total(), layers + (100 + 16) * 64);
}

TEST(MemoryTest, FrozenParametersHaveNoGradientsAndNoOptimizer) {
  const StateBytes bytes = state_bytes({.dense = 1000, .experts = 0}, {.dense = 10, .experts = 0}, {}, {});
  EXPECT_EQ(bytes.parameters, 2000);
  EXPECT_EQ(bytes.gradients, 20);
  EXPECT_EQ(bytes.optimizer, 120);
}

TEST(MemoryTest, Fp32ParametersNeedNoMasterCopy) {
  PrecisionPlan precision;
  precision.parameters = Precision::kFp32;
  precision.gradients = Precision::kFp32;
  ParallelPlan plan;
  plan.data = 64;
  EXPECT_EQ(state_bytes({.dense = 64, .experts = 0}, {.dense = 64, .experts = 0}, plan, precision).total(), 64 * 16);
  plan.data_parallelism = DataParallelism::kDistributedOptimizer;
  EXPECT_EQ(state_bytes({.dense = 64, .experts = 0}, {.dense = 64, .experts = 0}, plan, precision).total(), 64 * 8 + 8);
}

TEST(MemoryTest, HybridShardingDividesByTheShardGroup) {
  ParallelPlan plan;
  plan.data = 64;
  plan.data_parallelism = DataParallelism::kFsdp;
  EXPECT_EQ(state_bytes({.dense = 6400, .experts = 0}, {.dense = 6400, .experts = 0}, plan, {}).total(), 16 * 100);
  plan.fsdp_shard = 8;
  EXPECT_EQ(state_bytes({.dense = 6400, .experts = 0}, {.dense = 6400, .experts = 0}, plan, {}).total(), 16 * 800);
}

TEST(MemoryTest, ExpertsAreShardedOverTheirOwnReplicas) {
  ParallelPlan plan;
  plan.data = 64;
  plan.expert = 16;  // 4 replicas of each expert
  plan.zero = 3;
  EXPECT_EQ(state_bytes({.dense = 0, .experts = 400}, {.dense = 0, .experts = 400}, plan, {}).total(), 16 * 100);
}

TEST(MemoryTest, LowPrecisionCachesAreSmaller) {
  const TransformerModel model = shipped_model("llama3_70b");
  EXPECT_EQ(kv_bytes_per_token(model, Precision::kFp8), kv_bytes_per_token(model, Precision::kBf16) / 2);
}

}  // namespace
}  // namespace weft::work
