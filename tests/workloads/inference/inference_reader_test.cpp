#include "sim/workloads/inference/inference_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"
#include "tests/workloads/workload_support.h"

namespace weft::work::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const net::Topology& eight_hosts() {
  static const net::Topology topology = weft::testing::star(8, Bandwidth::from_bits_per_second(400'000'000'000), Duration{});
  return topology;
}

std::vector<std::string> errors_of(const std::string& text) { return errors("inference: {" + text + "}", eight_hosts()); }

TEST(InferenceReaderTest, ReadsEveryKey) {
  const Workload workload = read(
      "inference:\n"
      "  model: mixtral_8x7b\n"
      "  parallelism: {tensor: 2, attention_data: 2, expert: 4, data: 2}\n"
      "  precision: {weights: fp8, dispatch: fp8}\n"
      "  requests: {rate: 240 /min, count: 7, prompt: 100, output: {median: 20, sigma: 0.5, max: 64}}\n"
      "  scheduler: {token_budget: 512, max_batch: 8, chunked_prefill: false, preemption: swap, cuda_graph: all}\n"
      "  kv_cache: {precision: fp8, utilization: 80 %, block: 32}\n"
      "  speculation: {draft_tokens: 2, acceptance: 0.5}\n"
      "  targets: {ttft: 500 ms, tpot: 50 ms}\n",
      eight_hosts());
  ASSERT_TRUE(workload.inference);
  const InferenceSetup& setup = *workload.inference;
  EXPECT_EQ(setup.model.moe.experts, 8);
  EXPECT_EQ(setup.plan, (EnginePlan{.tensor = 2, .attention_data = 2, .expert = 4, .data = 2}));
  EXPECT_EQ(setup.gpus(), 8);
  EXPECT_DOUBLE_EQ(setup.requests.rate, 4);
  EXPECT_EQ(setup.requests.output, (LengthSpec{.median = 20, .sigma = 0.5, .min = 1, .max = 64}));
  EXPECT_EQ(setup.scheduler.preemption, Preemption::kSwap);
  EXPECT_DOUBLE_EQ(setup.kv_cache.utilization, 0.8);
  EXPECT_DOUBLE_EQ(setup.speculation.expected_tokens(), 1.75);
}

// Copies make experts divide: 8 and 4 over 6 GPUs.
TEST(InferenceReaderTest, RedundantExpertsAreHeldBesideTheOthers) {
  const std::string text =
      "model: mixtral_8x7b, requests: {rate: 1 /s}, parallelism: {tensor: 1, attention_data: 6, expert: 6}";
  EXPECT_THAT(errors_of(text), ElementsAre("workload.inference.parallelism.expert: 8 experts do not divide over 6"));
  const Workload workload = read("inference: {" + text + ", redundant_experts: 4}\n", eight_hosts());
  EXPECT_EQ(workload.inference->model.moe.experts, 12);
  EXPECT_EQ(workload.inference->redundant_experts, 4);
}

// GUARANTEED_NO_EVICT is the default of TensorRT-LLM; vLLM and SGLang admit what fits now.
TEST(InferenceReaderTest, AnEnginesLibrarySaysWhatStarts) {
  const auto preemption_of = [](const std::string& rest) {
    const Workload workload = read("inference: {model: llama3_8b, requests: {rate: 1 /s}, " + rest + "}\n", eight_hosts());
    return workload.inference ? workload.inference->scheduler.preemption : Preemption::kSwap;
  };
  EXPECT_EQ(preemption_of("library: vllm"), Preemption::kRecompute);
  EXPECT_EQ(preemption_of("library: tensorrt_llm"), Preemption::kNone);
  EXPECT_EQ(preemption_of("library: tensorrt_llm, scheduler: {preemption: recompute}"), Preemption::kRecompute);
  EXPECT_EQ(preemption_of("library: vllm, scheduler: {preemption: none}"), Preemption::kNone);
}

TEST(InferenceReaderTest, WeightsMayBeIntegersAndNothingElseMay) {
  const auto weights_of = [](const std::string& name) {
    const Workload workload =
        read("inference: {model: llama3_8b, requests: {rate: 1 /s}, precision: {weights: " + name + "}}\n", eight_hosts());
    return workload.inference->precision;
  };
  EXPECT_EQ(weights_of("int8").weights, Precision::kInt8);
  EXPECT_EQ(weights_of("w8a16").weights, Precision::kW8A16);
  EXPECT_EQ(weights_of("w4a16").weights, Precision::kW4A16);
  EXPECT_EQ(weights_of("w4a16").activations, Precision::kBf16);
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {rate: 1 /s}, precision: {weights: w4a8}"),
              ElementsAre("workload.inference.precision.weights: unknown value 'w4a8'"));
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {rate: 1 /s}, precision: {activations: w4a16}"),
              ElementsAre("workload.inference.precision.activations: unknown value 'w4a16'"));
}

