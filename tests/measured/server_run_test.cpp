// Results of serving benchmarks: each format by a file in its own words, what is no such file, and errors of known size.
#include "sim/measured/servers/server_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/core/error.h"

namespace weft::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As vllm bench serve writes it, with --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 90,99.
const std::string kVllm =
    R"({"date": "20260829-101112", "endpoint_type": "openai", "backend": "openai", "label": null, "model_id": "meta-llama/Llama-3.1-8B", "tokenizer_id": "meta-llama/Llama-3.1-8B", "num_prompts": 4, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 2, "duration": 2.0, "completed": 4, "failed": 1, "total_input_tokens": 4096, "total_output_tokens": 512, "request_throughput": 2.0, "request_goodput": null, "output_throughput": 256.0, "total_token_throughput": 2304.0, "mean_ttft_ms": 41.0, "median_ttft_ms": 40.0, "std_ttft_ms": 2.0, "p90_ttft_ms": 43.0, "p99_ttft_ms": 44.0, "mean_tpot_ms": 7.5, "median_tpot_ms": 7.25, "std_tpot_ms": 0.1, "p90_tpot_ms": 7.75, "p99_tpot_ms": 8.0, "mean_itl_ms": 7.5, "median_itl_ms": 7.0, "std_itl_ms": 0.5, "p90_itl_ms": 9.0, "p99_itl_ms": 20.0, "mean_e2el_ms": 993.5, "median_e2el_ms": 960.0, "std_e2el_ms": 3.0, "p90_e2el_ms": 1000.0, "p99_e2el_ms": 1010.0})";

// As SGLang's bench_serving appends it. Python writes an infinite rate as no JSON has it.
const std::string kSglang =
    R"({"tag": null, "backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "max_concurrency": null, "server_info": {"model_path": "Qwen/Qwen3-8B", "tp_size": 1}, "duration": 4.0, "completed": 8, "total_input_tokens": 800, "total_input_text_tokens": 800, "total_output_tokens": 160, "total_output_tokens_retokenized": 159, "request_throughput": 2.0, "input_throughput": 200.0, "output_throughput": 40.0, "total_throughput": 240.0, "mean_e2e_latency_ms": 300.0, "median_e2e_latency_ms": 290.0, "std_e2e_latency_ms": 4.0, "p99_e2e_latency_ms": 330.0, "mean_ttft_ms": 31.0, "median_ttft_ms": 30.0, "std_ttft_ms": 2.0, "p99_ttft_ms": 39.0, "mean_tpot_ms": 14.0, "median_tpot_ms": 13.0, "std_tpot_ms": 1.0, "p99_tpot_ms": 15.0, "mean_itl_ms": 14.0, "median_itl_ms": 12.0, "std_itl_ms": 1.0, "p95_itl_ms": 15.0, "p99_itl_ms": 16.0, "concurrency": 3.2, "accept_length": null})";

double figure(const ServerRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.figures, name, &ServerFigure::name);
  return found == run.figures.end() ? 0 : found->value;
}

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(read_server_runs(text, "bench.json"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ServerRunTest, ReadsVllmBenchServe) {
  const std::vector<ServerRun> runs = read_server_runs(kVllm, "bench.json");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "vllm bench serve");
  EXPECT_EQ(runs[0].model, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(runs[0].requests, 4);
  EXPECT_EQ(runs[0].failed, 1);
  EXPECT_EQ(runs[0].prompt_tokens, 4096);
  EXPECT_EQ(runs[0].output_tokens, 512);
  EXPECT_EQ(runs[0].figures.size(), 2u + 4u * 4u);
  EXPECT_EQ(figure(runs[0], "requests_per_second"), 2.0);
  EXPECT_EQ(figure(runs[0], "tokens_per_second"), 256.0);
  EXPECT_EQ(figure(runs[0], "ttft_p50_ms"), 40.0);
  EXPECT_EQ(figure(runs[0], "tpot_p90_ms"), 7.75);
  EXPECT_EQ(figure(runs[0], "itl_p99_ms"), 20.0);
  EXPECT_EQ(figure(runs[0], "e2e_mean_ms"), 993.5);
}

TEST(ServerRunTest, ReadsSglangBenchServing) {
  const std::vector<ServerRun> runs = read_server_runs(kSglang + "\n", "bench.jsonl");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].format, "SGLang bench_serving");
  EXPECT_EQ(runs[0].model, "Qwen/Qwen3-8B");
  EXPECT_EQ(runs[0].requests, 8);
  EXPECT_EQ(figure(runs[0], "tokens_per_second"), 40.0);
  EXPECT_EQ(figure(runs[0], "tpot_p50_ms"), 13.0);
  EXPECT_EQ(figure(runs[0], "tpot_p90_ms"), 0);  // it is not in the file
  EXPECT_EQ(figure(runs[0], "e2e_p99_ms"), 330.0);
}

