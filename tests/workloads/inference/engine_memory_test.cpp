#include "sim/workloads/inference/engine_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/core/error.h"
#include "sim/workloads/inference/inference_reader.h"
#include "sim/workloads/model/memory.h"
#include "tests/workloads/model/model_support.h"

namespace weft::work {
namespace {

InferenceSetup setup_of(const std::string& model, const char* library = "vllm") {
  InferenceSetup setup;
  setup.model = shipped_model(model);
  setup.library = *find_engine_library(library);
  return setup;
}

// models/workloads §6, 2-byte cache.
TEST(EngineMemoryTest, CacheBytesOfATokenAreTheReferences) {
  const std::pair<const char*, double> table[] = {{"gpt3_175b", 4'718'592}, {"llama2_7b", 524'288},    {"llama2_70b", 327'680},
                                                  {"llama3_405b", 516'096}, {"mixtral_8x7b", 131'072}, {"deepseek_v3", 70'272}};
  for (const auto& [model, bytes] : table) {
    EXPECT_EQ(kv_bytes_on_gpu(setup_of(model), {}), bytes) << model;
    EXPECT_EQ(kv_bytes_per_token(shipped_model(model), Precision::kBf16), bytes) << model;
  }
}

TEST(EngineMemoryTest, TensorParallelismDividesHeadsButNotLatents) {
  EXPECT_EQ(kv_bytes_on_gpu(setup_of("llama2_70b"), {.tensor = 8}), 327'680 / 8);
  EXPECT_EQ(kv_bytes_on_gpu(setup_of("llama2_70b"), {.tensor = 16}), 327'680 / 8) << "eight heads, on two GPUs each";
  EXPECT_EQ(kv_bytes_on_gpu(setup_of("llama2_70b"), {.pipeline = 4}), 327'680 / 4);
  EXPECT_EQ(kv_bytes_on_gpu(setup_of("deepseek_v3"), {.tensor = 8}), 70'272);
}

TEST(EngineMemoryTest, BlocksFillWhatWeightsAndActivationsLeave) {
  InferenceSetup setup = setup_of("llama2_70b");
  setup.kv_cache.activations = Bytes{2'000'000'000};
  setup.kv_cache.runtime = Bytes{1'500'000'000};
  const EnginePlan plan{.tensor = 8};
  const EngineMemory memory = engine_memory(setup, plan, 80e9, "h100_sxm", 4096);
  // (72 - weights - 2 - 1.5) GB over 16 tokens of 40,960 B.
  EXPECT_NEAR(memory.weights, 137.95e9 / 8, 0.002 * memory.weights) << "norms are whole on each GPU";
  EXPECT_EQ(memory.block_bytes, 16 * 40'960);
  EXPECT_EQ(memory.blocks, static_cast<std::int64_t>((72e9 - 2e9 - 1.5e9 - memory.weights) / memory.block_bytes));
  setup.kv_cache.precision = Precision::kFp8;
  EXPECT_NEAR(static_cast<double>(engine_memory(setup, plan, 80e9, "h100_sxm", 4096).blocks),
              2.0 * static_cast<double>(memory.blocks), 1.0);
}

TEST(EngineMemoryTest, WhatDoesNotFitSaysWhatWould) {
  InferenceSetup setup = setup_of("llama2_70b");
  setup.kv_cache.activations = Bytes{1'000'000'000};
  setup.kv_cache.runtime = Bytes{100'000'000};
  try {
    static_cast<void>(engine_memory(setup, {}, 80e9, "h100_sxm", 4096));
    FAIL() << "138 GB do not fit 80 GB";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(
        text.find("out of memory: an engine's GPU needs 140.4 GB (weights 138.0 GB, activations 1.0 GB, runtime 0.1 GB, cache "
                  "of one request of 4096 tokens 1.3 GB), and h100_sxm has 72.0 GB (90 % of 80.0 GB)"),
        std::string::npos)
        << text;
    // Halves, 69 GB, leave 2 GB: room for activations and half the cache's 1.3 GB. A byte a weight as well, but not the cache.
    EXPECT_NE(text.find("tensor: 2"), std::string::npos) << text;
    EXPECT_NE(text.find("pipeline: 2"), std::string::npos) << text;
    EXPECT_NE(text.find("precision: {weights: fp8}"), std::string::npos) << text;
  }
}

// 405B in FP8 over eight GPUs, 51 GB each, do not fit 90 % of 52 GB; in 4 bits they do. An H100 has no units for FP4.
TEST(EngineMemoryTest, FourBitsAreWhatTheGpuHasKernelsFor) {
  const auto advice_for = [](const char* gpu) -> std::string {
    try {
      static_cast<void>(engine_memory(setup_of("llama3_405b"), {.tensor = 8}, 52e9, gpu, 4096));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(advice_for("h100_sxm").find("precision: {weights: w4a16}"), std::string::npos) << advice_for("h100_sxm");
  EXPECT_NE(advice_for("b200").find("precision: {weights: fp4}"), std::string::npos) << advice_for("b200");
}

TEST(EngineMemoryTest, NarrowWeightsAreThoseOfLayersAlone) {
  // Llama 2 70B has 68,976,648,192 parameters. Embedding, head and the last norm keep 2 bytes.
  const double ends = (2.0 * 32'000 + 1) * 8192;
  const double layers = 68'976'648'192 - ends;
  const auto bytes_in = [](Precision precision) {
    InferenceSetup setup = setup_of("llama2_70b");
    setup.precision.weights = precision;
    return weight_bytes_on_gpu(setup, {});
  };
  EXPECT_DOUBLE_EQ(bytes_in(Precision::kBf16), 2 * (layers + ends));
  EXPECT_DOUBLE_EQ(bytes_in(Precision::kFp8), layers + 2 * ends);
  EXPECT_DOUBLE_EQ(bytes_in(Precision::kInt8), layers + 2 * ends);
  EXPECT_DOUBLE_EQ(bytes_in(Precision::kW8A16), layers + 2 * ends);
  // A scale of 16 bits and a zero of 4 for 128 weights of 4 bits.
  EXPECT_DOUBLE_EQ(bytes_in(Precision::kW4A16), layers * (4 + 20.0 / 128) / 8 + 2 * ends);
}

TEST(EngineMemoryTest, ExpertsAreSpreadOverTheirPart) {
  InferenceSetup setup = setup_of("mixtral_8x7b");
  const double alone = weight_bytes_on_gpu(setup, {});
  EXPECT_EQ(alone, 2.0 * 46'702'792'704);
  const double experts = 2.0 * 32 * 8 * 3 * 4096 * 14336;
  // All of the experts halve, by expert or within each.
  const double by_expert = weight_bytes_on_gpu(setup, {.tensor = 2, .expert = 2});
  EXPECT_EQ(by_expert, weight_bytes_on_gpu(setup, {.tensor = 2, .expert = 1}));
  EXPECT_NEAR(by_expert, experts / 2 + (alone - experts) / 2, 1e-3 * alone);
}

// The table of docs/serving.md.
TEST(EngineMemoryTest, EachEngineSizesItsCacheByItsRule) {
  const auto cache_of = [](const char* library) {
    InferenceSetup setup = setup_of("llama3_8b", library);
    setup.kv_cache.activations = Bytes{2'000'000'000};
    setup.kv_cache.runtime = Bytes{1'000'000'000};
    setup.kv_cache.block = 1;
    return engine_memory(setup, {}, 80e9, "h100_sxm", 4096).cache;
  };
  const double weights = 2.0 * 8'030'261'248;
  const double token = 2.0 * 2 * 32 * 8 * 128;
  EXPECT_NEAR(cache_of("vllm"), 0.9 * 80e9 - weights - 2e9 - 1e9, token);
  EXPECT_NEAR(cache_of("sglang"), 0.9 * (80e9 - 1e9) - weights, token);
  EXPECT_NEAR(cache_of("tensorrt_llm"), 0.9 * (80e9 - weights - 2e9 - 1e9), token);
}

TEST(EngineMemoryTest, WhatTheRuntimeTakesTheCacheLoses) {
  for (const char* library : {"vllm", "sglang", "tensorrt_llm"}) {
    InferenceSetup setup = setup_of("llama3_8b", library);
    double before = 85e9;
    for (const std::int64_t bytes : {0LL, 1'000'000'000LL, 5'000'000'000LL, 20'000'000'000LL}) {
      setup.kv_cache.runtime = Bytes{bytes};
      const EngineMemory memory = engine_memory(setup, {}, 85e9, "h100_sxm", 4096);
      EXPECT_LT(memory.cache, before) << library << ", " << bytes << " bytes";
      before = memory.cache;
    }
    setup.kv_cache.runtime = Bytes{80'000'000'000};
    EXPECT_THROW(static_cast<void>(engine_memory(setup, {}, 85e9, "h100_sxm", 4096)), ConfigError) << library;
  }
}

TEST(EngineMemoryTest, CommunicatorsOfAGroupTakeMemory) {
  for (const char* library : {"vllm", "sglang", "tensorrt_llm"}) {
    const InferenceSetup setup = setup_of("llama3_8b", library);
    EXPECT_GT(runtime_bytes(setup, {.tensor = 2}), runtime_bytes(setup, {})) << library;
    EXPECT_EQ(runtime_bytes(setup, {.pipeline = 2}), runtime_bytes(setup, {})) << library;
  }
}

// vLLM's largest step has as many tokens as fit, and samples as many sequences as run: the wider vocabulary decides.
TEST(EngineMemoryTest, SamplingOfAFullBatchIsPartOfTheLargestStep) {
  InferenceSetup setup = setup_of("llama3_8b");
  setup.scheduler.max_batch = 256;
  const double of_256 = activation_reserve(setup, {});
  EXPECT_EQ(of_256, 2.0 * 8192 * (2 * 4096 + 3 * 14'336)) << "the step itself";
  setup.scheduler.max_batch = 1024;
  const double of_1024 = activation_reserve(setup, {});
  setup.scheduler.max_batch = 2048;
  EXPECT_GT(of_1024, of_256);
  EXPECT_NEAR(activation_reserve(setup, {}) - of_1024, of_1024 - 2.0 * 8192 * 4096, 1.0);
}

struct Log {
  const char* source;
  const char* library;
  const char* model;
  int tensor;
  double capacity;  // bytes
  double utilization;
  std::int64_t token_budget;
  std::int64_t max_batch;
  Precision weights;
  double cache;  // bytes of one GPU
};

// Caches that engines print, and GPUs as they report them (validate/serving/cache_published.json). Nothing is fitted to these.
TEST(EngineMemoryTest, CachesAreThoseThatEnginesPrint) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  constexpr double kH100 = 79.19 * kGib;
  const Log logs[] = {
      {"llmd", "vllm", "llama3_8b", 2, kH100, 0.95, 8192, 1024, Precision::kBf16, 1'044'688 * 65'536.0},
      {"llmd", "vllm", "llama3_70b", 2, kH100, 0.95, 8192, 1024, Precision::kFp8, 37.28 * kGib},
      {"llmd", "vllm", "llama3_70b", 4, kH100, 0.95, 8192, 1024, Precision::kFp8, 54.09 * kGib},
      {"llmd", "vllm", "mixtral_8x7b", 2, kH100, 0.95, 8192, 1024, Precision::kBf16, 28.44 * kGib},
      {"aic", "tensorrt_llm", "llama3_8b", 1, 85.0e9, 0.8, 4096, 2048, Precision::kBf16, 402'944 * 131'072.0},
      {"aic", "tensorrt_llm", "llama3_8b", 4, 85.0e9, 0.8, 4096, 2048, Precision::kBf16, 1'861'120 * 32'768.0},
      {"aic", "tensorrt_llm", "llama3_8b", 4, 297e9, 0.9, 8192, 2048, Precision::kBf16, 7'890'432 * 32'768.0},
      {"sglang_18263", "sglang", "qwen3_30b_a3b", 1, 309e9, 0.911, 16'384, 1024, Precision::kBf16, 219'721'119'039.0},
  };
  for (const Log& log : logs) {
    InferenceSetup setup = setup_of(log.model, log.library);
    setup.precision.weights = log.weights;
    setup.kv_cache.utilization = log.utilization;
    setup.scheduler.token_budget = log.token_budget;
    setup.scheduler.max_batch = log.max_batch;
    const EngineMemory memory = engine_memory(setup, {.tensor = log.tensor}, log.capacity, "h100_sxm", 4096);
    EXPECT_NEAR(memory.cache / log.cache, 1, 0.01) << log.source << ": " << log.model << " over " << log.tensor;
  }
}

}  // namespace
}  // namespace weft::work
