#include "sim/workloads/inference/layer_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "sim/workloads/model/flops.h"
#include "sim/workloads/model/parameters.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

double gemm_flops(const std::vector<NamedKernel>& kernels) {
  double sum = 0;
  for (const Kernel& kernel : kernels) {
    if (class_of(kernel.kind) == KernelClass::kGemm) sum += kernel.flops();
  }
  return sum;
}

double gemm_bytes(const std::vector<NamedKernel>& kernels) {
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
    const std::vector<NamedKernel> attention = attention_kernels(setup, setup.plan, layer_shape(setup.model, 0).mixer, mix);
    ASSERT_EQ(attention.size(), 1U);
    EXPECT_NEAR(attention[0].flops() * tensor, whole.attention, 1e-3 * whole.attention);
    EXPECT_EQ(attention[0].kv_group, 8) << "64 heads, 8 of keys and values";
  }
}

TEST(LayerKernelsTest, DecodingReadsEachWeightOnceAndTheCache) {
  InferenceSetup setup;
  setup.model = shipped_model("llama2_70b");
  const StepMix mix{.decodes = 1, .decode_context = 4095, .samples = 1};
  const double weights = 2.0 * static_cast<double>(layer_parameters(setup.model, 0).total());
  EXPECT_NEAR(gemm_bytes(linear_kernels(setup, setup.plan, 0, group_tokens(mix, setup.plan))), weights, 1e-3 * weights);
  const std::vector<NamedKernel> attention = attention_kernels(setup, setup.plan, layer_shape(setup.model, 0).mixer, mix);
  ASSERT_EQ(attention.size(), 1U);
  // 327,680 B per token over 80 layers: 4 KiB in a layer; queries and outputs of 64 heads of 128.
  EXPECT_DOUBLE_EQ(attention[0].bytes, 4096.0 * 4096 + 2 * 64 * 256);
  // 4 L h_q C of one layer.
  EXPECT_DOUBLE_EQ(attention[0].flops(), 4.0 * 8192 * 4096);
}

TEST(LayerKernelsTest, IntegersAreReadAsStoredAndTheRouterIsNone) {
  InferenceSetup setup;
  setup.model = shipped_model("mixtral_8x7b");
  setup.precision.weights = Precision::kW4A16;
  const StepMix mix{.decodes = 1, .decode_context = 4095, .samples = 1};
  const std::vector<NamedKernel> kernels = linear_kernels(setup, setup.plan, 0, group_tokens(mix, setup.plan));
  const auto named = [&](std::string_view name) {
    return static_cast<Kernel>(*std::ranges::find(kernels, name, &NamedKernel::name));
  };
  // 32 heads of 128 beside 4096 hidden; a row of each is 2 bytes an element.
  EXPECT_EQ(named("attention_out").precision, Precision::kW4A16);
  EXPECT_DOUBLE_EQ(named("attention_out").bytes, 4096.0 * 4096 * (4 + 20.0 / 128) / 8 + 2 * (4096 + 4096));
  EXPECT_EQ(named("experts").precision, Precision::kW4A16);
  EXPECT_EQ(named("router").precision, Precision::kBf16);
  EXPECT_DOUBLE_EQ(named("router").bytes, 2 * 4096.0 * 8 + 2 * (4096 + 8));
}

TEST(LayerKernelsTest, AChunkMeetsWhatIsCachedBeforeIt) {
  InferenceSetup setup;
  setup.model = shipped_model("llama3_8b");
  const auto flops = [&](std::vector<PrefillChunk> chunks) {
    return attention_kernels(setup, setup.plan, layer_shape(setup.model, 0).mixer, {.prefills = std::move(chunks)})[0].flops();
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

TEST(LayerKernelsTest, RoutedExpertsOfAnEngineAreOneCall) {
  InferenceSetup setup;
  setup.model = shipped_model("deepseek_v3");
  setup.plan = {.attention_data = 8, .expert = 8};
  const GroupTokens tokens{.decode = 128, .stage = 1024};
  const auto only = [](const std::vector<NamedKernel>& kernels, KernelKind kind, std::string_view name) {
    std::vector<NamedKernel> found;
    for (const NamedKernel& kernel : kernels) {
      if (kernel.kind == kind && (name.empty() || kernel.name == name)) found.push_back(kernel);
    }
    return found;
  };
  const std::vector<NamedKernel> all = linear_kernels(setup, setup.plan, 10, tokens);
  const std::vector<NamedKernel> calls = only(all, KernelKind::kExperts, "experts");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].m, 128);
  EXPECT_EQ(calls[0].n, 2048);
  EXPECT_EQ(calls[0].k, 7168);
  EXPECT_EQ(calls[0].batch, 32) << "256 experts on 8 GPUs";
  EXPECT_DOUBLE_EQ(calls[0].expert_rows, 1024) << "8 experts a token, an eighth of them here";
  EXPECT_NEAR(calls[0].experts_used, 32, 1e-9);
  EXPECT_FALSE(calls[0].uneven);
  EXPECT_EQ(only(all, KernelKind::kGemm, "shared_up").size(), 1U) << "the shared expert is apart";
  EXPECT_TRUE(only(all, KernelKind::kGemm, "experts_up").empty());
  setup.library.calls_experts = false;
  const std::vector<NamedKernel> parts = linear_kernels(setup, setup.plan, 10, tokens);
  EXPECT_TRUE(only(parts, KernelKind::kExperts, "").empty());
  EXPECT_EQ(only(parts, KernelKind::kGemm, "experts_up").size(), 1U);
}