// A GPU without units for a format has kernels that widen its weights.
TEST(InferenceReaderTest, FormatsThatTheGpuLacksAreWidenedInsideKernels) {
  const auto weights_on = [](const char* gpu, const std::string& name) {
    ConfigNode node = ConfigNode::parse("{model: llama3_8b, requests: {rate: 1 /s}, precision: {weights: " + name + "}}",
                                        "test.yaml", "inference");
    Diagnostics diagnostics;
    ParamReader reader{node, diagnostics};
    const InferenceSetup setup = read_inference(reader, 8, net::find_gpu(gpu));
    diagnostics.throw_if_any();
    return std::pair{setup.precision.weights, diagnostics.warnings().size()};
  };
  EXPECT_EQ(weights_on("h100_sxm", "fp4"), (std::pair{Precision::kW4A16, std::size_t{1}}));
  EXPECT_EQ(weights_on("h100_sxm", "fp8"), (std::pair{Precision::kFp8, std::size_t{0}}));
  EXPECT_EQ(weights_on("a100_sxm", "fp8"), (std::pair{Precision::kW8A16, std::size_t{1}}));
  EXPECT_EQ(weights_on("b200", "fp4"), (std::pair{Precision::kFp4, std::size_t{0}}));
}

TEST(InferenceReaderTest, RefusesPlansThatTheModelDoesNotTake) {
  EXPECT_THAT(errors_of("model: llama3_8b, parallelism: {tensor: 3}, requests: {rate: 1 /s}"),
              ElementsAre("workload.inference.parallelism.tensor: 32 heads do not divide over 3 GPUs",
                          "workload.inference.parallelism.tensor: 8 key/value heads do not divide over 3 GPUs"));
  EXPECT_THAT(errors_of("model: llama3_8b, parallelism: {expert: 2}, requests: {rate: 1 /s}"),
              ElementsAre("workload.inference.parallelism.expert: 'llama3_8b' has no experts"));
  EXPECT_THAT(
      errors_of("model: mixtral_8x7b, parallelism: {tensor: 4, expert: 8}, requests: {rate: 1 /s}"),
      ElementsAre("workload.inference.parallelism.expert: 8 does not divide a stage's 4 GPUs (tensor x attention_data)"));
  EXPECT_THAT(errors_of("model: llama3_8b, parallelism: {tensor: 8, data: 2}, requests: {rate: 1 /s}"),
              ElementsAre("workload.inference.parallelism: the engines take 16 GPUs, and the cluster has 8"));
}

TEST(InferenceReaderTest, AnImbalanceOrAPowerLawSaysHowUnevenExpertsAre) {
  EXPECT_THAT(errors_of("model: mixtral_8x7b, expert_imbalance: 1.2, expert_power_law: 1.2, requests: {rate: 1 /s}"),
              ElementsAre("workload.inference.expert_power_law: stands beside 'expert_imbalance'"));
  EXPECT_THAT(errors_of("model: mixtral_8x7b, expert_power_law: -1, requests: {rate: 1 /s}"),
              ElementsAre("workload.inference.expert_power_law: expected at least 0, got '-1'"));
}

TEST(InferenceReaderTest, RefusesRequestsThatSayTooLittleOrTooMuch) {
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {count: 3}"),
              ElementsAre("workload.inference.requests: expected one of 'rate', 'concurrency' and 'trace', and none is given"));
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {rate: 4}"),
              ElementsAre("workload.inference.requests.rate: expected requests per time such as '4 /s', got '4'"));
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {concurrency: 4, arrivals: fixed}"),
              ElementsAre("unknown key 'arrivals' in workload.inference.requests"));
}

