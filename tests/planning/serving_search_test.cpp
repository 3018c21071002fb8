// The search of servings beside the simulation of all of them: Llama-3 8B on two H100, where every candidate can be simulated.
#include "sim/planning/serving_search/serving_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/planning/serving_search/engine_flags.h"
#include "sim/workloads/model/model_reader.h"

namespace weft::plan {
namespace {

using namespace literals;

scenario::Scenario two_gpus() {
  Diagnostics diagnostics;
  net::Cluster cluster = scenario::load_cluster(WEFT_SOURCE_DIR "/configs/clusters/h100x2.yaml", {}, diagnostics);
  diagnostics.throw_if_any();
  scenario::Scenario scenario{"plan", std::move(cluster), {}, {}, {}, {}, {}, {}};
  work::InferenceSetup setup;
  setup.model = work::read_model(work::load_model_file(WEFT_SOURCE_DIR "/configs/models/llama3_8b.yaml"), diagnostics);
  diagnostics.throw_if_any();
  setup.requests.prompt = {.median = 256, .sigma = 0.2};
  setup.requests.output = {.median = 32, .sigma = 0.2};
  scenario.workload.inference = setup;
  return scenario;
}

const ServingSpace kTwoGpus{.gpus = 2, .node_gpus = 2, .token_budgets = {512, 2048}};

class PatientObserver final : public ServingSearchObserver {
 public:
  void on_state(const ServingProgress&) override {}
  [[nodiscard]] bool stop() const override { return false; }
};

// Every candidate, simulated by itself.
std::vector<ServingPlan> every_serving(const scenario::Scenario& scenario) {
  std::vector<ServingPlan> all;
  for (const ServingCandidate& candidate : list_servings(scenario, kTwoGpus, nullptr).candidates) {
    const std::int64_t requests = std::max<std::int64_t>(32, 6 * candidate.users);
    const work::InferenceSetup setup = setup_of(*scenario.workload.inference, candidate, requests);
    const scenario::InferenceResult run = scenario::run_inference(
        scenario, nullptr, {.warm_up = std::min(2 * candidate.users, requests / 2), .group_runs = nullptr, .setup = &setup});
    ServingPlan& made = all.emplace_back();
    made.candidate = candidate;
    made.ttft = run.ttft;
    made.tokens_per_second_per_gpu = static_cast<double>(candidate.copies) * run.tokens_per_second / 2;
    made.tokens_per_second_per_user = 1e9 / run.tpot.mean_ns;
  }
  return all;
}

TEST(ServingSearchTest, FindsTheFrontThatTheSimulationOfEveryCandidateHas) {
  const scenario::Scenario scenario = two_gpus();
  ServingSettings settings;
  settings.budget_seconds = 0;
  PatientObserver observer;
  const ServingSearchResult found = search_servings(scenario, kTwoGpus, settings, {}, observer);
  const std::vector<ServingPlan> all = every_serving(scenario);
  EXPECT_EQ(found.candidates, all.size());
  EXPECT_EQ(found.simulated + found.too_big, all.size());
  EXPECT_EQ(found.left, 0u);
  ASSERT_TRUE(found.best);
  double most = 0;
  for (const ServingPlan& one : all) {
    most = std::max(most, one.tokens_per_second_per_gpu);
    // Some plan of the front is as good in both figures.
    EXPECT_TRUE(std::ranges::any_of(found.plans,
                                    [&](const ServingPlan& plan) {
                                      return plan.is_on_front &&
                                             plan.tokens_per_second_per_gpu >= one.tokens_per_second_per_gpu &&
                                             plan.tokens_per_second_per_user >= one.tokens_per_second_per_user;
                                    }))
        << engines_text(one.candidate) << ", " << one.candidate.users << " users, " << one.candidate.token_budget
        << " tokens a step: " << one.tokens_per_second_per_user << " tokens/s a user, " << one.tokens_per_second_per_gpu
        << " a GPU";
  }
  EXPECT_EQ(found.plans[*found.best].tokens_per_second_per_gpu, most);
}

TEST(ServingSearchTest, TheBestMeetsTheTargets) {
  const scenario::Scenario scenario = two_gpus();
  ServingSettings settings;
  settings.budget_seconds = 0;
  settings.targets = {.ttft = 100_ms, .tpot = 9_ms, .at = ServingPercentile::kP90};
  PatientObserver observer;
  const ServingSearchResult found = search_servings(scenario, kTwoGpus, settings, {}, observer);
  ASSERT_TRUE(found.best);
  const ServingPlan& best = found.plans[*found.best];
  EXPECT_LE(best.ttft.p90_ns, 100e6);
  EXPECT_LE(best.tpot.p90_ns, 9e6);
  bool some_is_faster = false;
  for (const ServingPlan& plan : found.plans) {
    if (plan.tokens_per_second <= best.tokens_per_second) continue;
    some_is_faster = true;
    EXPECT_TRUE(plan.ttft.p90_ns > 100e6 || plan.tpot.p90_ns > 9e6);
  }
  EXPECT_TRUE(some_is_faster) << "the targets cost nothing";
  settings.targets.tpot = Duration::from_ns(1000);
  EXPECT_FALSE(search_servings(scenario, kTwoGpus, settings, {}, observer).best);
}

// Little: users = requests a second x time of each. The load is steady between the first and the last arrival that count.
TEST(ServingSearchTest, SteadyLoadsObeyLittlesLaw) {
  const scenario::Scenario scenario = two_gpus();
  for (const std::int64_t users : {4, 64}) {
    const ServingCandidate candidate{.engine = {.tensor = 2}, .users = users, .max_batch = 256, .token_budget = 2048};
    const work::InferenceSetup setup = setup_of(*scenario.workload.inference, candidate, 40 * users);
    const scenario::InferenceResult run =
        scenario::run_inference(scenario, nullptr, {.warm_up = 2 * users, .group_runs = nullptr, .setup = &setup});
    const auto expected = static_cast<double>(users);
    EXPECT_NEAR(run.requests_per_second * run.e2e.mean_ns / 1e9, expected, 0.04 * expected);
    EXPECT_NEAR(run.tokens_per_second,
                run.requests_per_second * static_cast<double>(run.output_tokens) / static_cast<double>(run.finished),
                0.04 * run.tokens_per_second);
  }
}

TEST(ServingSearchTest, FrontsAreTakenOffOneAfterAnother) {
  // (4, 1), (2, 3) and (1, 4) beat the rest; of those (3, 1) and (1, 3); then (1, 1), twice.
  const std::vector<std::pair<double, double>> figures{{1, 1}, {2, 3}, {3, 1}, {1, 4}, {1, 3}, {4, 1}, {1, 1}};
  EXPECT_EQ(by_fronts(figures), (std::vector<std::size_t>{5, 1, 3, 2, 4, 0, 6}));
}

TEST(ServingSearchTest, TargetsAreReadAndWrongOnesNamed) {
  const ServingTargets targets = parse_targets("tpot=30ms,at=p99,ttft=0.5 s", "--slo");
  EXPECT_EQ(targets.ttft, 500_ms);
  EXPECT_EQ(targets.tpot, 30_ms);
  EXPECT_EQ(targets.at, ServingPercentile::kP99);
  EXPECT_EQ(parse_targets("tpot=1ms", "--slo").at, ServingPercentile::kP90);
  const auto message = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(parse_targets(text, "--slo"));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(message("ttfs=1s").find("--slo: unknown target 'ttfs'\n  note: did you mean 'ttft'?"), std::string::npos);
  EXPECT_NE(message("ttft=5").find("--slo: ttft: expected a time such as 500ms, got '5'"), std::string::npos);
  EXPECT_NE(message("ttft=0ms").find("expected a time"), std::string::npos);
  EXPECT_NE(message("tpot=1ms,tpot=2ms").find("--slo: tpot stands twice"), std::string::npos);
  EXPECT_NE(message("at=p95").find("--slo: at: expected p50, p90 or p99, got 'p95'"), std::string::npos);
}

TEST(ServingSearchTest, EnginesAreToldThePlan) {
  work::InferenceSetup setup;
  setup.kv_cache.precision = work::Precision::kFp8;
  ServingCandidate candidate{.engine = {.tensor = 4, .pipeline = 2}, .users = 64, .max_batch = 64, .token_budget = 2048};
  std::vector<EngineCommand> commands = engine_commands(setup, candidate);
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[0].lines,
            std::vector<std::string>{"vllm serve MODEL --tensor-parallel-size 4 --pipeline-parallel-size 2 --max-num-seqs 64 "
                                     "--max-num-batched-tokens 2048 --gpu-memory-utilization 0.9 --kv-cache-dtype fp8"});
  EXPECT_EQ(commands[1].lines,
            std::vector<std::string>{"python -m sglang.launch_server --model-path MODEL --tp-size 4 --pp-size 2 "
                                     "--max-running-requests 64 --chunked-prefill-size 2048 --mem-fraction-static 0.9 "
                                     "--kv-cache-dtype fp8_e4m3"});
  EXPECT_EQ(commands[2].lines,
            std::vector<std::string>{"trtllm-serve MODEL --tp_size 4 --pp_size 2 --max_batch_size 64 --max_num_tokens 2048 "
                                     "--extra_llm_api_options FILE  # {kv_cache_config: {dtype: fp8}}"});
  // Attention in replicas: SGLang and TensorRT-LLM count all GPUs of a stage.
  candidate.engine = {.tensor = 2, .attention_data = 4, .expert = 8};
  candidate.decode = candidate.engine;
  commands = engine_commands(setup, candidate);
  ASSERT_EQ(commands[1].lines.size(), 2u);
  EXPECT_NE(commands[0].lines[0].find("--tensor-parallel-size 2 --data-parallel-size 4 --enable-expert-parallel"),
            std::string::npos);
  EXPECT_NE(commands[1].lines[0].find("--tp-size 8 --enable-dp-attention --dp-size 4 --ep-size 8"), std::string::npos);
  EXPECT_NE(commands[1].lines[1].find("--disaggregation-mode decode"), std::string::npos);
  EXPECT_NE(commands[2].lines[0].find("--tp_size 8 --ep_size 8"), std::string::npos);
  // 64 sequences and 2048 tokens of the engine: of each of vLLM's 4 replicas and of TensorRT-LLM's 8 GPUs its share, of SGLang
  // all.
  EXPECT_NE(commands[0].lines[1].find("--max-num-seqs 16 --max-num-batched-tokens 512"), std::string::npos);
  EXPECT_NE(commands[1].lines[1].find("--max-running-requests 64"), std::string::npos);
  EXPECT_NE(commands[2].lines[1].find("--max_batch_size 8 --max_num_tokens 256"), std::string::npos);
}

TEST(ServingSearchTest, AModelThatNoEngineHoldsIsRefused) {
  scenario::Scenario scenario = two_gpus();
  scenario.workload.inference->model.layers = 640;
  PatientObserver observer;
  EXPECT_THROW(static_cast<void>(search_servings(scenario, kTwoGpus, {}, {}, observer)), ConfigError);
}

}  // namespace
}  // namespace weft::plan
