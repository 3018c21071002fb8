// Known answers 16 to 20 of models/workloads §8 that concern messages, as the generated programs send them.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/collectives/call.h"
#include "sim/workloads/training/stage_model.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

TrainingSetup gpt3(std::int64_t layers) {
  TrainingSetup setup;
  setup.model = {.name = "gpt3",
                 .layers = layers,
                 .hidden = 12288,
                 .heads = 96,
                 .kv_heads = 96,
                 .head_dim = 128,
                 .ffn = 4 * 12288,
                 .vocab = 50257,
                 .learned_positions = 2048,
                 .norm = NormKind::kLayerNorm,
                 .gated_mlp = false,
                 .tied_embedding = true,
                 .linear_bias = true};
  setup.plan.data_parallelism = DataParallelism::kMegatron;
  setup.batch = {.global = 1, .micro = 1, .sequence = 2048};
  return setup;
}

// Bytes each rank sends over a ring (models/workloads §2).
double wire(coll::Collective kind, std::int64_t bytes, int ranks) {
  return static_cast<double>(bytes) * coll::bus_factor(kind, ranks);
}

TEST(MessageKnownAnswersTest, Number16TensorParallelAllReduceOfGpt3) {
  TrainingSetup setup = gpt3(2);
  setup.plan.tensor = 8;
  const Program program = program_of(setup);
  std::int64_t of_layers = 0;
  for (const Operation& op : program.programs[0].operations) {
    if (op.kind != OpKind::kCollective || op.layer < 0) continue;
    EXPECT_EQ(op.bytes, Bytes{50'331'648});
    ++of_layers;
  }
  EXPECT_EQ(of_layers, 2 * 4);
  EXPECT_DOUBLE_EQ(wire(coll::Collective::kAllReduce, 50'331'648, 8), 88'080'384);
}

TEST(MessageKnownAnswersTest, Number17DataParallelRing) {
  EXPECT_DOUBLE_EQ(wire(coll::Collective::kAllReduce, 350'000'000'000, 8), 612.5e9);
}

// Counts the layers only: FSDP keeps the root unit gathered between forward and backward.
TEST(MessageKnownAnswersTest, Number18Zero3MovesOneAndAHalfTimesDdp) {
  const auto setup_with = [](DataParallelism kind, int zero) {
    TrainingSetup setup = ddp();
    setup.plan.data_parallelism = kind;
    setup.plan.zero = zero;
    return setup;
  };
  const Program sharded = program_of(setup_with(DataParallelism::kFsdp, 3));
  double gathered_and_scattered = 0;
  for (const Operation& op : sharded.programs[0].operations) {
    if (op.kind == OpKind::kCollective && op.layer >= 0) gathered_and_scattered += wire(op.collective, op.bytes.count(), 4);
  }
  const Program replicated = program_of(setup_with(DataParallelism::kDdp, 0));
  const std::int64_t root = 2 * (2 * std::int64_t{32000} * 4096 + 4096);
  const std::int64_t layers =
      sum(collective_bytes(replicated.programs[0], coll::Collective::kAllReduce, Category::kCommData)) - root;
  EXPECT_DOUBLE_EQ(gathered_and_scattered / wire(coll::Collective::kAllReduce, layers, 4), 1.5);
}

TEST(MessageKnownAnswersTest, Number19PipelineMessageOfGpt3) {
  const auto message_of = [](int tensor, bool sequence_parallel) {
    TrainingSetup setup = gpt3(2);
    setup.plan.pipeline = 2;
    setup.plan.tensor = tensor;
    setup.plan.sequence_parallel = sequence_parallel;
    const Program program = program_of(setup);
    for (const Operation& op : program.programs[0].operations) {
      if (op.kind == OpKind::kSend) return op.bytes.count();
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(message_of(1, false), 50'331'648);
  EXPECT_EQ(message_of(8, true), 6'291'456);
}

TEST(MessageKnownAnswersTest, Number20ExpertDispatch) {
  const auto dispatch_of = [](Precision precision) {
    TrainingSetup setup;
    setup.model = {.name = "experts",
                   .layers = 1,
                   .hidden = 7168,
                   .heads = 56,
                   .kv_heads = 56,
                   .head_dim = 128,
                   .vocab = 1024,
                   .moe = {.experts = 256, .experts_per_token = 8, .expert_ffn = 2048}};
    setup.plan.data = setup.plan.expert = 8;
    setup.plan.data_parallelism = DataParallelism::kMegatron;
    setup.batch = {.global = 8, .micro = 1, .sequence = 4096};
    setup.precision.dispatch = precision;
    return collective_bytes(program_of(setup).programs[0], coll::Collective::kAllToAll, Category::kCommExpert).front();
  };
  EXPECT_EQ(dispatch_of(Precision::kBf16), 469'762'048);
  EXPECT_EQ(dispatch_of(Precision::kFp8), 234'881'024 + 7'340'032);  // payload and scales
}

TEST(MessageKnownAnswersTest, Number31NodesThatATokenVisits) {
  EXPECT_NEAR(expected_nodes(8, 8), 5.251, 0.0005);
  EXPECT_DOUBLE_EQ(expected_nodes(1, 8), 1);
}

// The star's endpoints are hosts of their own: eight nodes. At most four of them serve a token: 4 (1 - (3/4)^8) copies of 8.
TEST(MessageKnownAnswersTest, NodeLimitedRoutingSendsATokenOncePerNode) {
  TrainingSetup setup;
  setup.model = {.name = "experts",
                 .layers = 1,
                 .hidden = 1024,
                 .heads = 8,
                 .kv_heads = 8,
                 .head_dim = 128,
                 .vocab = 1024,
                 .moe = {.experts = 64, .experts_per_token = 8, .expert_ffn = 512, .groups = 8, .groups_per_token = 4}};
  setup.plan.data = setup.plan.expert = 8;
  setup.plan.data_parallelism = DataParallelism::kMegatron;
  setup.batch = {.global = 8, .micro = 1, .sequence = 4096};
  const double all = 4096.0 * 8 * 1024 * 2;
  const auto sent = collective_bytes(program_of(setup).programs[0], coll::Collective::kAllToAll, Category::kCommExpert).front();
  EXPECT_NEAR(static_cast<double>(sent), all * 4 * (1 - std::pow(0.75, 8)) / 8, 1);
}

}  // namespace
}  // namespace weft::work::test