TEST(InferenceReaderTest, PrefixesAreCachedWhereThatIsSaid) {
  const auto read_with = [](const std::string& rest) {
    return *read("inference: {model: llama3_8b, " + rest + "}\n", eight_hosts()).inference;
  };
  EXPECT_FALSE(read_with("requests: {rate: 1 /s}").kv_cache.prefix_caching);
  const InferenceSetup shared = read_with("requests: {rate: 1 /s, shared_prefix: 512}, kv_cache: {prefix_caching: true}");
  EXPECT_TRUE(shared.kv_cache.prefix_caching);
  EXPECT_EQ(shared.requests.shared_prefix, 512);
  EXPECT_FALSE(shared.requests.hit_rate);
  const InferenceSetup stated = read_with("requests: {rate: 1 /s, prefix_hit_rate: 60 %}, kv_cache: {prefix_caching: true}");
  EXPECT_DOUBLE_EQ(*stated.requests.hit_rate, 0.6);
  EXPECT_EQ(read_with("requests: {rate: 1 /s, shared_prefix: 512}").requests.shared_prefix, 512)
      << "a load may share what is not cached";
}

TEST(InferenceReaderTest, PrefixesThatContradictEachOtherAreRefused) {
  const auto wrong = [](const std::string& requests) {
    return errors_of("model: llama3_8b, requests: {rate: 1 /s, " + requests + "}, kv_cache: {prefix_caching: true}");
  };
  EXPECT_THAT(wrong("prefix_hit_rate: 1"), ElementsAre("workload.inference.requests.prefix_hit_rate: expected less than 1"));
  EXPECT_THAT(wrong("prefix_hit_rate: -0.1").size(), 1U);
  EXPECT_THAT(wrong("prefix_hit_rate: 0.5, shared_prefix: 512"),
              ElementsAre("workload.inference.requests.prefix_hit_rate: stands beside 'shared_prefix'"));
  EXPECT_THAT(wrong("prefix_hit_rate: 0.5, sessions: {turns: 2}"),
              ElementsAre("workload.inference.requests.prefix_hit_rate: stands beside 'sessions'"));
  EXPECT_THAT(wrong("shared_prefix: 1024"),
              ElementsAre("workload.inference.requests.shared_prefix: 1024 tokens, and prompts may have no more than 1024"));
  EXPECT_THAT(wrong("shared_prefix: 512, prompt: {median: 1024, sigma: 0.5}"),
              ElementsAre("workload.inference.requests.shared_prefix: 512 tokens, and prompts may have no more than 1"));
  EXPECT_THAT(wrong("shared_prefix: 512, prompt: {median: 1024, sigma: 0.5, min: 600}"), IsEmpty());
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {rate: 1 /s, prefix_hit_rate: 0.5}"),
              ElementsAre("workload.inference.requests.prefix_hit_rate: nothing is found where no prefix is cached"));
}

TEST(InferenceReaderTest, HashesOfATraceSayWhatIsShared) {
  const weft::test::TempFolder folder;
  const std::string trace =
      folder.write("trace.jsonl", "{\"timestamp\": 1, \"input_length\": 900, \"output_length\": 2, \"hash_ids\": [1, 2]}\n")
          .string();
  const auto wrong = [&](const std::string& requests, const std::string& cache) {
    return errors_of("model: llama3_8b, requests: {trace: " + trace + requests + "}, kv_cache: {" + cache + "}");
  };
  EXPECT_THAT(wrong("", "prefix_caching: true"), IsEmpty());
  EXPECT_THAT(wrong("", "block: 48"), IsEmpty());
  EXPECT_THAT(wrong("", "prefix_caching: true, block: 48"),
              ElementsAre("workload.inference.requests.trace: a hash stands for 512 tokens, which blocks of 48 do not fill"));
  EXPECT_THAT(wrong(", shared_prefix: 100", "prefix_caching: true"),
              ElementsAre("workload.inference.requests.shared_prefix: stands beside a trace with hash_ids"));
  EXPECT_THAT(wrong(", prefix_hit_rate: 0.5", "prefix_caching: true"),
              ElementsAre("workload.inference.requests.prefix_hit_rate: stands beside a trace with hash_ids"));
}

