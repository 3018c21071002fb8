// Kernels beside a layer's large ones, by what its modules are made of, and the step's passes over gradients and masters.
#include "sim/workloads/training/megatron_modules.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

// GPT: learned positions, a key and a value for every head, biases. Three layers.
TrainingSetup gpt(TransformerImpl impl) {
  TrainingSetup setup = llama();
  setup.model.kv_heads = setup.model.heads;
  setup.model.gated_mlp = false;
  setup.model.linear_bias = true;
  setup.model.norm = NormKind::kLayerNorm;
  setup.model.learned_positions = 512;
  setup.transformer_impl = impl;
  setup.plan.data_parallelism = DataParallelism::kMegatron;
  return setup;
}

// Without the gap before it.
Duration of(const RankProgram& program, std::string_view name) {
  for (const Operation& op : program.operations) {
    if (program.names[op.name] == name) return op.duration - kernel_times().gap();
  }
  return {};
}

TEST(MegatronModulesTest, LocalAddsBiasesAndLayoutsThatTransformerEngineHasNot) {
  const Program local = program_of(gpt(TransformerImpl::kLocal));
  const Program fused = program_of(gpt(TransformerImpl::kTransformerEngine));
  for (const std::string name : {"bias of QKV", "QKV to contiguous", "gradients of QKV to one", "bias gradient of qkv"}) {
    EXPECT_EQ(named(local.programs[0], name), 3) << name;  // a layer each
    EXPECT_EQ(named(fused.programs[0], name), 0) << name;
  }
  for (const std::string name : {"bias gradient of proj", "bias gradient of up", "bias gradient of down"}) {
    EXPECT_EQ(named(local.programs[0], name), 3) << name;
    EXPECT_EQ(named(fused.programs[0], name), 3) << name;
  }
}

TEST(MegatronModulesTest, LayoutsCostTheElementsThatTheyWrite) {
  const Program local = program_of(gpt(TransformerImpl::kLocal));
  // 512 tokens of Q, K and V, 1024 wide each.
  const auto written = [](StridedKind kind) {
    return kernel_times().alone({.kind = KernelKind::kStrided, .strided = kind, .elements = 512.0 * 3 * 1024});
  };
  EXPECT_EQ(of(local.programs[0], "QKV to contiguous"), written(StridedKind::kCopy));
  EXPECT_EQ(of(local.programs[0], "gradients of QKV to one"), written(StridedKind::kStack));
}

TEST(MegatronModulesTest, TheContextIsCopiedWhereSequencesLieBesideOneAnother) {
  TrainingSetup setup = gpt(TransformerImpl::kLocal);
  EXPECT_EQ(named(program_of(setup).programs[0], "context to contiguous"), 0);
  setup.batch = {.global = 2, .micro = 2, .sequence = 512};
  EXPECT_EQ(named(program_of(setup).programs[0], "context to contiguous"), 3);
  EXPECT_EQ(named(program_of(setup).programs[0], "gradient of context to contiguous"), 3);
  setup.transformer_impl = TransformerImpl::kTransformerEngine;
  EXPECT_EQ(named(program_of(setup).programs[0], "context to contiguous"), 0);
}

TEST(MegatronModulesTest, RotaryEmbeddingTakesQueriesOutOfTheirTensor) {
  const Program program = program_of(llama());
  // 512 tokens of two heads 128 wide; gradients of (8 + 2 x 2) heads.
  EXPECT_EQ(of(program.programs[0], "values to contiguous"),
            kernel_times().alone({.kind = KernelKind::kStrided, .strided = StridedKind::kCopy, .elements = 512.0 * 2 * 128}));
  EXPECT_EQ(named(program.programs[0], "gradients of QKV to one"), 3);
  EXPECT_EQ(of(program.programs[0], "gradients of QKV to one"),
            kernel_times().alone({.kind = KernelKind::kStrided, .strided = StridedKind::kStack, .elements = 512.0 * 12 * 128}));
}

TEST(MegatronModulesTest, TheStepPassesOverGradientsAndMasters) {
  TrainingSetup setup = llama();
  setup.plan.data_parallelism = DataParallelism::kMegatron;
  // By hand: 12 heads of QKV, the output, three matrices of the MLP and two norms a layer; final norm, table and head.
  const double layer = 1024.0 * (12 * 128 + 1024 + 3 * 2816 + 2);
  const double elements = 3 * layer + 1024 + 2 * 4096.0 * 1024;
  const auto moved = [&](double bytes) {
    return kernel_times().alone({.kind = KernelKind::kElementwise, .bytes = bytes * elements});
  };
  setup.precision.gradients = Precision::kBf16;
  const Program half = program_of(setup);
  EXPECT_EQ(of(half.programs[0], "gradients to fp32"), moved(2 + 4));
  EXPECT_EQ(of(half.programs[0], "master weights to parameters"), moved(4 + 2));
  EXPECT_EQ(of(half.programs[0], "zero gradient buffer"),
            kernel_times().alone({.kind = KernelKind::kMemset, .elements = elements, .bytes = 2 * elements}));
  // Adam itself: gradient, both moments and masters, in fp32.
  EXPECT_EQ(of(half.programs[0], "optimizer"),
            kernel_times().alone({.kind = KernelKind::kOptimizer, .elements = elements, .bytes = (4 + 16 + 8) * elements}));
  setup.precision.gradients = Precision::kFp32;
  EXPECT_EQ(named(program_of(setup).programs[0], "gradients to fp32"), 0);
}

TEST(MegatronModulesTest, OtherFrameworksRunNoneOfThem) {
  TrainingSetup setup = gpt(TransformerImpl::kTransformerEngine);
  setup.framework = "pytorch_compile";
  const Program program = program_of(setup);
  for (const std::string name :
       {"bias gradient of up", "QKV to contiguous", "zero gradient buffer", "master weights to parameters"}) {
    EXPECT_EQ(named(program.programs[0], name), 0) << name;
  }
}

}  // namespace
}  // namespace weft::work::test