// Both clients append, the one by --append-result.
TEST(ServerRunTest, ReadsARunOnEachLine) {
  const std::vector<ServerRun> runs = read_server_runs(kSglang + "\n\n" + kVllm + "\n", "bench.jsonl");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].line, 1);
  EXPECT_EQ(runs[1].line, 3);
  EXPECT_EQ(runs[1].format, "vllm bench serve");
}

TEST(ServerRunTest, WordsInTextsAreNoNumbers) {
  std::string text = kVllm;
  text.replace(text.find("meta-llama"), 10, R"(a\"NaN)");
  EXPECT_EQ(read_server_runs(text, "bench.json")[0].model, "a\"NaN/Llama-3.1-8B");
}

TEST(ServerRunTest, OtherFilesAreLocatedErrors) {
  EXPECT_THAT(message_of(""), HasSubstr("empty"));
  EXPECT_THAT(message_of("arrival_s,prompt,output\n0,1,1\n"), HasSubstr("bench.json:1"));
  EXPECT_THAT(message_of(R"({"throughput": 1})"), HasSubstr("vllm bench serve or SGLang bench_serving"));
  EXPECT_THAT(message_of("[1, 2]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(message_of(kSglang + "\n" + kVllm.substr(0, 300) + "\n"), HasSubstr("bench.json:2"));
  std::string text = kVllm;
  text.replace(text.find("\"median_ttft_ms\": 40.0"), 22, "\"median_ttft_ms\": \"40\"");
  EXPECT_THAT(message_of(text), HasSubstr("median_ttft_ms: expected a number"));
  text = kVllm;
  text.replace(text.find("\"completed\": 4"), 14, "\"completed\": -4");
  EXPECT_THAT(message_of(text), HasSubstr("completed: expected 0 or more"));
}

// A scenario that predicts what the vLLM file has, but 5 ms less to the first token's median and half the throughput.
TEST(ServerRunTest, ComparesWithAPrediction) {
  scenario::InferenceResult result;
  result.finished = 4;
  result.prompt_tokens = 4096;
  result.output_tokens = 512;
  result.requests_per_second = 1.0;
  result.tokens_per_second = 256.0;
  result.ttft.p50_ns = 35e6;
  const std::vector<ServerRun> runs = read_server_runs(kVllm, "bench.json");
  const ServerComparison comparison = compare(runs[0], result);
  ASSERT_EQ(comparison.points.size(), 3u);  // what the result has not is left out
  EXPECT_DOUBLE_EQ(comparison.points[0].relative_error(), -0.5);
  EXPECT_DOUBLE_EQ(comparison.points[1].relative_error(), 0.0);
  EXPECT_EQ(comparison.points[2].name, "ttft_p50_ms");
  EXPECT_DOUBLE_EQ(comparison.points[2].relative_error(), -0.125);
  EXPECT_THAT(comparison.notes, ElementsAre(HasSubstr("1 requests failed")));
}

TEST(ServerRunTest, SaysWhereTheLoadDiffers) {
  scenario::InferenceResult result;
  result.finished = 8;
  result.prompt_tokens = 800;
  result.output_tokens = 160;
  const std::vector<ServerRun> runs = read_server_runs(kSglang, "bench.json");
  EXPECT_THAT(compare(runs[0], result).notes, IsEmpty());
  result.output_tokens = 320;
  EXPECT_THAT(
      compare(runs[0], result).notes,
      ElementsAre(HasSubstr("8 requests of 100.0 tokens in and 20.0 out on average, the scenario 8 of 100.0 and 40.0")));
}

}  // namespace
}  // namespace weft::measured