TEST(LayerKernelsTest, APowerLawGivesTheBusiestGpuMoreThanItsShare) {
  InferenceSetup setup;
  setup.model = shipped_model("deepseek_v3");
  const EnginePlan plan{.attention_data = 8, .expert = 8};
  const MixtureOfExperts& moe = setup.model.moe;
  EXPECT_DOUBLE_EQ(expert_load(setup, plan, moe, 4096).rows, 4096);
  setup.expert_imbalance = 1.5;
  EXPECT_DOUBLE_EQ(expert_load(setup, plan, moe, 4096).rows, 1.5 * 4096);
  setup.expert_imbalance = 1;
  setup.expert_power_law = 1.2;
  const ExpertVisits busiest = expert_load(setup, plan, moe, 4096);
  EXPECT_GT(busiest.rows, 4096);
  EXPECT_LE(busiest.experts, 32);
  const GroupTokens tokens{.prefill = 512, .prefill_rows = 512, .stage = 4096};
  for (const NamedKernel& kernel : linear_kernels(setup, plan, 10, tokens)) {
    if (kernel.kind == KernelKind::kExperts) {
      EXPECT_TRUE(kernel.uneven);
    }
  }
}

TEST(LayerKernelsTest, LatentAttentionReadsItsLatentsForAllHeads) {
  InferenceSetup setup;
  setup.model = shipped_model("deepseek_v3");
  setup.plan.tensor = 4;
  const StepMix mix{.decodes = 2, .decode_context = 2 * 1023, .samples = 2};
  const std::vector<NamedKernel> attention = attention_kernels(setup, setup.plan, layer_shape(setup.model, 0).mixer, mix);
  ASSERT_EQ(attention.size(), 1U);
  const double queries = 2.0 * 2 * 32 * (576 + 512);
  EXPECT_DOUBLE_EQ(attention[0].bytes, queries + 2.0 * 1024 * 2 * 576) << "70,272 B per token over 61 layers, on each GPU";
}

// Two key heads and four value heads of 128: K = 256, V = 512.
TransformerModel delta_model() {
  return model_from(
      R"({"architectures": ["Qwen3NextForCausalLM"], "full_attention_interval": 4, "head_dim": 64, "hidden_size": 256,
          "intermediate_size": 512, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 2,
          "linear_num_value_heads": 4, "linear_value_head_dim": 128, "num_attention_heads": 8, "num_hidden_layers": 4,
          "num_key_value_heads": 2, "vocab_size": 1000})");
}