// Kimi Linear's delta attention.
TEST(InferenceReaderTest, LayersThatCarryAStateCacheNoPrefix) {
  const weft::test::TempFolder folder;
  const std::string model =
      folder
          .write("config.json",
                 R"({"architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "hidden_size": 2304,
              "first_k_dense_replace": 1, "intermediate_size": 9216, "kv_lora_rank": 512, "moe_intermediate_size": 1024,
              "linear_attn_config": {"full_attn_layers": [4, 8], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4},
              "num_attention_heads": 32, "num_experts": 256, "num_experts_per_token": 8, "num_hidden_layers": 8,
              "num_key_value_heads": 32, "num_shared_experts": 1, "q_lora_rank": null, "qk_nope_head_dim": 128,
              "qk_rope_head_dim": 64, "v_head_dim": 128, "tie_word_embeddings": false, "vocab_size": 163840})")
          .string();
  const std::vector<std::string> wrong =
      errors_of("model: " + model + ", requests: {rate: 1 /s}, kv_cache: {prefix_caching: true}");
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_THAT(wrong[0], ::testing::StartsWith("workload.inference.kv_cache.prefix_caching: "));
  EXPECT_THAT(wrong[0], ::testing::EndsWith(" has layers that carry a state, which no block holds"));
}

TEST(InferenceReaderTest, SessionsHaveTurns) {
  const auto read_with = [](const std::string& requests) {
    return read("inference: {model: llama3_8b, requests: {rate: 1 /s, prompt: 300, " + requests + "}}\n", eight_hosts())
        .inference->requests.sessions;
  };
  EXPECT_EQ(read_with("count: 5").turns, 1);
  EXPECT_EQ(read_with("sessions: {turns: 5, think: 10 s}"),
            (SessionSpec{.turns = 5, .think = Duration::from_ps(10'000'000'000'000), .prompt = {.median = 300}}));
  EXPECT_EQ(read_with("sessions: {turns: 2, prompt: {median: 50, sigma: 0.5}}").prompt,
            (LengthSpec{.median = 50, .sigma = 0.5, .max = 800}));
  const auto wrong = [](const std::string& requests) { return errors_of("model: llama3_8b, requests: {" + requests + "}"); };
  EXPECT_THAT(wrong("rate: 1 /s, sessions: {think: 1 s}").size(), 1U) << "turns are missing";
  EXPECT_THAT(wrong("rate: 1 /s, sessions: {turns: 0}"),
              ElementsAre("workload.inference.requests.sessions.turns: expected between 1 and 10000, got '0'"));
  EXPECT_THAT(wrong("rate: 1 /s, sessions: {turns: 2, think: -1 s}").size(), 1U);
  EXPECT_THAT(
      wrong("rate: 1 /s, count: 1000000, sessions: {turns: 11}"),
      ElementsAre("workload.inference.requests.sessions.turns: 1000000 sessions of 11 turns are more than 10000000 requests"));
}

TEST(InferenceReaderTest, EnginesAreChosenByPrefixesThatTheyKeep) {
  const auto wrong = [](const std::string& requests, const std::string& rest) {
    return errors_of("model: llama3_8b, requests: {rate: 1 /s" + requests + "}, scheduler: {balance: prefix}" + rest);
  };
  EXPECT_THAT(wrong("", ", kv_cache: {prefix_caching: true}"), IsEmpty());
  EXPECT_THAT(wrong("", ""), ElementsAre("workload.inference.scheduler.balance: engines hold no prefix to go by"));
  EXPECT_THAT(wrong(", prefix_hit_rate: 0.5", ", kv_cache: {prefix_caching: true}"),
              ElementsAre("workload.inference.scheduler.balance: a stated 'prefix_hit_rate' is the same on every engine"));
}

TEST(InferenceReaderTest, PoolsHavePlansOfTheirOwn) {
  EXPECT_THAT(errors_of("model: llama3_8b, disaggregated: {prefill: {tensor: 4}, decode: {tensor: 4}}, requests: {rate: 1 /s}"),
              IsEmpty());
  EXPECT_THAT(errors_of("model: llama3_8b, parallelism: {tensor: 4}, disaggregated: {prefill: {}, decode: {}}, "
                        "requests: {rate: 1 /s}"),
              ElementsAre("workload.inference.parallelism: stands beside 'disaggregated'"));
}

}  // namespace
}  // namespace weft::work::test
