// torch.compile a block at a time, beside Megatron's kernels: what DTensor moves, what is cast to fp8, and what rotary
// embedding costs. Counts of calls are those of one layer on two H200 (validate/measured/h200x2_torch.json).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

constexpr std::int64_t kTokens = 512;
constexpr std::int64_t kLayers = 3;

TrainingSetup dense(const std::string& framework) {
  TrainingSetup setup = llama();
  setup.plan.data_parallelism = DataParallelism::kNone;
  setup.framework = framework;
  return setup;
}

TrainingSetup tensor_parallel(const std::string& framework) {
  TrainingSetup setup = dense(framework);
  setup.plan.tensor = 2;
  setup.plan.sequence_parallel = true;
  setup.plan.recompute = Recompute::kOperators;
  return setup;
}

double seconds_of(const TrainingSetup& setup, std::string_view name) {
  const RankProgram program = program_of(setup).programs.front();
  Duration total;
  for (const Operation& op : program.operations) {
    if (program.names[op.name] == name) total += op.duration;
  }
  return total.seconds();
}

// Six gathers and four scatters of a layer: forward two and two; the recomputation gathers two inputs again, which stay for the
// weight gradients; backward two gradients are gathered and two scattered.
TEST(PytorchCompileTest, DtensorGathersInputsOnceInTheBackwardPass) {
  const auto calls = [](const std::string& framework, coll::Collective kind) {
    TrainingSetup setup = tensor_parallel(framework);
    const std::int64_t whole = kTokens * setup.model.hidden * 2;
    const RankProgram more = program_of(setup).programs.front();
    setup.model.layers = 1;
    const RankProgram one = program_of(setup).programs.front();
    const auto bytes = [&](const RankProgram& program) { return sum(collective_bytes(program, kind, Category::kCommTensor)); };
    return (bytes(more) - bytes(one)) / (kLayers - 1) / whole;
  };
  EXPECT_EQ(calls("pytorch_compile", coll::Collective::kAllGather), 6);
  EXPECT_EQ(calls("pytorch_compile", coll::Collective::kReduceScatter), 4);
  EXPECT_EQ(calls("megatron", coll::Collective::kAllGather), 8);
}

// Whatever follows a collective of the tensor group on the compute stream waits for it.
TEST(PytorchCompileTest, TensorParallelCommunicationBlocks) {
  const auto unjoined = [](const TrainingSetup& setup) {
    const RankProgram program = program_of(setup).programs.front();
    int count = 0;
    for (OpIndex i = 0; i < program.operations.size(); ++i) {
      if (program.operations[i].category != Category::kCommTensor) continue;
      OpIndex next = i + 1;
      while (next < program.operations.size() && program.operations[next].kind != OpKind::kKernel) ++next;
      if (next == program.operations.size()) continue;
      const auto waits = program.waits_of(program.operations[next]);
      count += std::find(waits.begin(), waits.end(), i) == waits.end() ? 1 : 0;
    }
    return count;
  };
  TrainingSetup setup = tensor_parallel("pytorch_compile");
  EXPECT_EQ(unjoined(setup), 0);
  EXPECT_GT(unjoined(tensor_parallel("megatron")), 0);
  setup.plan.overlap_tensor = true;
  EXPECT_GT(unjoined(setup), 0);
}

// 20 B per element of queries and keys where Megatron moves 4 B; both are long against the kernel's fixed time.
TEST(PytorchCompileTest, RotaryEmbeddingIsNotFused) {
  const auto rotary = [](const std::string& framework) {
    TrainingSetup setup = dense(framework);
    setup.batch.micro = setup.batch.global = 64;
    return seconds_of(setup, "rotary");
  };
  EXPECT_NEAR(rotary("pytorch_compile") / rotary("megatron"), 5.0, 0.5);
}

// Weights are scaled and cast in every pass, where delayed scaling casts inputs of row-parallel layers and gradients alone.
TEST(PytorchCompileTest, Fp8IsScaledDynamically) {
  TrainingSetup setup = dense("pytorch_compile");
  setup.precision.compute = Precision::kFp8;
  const RankProgram program = program_of(setup).programs.front();
  EXPECT_EQ(named(program, "scale and cast to fp8"), 2 * 4 * kLayers);
  EXPECT_EQ(named(program, "cast to fp8"), 0);
  setup.framework = "megatron";
  EXPECT_EQ(named(program_of(setup).programs.front(), "cast to fp8"), (2 + 4) * kLayers);
}

// Gradients in fp32 are read and written by the product that adds to them: 8 B for each of few tokens' weights where bf16
// takes 4.
TEST(MegatronLinearTest, AWeightGradientReadsAndWritesWhatItAddsTo) {
  const auto seconds = [](Precision gradients) {
    TrainingSetup setup = dense("megatron");
    setup.precision.gradients = gradients;
    setup.batch.micro = setup.batch.global = 1;
    double total = 0;
    const RankProgram program = program_of(setup).programs.front();
    for (const Operation& op : program.operations) total += op.weight_gradient ? op.duration.seconds() : 0;
    return total;
  };
  const TrainingSetup setup = dense("megatron");
  const double weights = static_cast<double>(kLayers) * 4 * static_cast<double>(setup.model.hidden * setup.model.hidden);
  EXPECT_GT(seconds(Precision::kFp32), seconds(Precision::kBf16));
  EXPECT_GT(seconds(Precision::kFp32), 8 * weights / 4.8e12) << "no faster than HBM";
}

TEST(PytorchCompileTest, Fsdp2CopiesItsUnits) {
  TrainingSetup setup = dense("pytorch_compile");
  setup.plan.data = 2;
  setup.plan.data_parallelism = DataParallelism::kFsdp;
  setup.batch.global = 2;
  EXPECT_GT(named(program_of(setup).programs.front(), "copy gathered out"), 0);
}

}  // namespace
}  // namespace weft::work::test
