#include "sim/workloads/inference/inference_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
              ElementsAre("workload.inference.expert_power_law: expected between 0 and 10, got '-1'"));
}

TEST(InferenceReaderTest, RefusesRequestsThatSayTooLittleOrTooMuch) {
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {count: 3}"),
              ElementsAre("workload.inference.requests: expected one of 'rate', 'concurrency' and 'trace'"));
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {rate: 4}"),
              ElementsAre("workload.inference.requests.rate: expected requests per time such as '4 /s', got '4'"));
  EXPECT_THAT(errors_of("model: llama3_8b, requests: {concurrency: 4, arrivals: fixed}"),
              ElementsAre("unknown key 'arrivals' in workload.inference.requests"));
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