TEST(LayerKernelsTest, AStateIsReadAndWrittenOnceAStepHoweverLongTheContext) {
  InferenceSetup setup;
  setup.model = delta_model();
  const Mixer mixer = layer_shape(setup.model, 0).mixer;
  for (const std::int64_t context : {16, 16'000}) {
    const StepMix mix{.decodes = 3, .decode_context = 3 * context, .samples = 3};
    const std::vector<NamedKernel> kernels = attention_kernels(setup, setup.plan, mixer, mix);
    ASSERT_EQ(kernels.size(), 1U);
    // Read and written in fp32: 4 states of 128 x 128, and 3 inputs of 2 x 256 + 512 channels.
    EXPECT_DOUBLE_EQ(kernels[0].bytes, 3.0 * 2 * 4 * (4 * 128 * 128 + 3 * 1024));
  }
}

TEST(LayerKernelsTest, APromptsGatedDeltaProductsGrowWithItsTokensAlone) {
  InferenceSetup setup;
  setup.model = delta_model();
  const Mixer mixer = layer_shape(setup.model, 0).mixer;
  const std::vector<NamedKernel> kernels = attention_kernels(setup, setup.plan, mixer, {.prefills = {{1000, 5000}}});
  ASSERT_EQ(kernels.size(), 1U);
  // Reading what is to be corrected, adding, reading: three products of a token with each state.
  EXPECT_DOUBLE_EQ(kernels[0].flops(), 2.0 * 3 * 1000 * 4 * 128 * 128);
  const GroupTokens tokens{.prefill = 1000, .prefill_rows = 1000, .stage = 1000};
  // In: 2 K + 2 V and two scalars a value head; out: V; the MLP of 512.
  const double products = 2.0 * 1000 * 256 * (2 * 256 + 2 * 512 + 2 * 4 + 512 + 3 * 512);
  EXPECT_DOUBLE_EQ(gemm_flops(linear_kernels(setup, setup.plan, 0, tokens)), products);
}

TEST(LayerKernelsTest, ChunksAndIndexesLimitTheKeysAQueryMeets) {
  InferenceSetup setup;
  setup.model = shipped_model("llama3_8b");
  Mixer mixer = layer_shape(setup.model, 0).mixer;
  const auto keys = [&](std::int64_t context) {
    const StepMix mix{.decodes = 1, .decode_context = context, .samples = 1};
    return attention_kernels(setup, setup.plan, mixer, mix).back().n;
  };
  mixer.chunk = 1024;
  EXPECT_EQ(keys(1023), 1024);
  EXPECT_EQ(keys(1024), 1);  // the first token of the next chunk
  const Kernel prompt = attention_kernels(setup, setup.plan, mixer, {.prefills = {{2048, 0}}})[0];
  EXPECT_EQ(prompt.n, 512);  // half a chunk on average
  mixer.chunk = 0;
  mixer.index = {.heads = 4, .dim = 128, .top_k = 2048, .reads_hidden = true};
  EXPECT_EQ(keys(100), 101);
  EXPECT_EQ(keys(100'000), 2048);
  const StepMix mix{.decodes = 1, .decode_context = 99'999, .samples = 1};
  const Kernel choice = attention_kernels(setup, setup.plan, mixer, mix)[0];
  EXPECT_DOUBLE_EQ(choice.flops(), 2.0 * 4 * 128 * 100'000);  // the index itself meets all
}

TEST(LayerKernelsTest, ALayerWithoutAttentionFeedsForwardOnly) {
  InferenceSetup setup;
  setup.model = model_from(
      R"({"architectures": ["NemotronHForCausalLM"], "hidden_size": 256, "hybrid_override_pattern": "M-*-", "head_dim": 64,
          "intermediate_size": 512, "mamba_head_dim": 64, "mamba_num_heads": 8, "n_groups": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "ssm_state_size": 16, "vocab_size": 1000})");
  ASSERT_EQ(setup.model.layers, 4);
  const GroupTokens tokens{.decode = 10, .stage = 10};
  EXPECT_TRUE(attention_kernels(setup, setup.plan, layer_shape(setup.model, 1).mixer, {.decodes = 10}).empty());
  EXPECT_DOUBLE_EQ(gemm_flops(linear_kernels(setup, setup.plan, 1, tokens)), 2.0 * 10 * 256 * 512 * 2);
  // Queries, keys and values, and back.
  EXPECT_DOUBLE_EQ(gemm_flops(linear_kernels(setup, setup.plan, 2, tokens)), 2.0 * 10 * 256 * 64 * (4 + 2 * 2 + 4));
}

std::vector<std::string_view> names_of(const std::vector<NamedKernel>& kernels) {
  std::vector<std::string_view> names;
  for (const NamedKernel& kernel : kernels) names.push_back(kernel.name);
  return names;
}

TEST(LayerKernelsTest, PyTorchRunsEachOperatorAsAKernelOfItsOwn) {
  InferenceSetup setup;
  setup.model = shipped_model("llama3_8b");
  setup.model.learned_positions = 1;
  setup.library = {"torch", "", false};
  const GroupTokens answers{.decode = 4, .stage = 4};
  const std::vector<NamedKernel> kernels = linear_kernels(setup, setup.plan, 0, answers);
  EXPECT_EQ(names_of(kernels),
            (std::vector<std::string_view>{"norm", "qkv", "copy_keys", "copy_values", "attention_out", "add_residual", "norm",
                                           "up", "silu", "multiply", "down", "add_residual"}));
  EXPECT_DOUBLE_EQ(kernels[8].elements, 4.0 * 14'336) << "half of the product";
  EXPECT_DOUBLE_EQ(kernels[2].elements, 4.0 * 8 * 128) << "keys of 8 heads";
  EXPECT_DOUBLE_EQ(kernels[0].bytes, 4.0 * 4096 * 2 * 2) << "read and written; no residual";
  setup.kv_cache.is_written = false;
  EXPECT_EQ(linear_kernels(setup, setup.plan, 0, {.prefill = 4, .prefill_rows = 4, .stage = 4}).size(), kernels.size() - 2);
}

TEST(LayerKernelsTest, LearnedPositionsLeaveOutTheRotaryKernel) {
  InferenceSetup setup;
  setup.model = shipped_model("llama3_8b");
  const GroupTokens answers{.decode = 4, .stage = 4};
  const std::size_t rotary = linear_kernels(setup, setup.plan, 0, answers).size();
  setup.model.learned_positions = 1;
  EXPECT_EQ(linear_kernels(setup, setup.plan, 0, answers).size(), rotary - 1);
}

TEST(LayerKernelsTest, PyTorchsPromptsOfOneLengthAreABatch) {
  InferenceSetup setup;
  setup.model = shipped_model("llama3_8b");
  setup.library = {"torch", "", false};
  const std::vector<NamedKernel> attention =
      attention_kernels(setup, setup.plan, layer_shape(setup.model, 0).mixer, {.prefills = {{512, 0}, {512, 0}}});
  ASSERT_EQ(attention.size(), 1U);
  EXPECT_EQ(attention[0].m, 512);
  EXPECT_EQ(attention[0].batch, 2 * 32);
  EXPECT_TRUE(attention[0].causal);
}

}  // namespace
}  // namespace weft::work
