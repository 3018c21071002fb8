// Memory as PyTorch's eager loss, FSDP2 and its allocator have it, counted by hand; and what optimizers and adapters leave out.
#include <gtest/gtest.h>

#include "sim/workloads/model/memory.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

// The loss of 512 tokens outweighs three small layers.
TrainingSetup large_vocabulary() {
  TrainingSetup setup = llama();
  setup.model.vocab = 65'536;
  setup.framework = "pytorch_compile";
  setup.plan.data_parallelism = DataParallelism::kNone;
  return setup;
}

std::int64_t peak_of(const TrainingSetup& setup) { return memory_in_order(program_of(setup).programs.front()).peak; }

// An eager loss ends up with three tensors of 4 B a logit: what it kept, its gradient, and the gradient of the logits. A
// compiled one has the logits and their gradient, of 2 B each, and beside them the gradient of the head: 2 x 1024 / 8192 B a
// logit.
TEST(PytorchMemoryTest, AnEagerLossHoldsLogitsInFp32ThreeTimes) {
  TrainingSetup setup = large_vocabulary();
  setup.batch.sequence = 8192;
  const auto compiled = static_cast<double>(peak_of(setup));
  setup.fused_loss = false;
  constexpr double kLogits = 8192.0 * 65'536;
  EXPECT_NEAR((static_cast<double>(peak_of(setup)) - compiled) / kLogits, 12 - 4, 0.3);
}

TEST(PytorchMemoryTest, TheLossDoesNotChangeWhatTheStepRuns) {
  TrainingSetup setup = large_vocabulary();
  setup.framework = "megatron";
  const RankProgram megatron = program_of(setup).programs.front();
  setup.framework = "pytorch_compile";
  const RankProgram compiled = program_of(setup).programs.front();
  for (const char* name : {"cross entropy", "cross entropy backward", "head"}) {
    EXPECT_EQ(named(compiled, name), named(megatron, name)) << name;
  }
}

TrainingSetup sharded_pipeline(int microbatches) {
  TrainingSetup setup = llama();
  setup.model.layers = 4;
  setup.framework = "pytorch_compile";
  setup.plan.pipeline = 2;
  setup.plan.data = 2;
  setup.plan.data_parallelism = DataParallelism::kFsdp;
  setup.batch.global = 2 * microbatches;
  setup.precision.gradients = Precision::kFp32;
  return setup;
}

// Two layers and the root of each stage, however many microbatches there are.
TEST(PytorchMemoryTest, UnderAPipelineUnitsAreGatheredAndReducedOnce) {
  for (const int microbatches : {2, 8}) {
    const Program program = program_of(sharded_pipeline(microbatches));
    for (const RankProgram& stage : program.programs) {
      EXPECT_EQ(collective_bytes(stage, coll::Collective::kAllGather, Category::kCommData).size(), 3U);
      EXPECT_EQ(collective_bytes(stage, coll::Collective::kReduceScatter, Category::kCommData).size(), 3U);
    }
  }
}

// More microbatches than are in flight change nothing: gradients are one sum in fp32.
TEST(PytorchMemoryTest, UnderAPipelineGradientsAreAddedUpInOnePlace) {
  const RankProgram few = program_of(sharded_pipeline(4)).programs.front();
  const RankProgram many = program_of(sharded_pipeline(8)).programs.front();
  TrainingSetup setup = sharded_pipeline(8);
  const std::int64_t message = 512 * setup.model.hidden * 2;  // PyTorch has a buffer for each
  EXPECT_EQ(peak_bytes(many) - peak_bytes(few), 4 * message);
}

// Everything that was allocated is released again.
TEST(PytorchMemoryTest, NothingIsLeftAtTheEndOfAStep) {
  for (const int microbatches : {1, 4}) {
    TrainingSetup setup = microbatches == 1 ? large_vocabulary() : sharded_pipeline(microbatches);
    setup.fused_loss = false;
    for (const RankProgram& rank : program_of(setup).programs) {
      std::int64_t left = 0;
      for (const MemoryChange& change : rank.memory) left += change.bytes;
      EXPECT_EQ(left, 0);
    }
  }
}

// 10 resident, 100 of compute at the first operation and 60 at the third, 30 gathered at the first, 20 reduced at the second.
TEST(PytorchMemoryTest, ReservedIsTheSumOfWhatEveryPoolOnceHeld) {
  RankProgram rank;
  rank.resident.parameters = 10;
  rank.memory = {
      {0, 100}, {0, -100}, {0, 30, MemoryPool::kGathers}, {0, -30, MemoryPool::kGathers}, {1, 20, MemoryPool::kGradients},
      {2, 60},  {2, -60}};
  const MemoryUse use = memory_in_order(rank);
  EXPECT_EQ(use.peak, 10 + 100 + 30);
  EXPECT_EQ(use.gradients, 0);
  EXPECT_EQ(use.reserved, 110 + 30 + 20);
  rank.memory = {{0, 20, MemoryPool::kGradients}, {1, 60}};
  EXPECT_EQ(memory_in_order(rank).gradients, 20);
  rank.memory = {{0, 20}};
  EXPECT_EQ(memory_in_order(rank).reserved, 0);
}

// bf16 with a master copy: 4 B a parameter, 4 more with momentum, and as many again of Adam.
TEST(PytorchMemoryTest, SgdHasNoMomentsOrOne) {
  TrainingSetup setup = llama();
  const StageParameters all{.dense = 1000, .experts = 0};
  const auto optimizer = [&] { return state_bytes(all, all, {}, {}, setup.moments()).optimizer; };
  EXPECT_EQ(optimizer(), 12'000);
  setup.optimizer = OptimizerKind::kSgd;
  EXPECT_EQ(optimizer(), 4'000);
  setup.momentum = true;
  EXPECT_EQ(optimizer(), 8'000);
}

// 6 N less 2 N of frozen matrices and of the head; adapters cost 6 FLOPs a parameter.
TEST(PytorchMemoryTest, FrozenMatricesHaveNoWeightGradient) {
  TrainingSetup setup = llama();
  EXPECT_EQ(flops_saved_by_lora(setup, 512), 0);
  setup.lora = {.rank = 16, .targets = {"proj"}};
  const double adapters = 3.0 * 16 * (1024 + 1024);
  const double matrices = 3.0 * (1024 * (8 + 2 * 2) * 128 + 1024 * 1024 + 3 * 1024 * 2816) + 1024 * 4096;
  EXPECT_DOUBLE_EQ(flops_saved_by_lora(setup, 512), 512 * (2 * matrices - 6 * adapters));
}

}  // namespace
}  // namespace weft::work::test
