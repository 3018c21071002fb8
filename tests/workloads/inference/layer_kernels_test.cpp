#include "sim/workloads/inference/layer_kernels.h"

#include <gtest/gtest.h>

#include "sim/workloads/model/flops.h"
#include "sim/workloads/model/parameters.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

double gemm_flops(const std::vector<Kernel>& kernels) {
  double sum = 0;
  for (const Kernel& kernel : kernels) {
    if (kernel.kind == KernelKind::kGemm) sum += kernel.flops();
  }
  return sum;
}

double gemm_bytes(const std::vector<Kernel>& kernels) {
  double sum = 0;
  for (const Kernel& kernel : kernels) {
    if (kernel.kind == KernelKind::kGemm) sum += kernel.bytes;
  }
  return sum;
}

TEST(LayerKernelsTest, ProductsDoTheModelsFlopsOnEveryShareOfTheHeads) {
  InferenceSetup setup;
  setup.model = shipped_model("llama3_70b");
  for (const int tensor : {1, 2, 8}) {
    setup.plan.tensor = tensor;
    const StepMix mix{.prefills = {{2048, 0}}};
    const double here = gemm_flops(linear_kernels(setup, setup.plan, 0, group_tokens(mix, setup.plan)));
    const LayerFlops whole = layer_forward_flops(setup.model, 0, 2048, 2048, FlopConvention::kCausalAttention);
    EXPECT_DOUBLE_EQ(here * tensor, whole.linear);
    const std::vector<Kernel> attention = attention_kernels(setup, setup.plan, 0, mix);
    ASSERT_EQ(attention.size(), 1U);
    EXPECT_NEAR(attention[0].flops() * tensor, whole.attention, 1e-3 * whole.attention);
  }
}

TEST(LayerKernelsTest, DecodingReadsEachWeightOnceAndTheCache) {
  InferenceSetup setup;
  setup.model = shipped_model("llama2_70b");
  const StepMix mix{.decodes = 1, .decode_context = 4095, .samples = 1};
  const double weights = 2.0 * static_cast<double>(layer_parameters(setup.model, 0).total());
  EXPECT_NEAR(gemm_bytes(linear_kernels(setup, setup.plan, 0, group_tokens(mix, setup.plan))), weights, 1e-3 * weights);
  const std::vector<Kernel> attention = attention_kernels(setup, setup.plan, 0, mix);
  ASSERT_EQ(attention.size(), 1U);
  // 327,680 B per token over 80 layers: 4 KiB in a layer; queries and outputs of 64 heads of 128.
  EXPECT_DOUBLE_EQ(attention[0].bytes, 4096.0 * 4096 + 2 * 64 * 256);
  // 4 L h_q C of one layer.
  EXPECT_DOUBLE_EQ(attention[0].flops(), 4.0 * 8192 * 4096);
}

TEST(LayerKernelsTest, AChunkMeetsWhatIsCachedBeforeIt) {
  InferenceSetup setup;
  setup.model = shipped_model("llama3_8b");
  const auto flops = [&](std::vector<PrefillChunk> chunks) {
    return attention_kernels(setup, setup.plan, 0, {.prefills = std::move(chunks)})[0].flops();
  };
  EXPECT_NEAR(flops({{1024, 0}}) + flops({{1024, 1024}}), flops({{2048, 0}}), 1e-3 * flops({{2048, 0}}));
}

TEST(LayerKernelsTest, ExpertsTouchedGrowWithTheBatch) {
  EXPECT_NEAR(experts_touched(8, 2, 1), 2, 1e-9);
  EXPECT_NEAR(experts_touched(8, 2, 2), 8 * (1 - 0.75 * 0.75), 1e-9);
  EXPECT_NEAR(experts_touched(256, 8, 10'000), 256, 1e-9);
  EXPECT_EQ(experts_touched(4, 4, 1), 4);
}

TEST(LayerKernelsTest, AMixturesProductsDoItsActiveFlops) {
  InferenceSetup setup;
  setup.model = shipped_model("mixtral_8x7b");
  const GroupTokens tokens{.prefill = 4096, .prefill_rows = 4096, .stage = 4096};
  const LayerFlops whole = layer_forward_flops(setup.model, 0, 4096, 4096, FlopConvention::kCausalAttention);
  EXPECT_NEAR(gemm_flops(linear_kernels(setup, setup.plan, 0, tokens)), whole.linear + whole.experts, 1e-9 * whole.total());
}

TEST(LayerKernelsTest, LatentAttentionReadsItsLatentsForAllHeads) {
  InferenceSetup setup;
  setup.model = shipped_model("deepseek_v3");
  setup.plan.tensor = 4;
  const StepMix mix{.decodes = 2, .decode_context = 2 * 1023, .samples = 2};
  const std::vector<Kernel> attention = attention_kernels(setup, setup.plan, 0, mix);
  ASSERT_EQ(attention.size(), 1U);
  const double queries = 2.0 * 2 * 32 * (576 + 512);
  EXPECT_DOUBLE_EQ(attention[0].bytes, queries + 2.0 * 1024 * 2 * 576) << "70,272 B per token over 61 layers, on each GPU";
}

}  // namespace
}  // namespace weft::work
