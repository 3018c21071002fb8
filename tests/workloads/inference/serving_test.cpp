#include "sim/workloads/inference/serving.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/workloads/inference/inference_support.h"

namespace weft::work::test {
namespace {

// Steps whose clock no step before them changes.
InferenceSetup at_full_clock() {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.full_clock = true;
  return setup;
}

TEST(ServingTest, ARequestByItselfTakesItsSteps) {
  ServingRun run{at_full_clock(), alike(1, 1000, 3), 1000};
  const Duration prefill = run.step({.prefills = {{1000, 0}}, .samples = 1}).latency();
  const Duration second = run.step({.decodes = 1, .decode_context = 1000, .samples = 1}).latency();
  const Duration third = run.step({.decodes = 1, .decode_context = 1001, .samples = 1}).latency();
  const RequestRecord& record = run.records()[0];
  EXPECT_EQ(record.first_token - record.arrival, prefill);
  EXPECT_EQ(record.last_token - record.first_token, second + third);
  EXPECT_EQ(run.serving.token_gaps_ns(), (std::vector<double>{second.ns(), third.ns()}));
}

TEST(ServingTest, RequestsOfOneInstantShareTheFirstStep) {
  ServingRun run{at_full_clock(), alike(4, 500, 1), 1000};
  const Duration together = run.step({.prefills = {{500, 0}, {500, 0}, {500, 0}, {500, 0}}, .samples = 4}).latency();
  for (const RequestRecord& record : run.records()) EXPECT_EQ(record.last_token - record.arrival, together);
}

// A GPU that serves all the time is slower than one that rests between requests.
TEST(ServingTest, PromptsAfterPromptsRunAtALowerClock) {
  ServingRun busy{on_one_gpu("llama3_8b"), alike(40, 4000, 1), 1000};
  ServingRun fresh{on_one_gpu("llama3_8b"), alike(1, 4000, 1), 1000};
  ServingRun full{at_full_clock(), alike(1, 4000, 1), 1000};
  const auto time_of = [](const ServingRun& run) { return run.records().back().last_token - Time{}; };
  EXPECT_GT(time_of(busy), 40 * time_of(fresh));
  EXPECT_GE(time_of(fresh), time_of(full));
}

TEST(ServingTest, EnginesShareTheRequests) {
  for (const Balance balance : {Balance::kRoundRobin, Balance::kLeastLoaded}) {
    InferenceSetup setup = on_one_gpu("llama3_8b");
    setup.plan.data = 4;
    setup.scheduler.balance = balance;
    ServingRun run{setup, alike(8, 500, 2), 1000};
    for (const EngineReport& engine : run.serving.engines(run.machine.simulator.now())) {
      EXPECT_EQ(engine.totals.prefill_tokens, 1000);
      EXPECT_EQ(engine.totals.decode_tokens, 2);
    }
  }
}

TEST(ServingTest, TokensAndBlocksAreConservedUnderPressure) {
  // Each request needs 7 blocks in the end; 20 hold three of them, and the rest is fought for.
  for (const Preemption preemption : {Preemption::kRecompute, Preemption::kSwap, Preemption::kNone}) {
    for (const bool is_chunked : {true, false}) {
      for (const int pipeline : {1, 4}) {
        InferenceSetup setup = on_one_gpu("llama3_8b");
        setup.plan.pipeline = pipeline;
        setup.scheduler.preemption = preemption;
        setup.scheduler.chunked_prefill = is_chunked;
        setup.scheduler.token_budget = 128;
        ServingRun run{setup, alike(12, 50, 60), 20};
        std::int64_t preemptions = 0;
        for (const RequestRecord& record : run.records()) {
          EXPECT_EQ(record.emitted, 60);
          preemptions += record.preemptions;
        }
        EXPECT_EQ(preemptions > 0, preemption != Preemption::kNone);
        EXPECT_EQ(run.serving.token_gaps_ns().size(), 12U * 59);
      }
    }
  }
}

// One server, constant service S, Poisson arrivals at rho = 0.6: the mean wait is rho S / (2 (1 - rho)) (Pollaczek, Khinchine).
TEST(ServingTest, BatchesOfOneQueueAsInMD1) {
  InferenceSetup setup = at_full_clock();
  setup.scheduler.max_batch = 1;
  ServingRun alone{setup, alike(1, 1000, 1), 1000};
  const double service = (alone.records()[0].last_token - Time{}).seconds();
  setup.requests.rate = 0.6 / service;
  setup.requests.count = 20'000;
  setup.requests.prompt.median = 1000;
  const ServingRun run{setup, make_requests(setup.requests, 7), 1000};
  double wait = 0;
  for (const RequestRecord& record : run.records()) wait += (record.started - record.arrival).seconds();
  EXPECT_NEAR(wait / 20'000, 0.6 * service / (2 * 0.4), 0.06 * service);
}

TEST(ServingTest, AClosedLoopKeepsItsUsersBusy) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.requests.arrivals = Arrivals::kClosed;
  setup.requests.concurrency = 3;
  ServingRun run{setup, alike(9, 100, 5), 1000};
  const EngineReport engine = run.serving.engines(run.machine.simulator.now())[0];
  EXPECT_EQ(engine.peak_running, 3);
  EXPECT_NEAR(engine.busy_share, 1.0, 1e-6);
  EXPECT_EQ(run.records()[3].arrival, run.records()[0].last_token);
}

TEST(ServingTest, SpeculationGivesTheExpectedTokensAStep) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.speculation = {.draft_tokens = 3, .acceptance = 0.7, .draft_cost = 0};
  EXPECT_NEAR(setup.speculation.expected_tokens(), (1 - std::pow(0.7, 4)) / 0.3, 1e-12);
  ServingRun run{setup, alike(1, 100, 4001), 1000};
  const EngineReport engine = run.serving.engines(run.machine.simulator.now())[0];
  const double steps = static_cast<double>(engine.totals.steps - 1);
  // 4000 tokens; a step's number has a standard deviation of 1.2, over 1,580 steps 1.2 %.
  EXPECT_NEAR(4000 / steps, setup.speculation.expected_tokens(), 0.1);
}

TEST(ServingTest, TheSameSeedGivesTheSameDigest) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.requests = {.rate = 20, .count = 50, .prompt = {.median = 300, .sigma = 0.5}, .output = {.median = 20, .sigma = 0.5}};
  const ServingRun first{setup, make_requests(setup.requests, 3), 1000};
  const ServingRun second{setup, make_requests(setup.requests, 3), 1000};
  const ServingRun other{setup, make_requests(setup.requests, 4), 1000};
  EXPECT_EQ(first.serving.digest(), second.serving.digest());
  EXPECT_NE(first.serving.digest(), other.serving.digest());
}

class DisaggregatedServingTest : public ::testing::Test {
 protected:
  DisaggregatedServingTest() {
    setup_ = on_one_gpu("llama2_70b");
    setup_.decode = EnginePlan{};
    setup_.layer_wise = false;
  }
  InferenceSetup setup_;
};

// models/workloads §6: 8192 tokens of 70B are 2.68 GB, 54 ms at 50 GB/s.
TEST_F(DisaggregatedServingTest, ACacheTakesItsBytesOverTheLink) {
  ServingRun run{setup_, alike(1, 8192, 3), 600, 600};
  EXPECT_EQ(run.serving.cache_bytes_moved(), 2'684'354'560.0);
  const RequestRecord& record = run.records()[0];
  EXPECT_NEAR(record.exposed_transfer.seconds(), 2'684'354'560.0 / 50e9, 1e-6);
  const Duration step = run.step({.decodes = 1, .decode_context = 8192, .samples = 1}).latency();
  EXPECT_EQ(record.first_token, record.prefilled + record.exposed_transfer + step)
      << "TTFT = queue + prefill + exposed transfer + first decode step";
}

TEST_F(DisaggregatedServingTest, LayerByLayerOnlyTheLastIsExposed) {
  setup_.layer_wise = true;
  ServingRun run{setup_, alike(1, 8192, 3), 600, 600};
  EXPECT_NEAR(run.serving.cache_bytes_moved(), 2'684'354'560.0, 2);
  EXPECT_NEAR(run.records()[0].exposed_transfer.seconds(), 2'684'354'560.0 / 80 / 50e9, 1e-5);
}

TEST_F(DisaggregatedServingTest, TransfersShareTheLink) {
  // Two prompts end in one step, and both caches go the same way: each takes twice as long.
  setup_.scheduler.token_budget = 20'000;
  ServingRun run{setup_, alike(2, 8192, 3), 1200, 1200};
  for (const RequestRecord& record : run.records()) {
    EXPECT_NEAR(record.exposed_transfer.seconds(), 2 * 2'684'354'560.0 / 50e9, 1e-6);
  }
}

TEST_F(DisaggregatedServingTest, PromptsWaitForRoomWhereTheyDecode) {
  // Ten requests of 101 blocks with their answers; the engine that decodes holds two at a time.
  for (const bool layer_wise : {false, true}) {
    setup_.layer_wise = layer_wise;
    ServingRun run{setup_, alike(10, 1600, 10), 1000, 210};
    EXPECT_LE(run.serving.engines(run.machine.simulator.now())[1].peak_running, 2);
  }
}

TEST(CachePiecesTest, HeadsAndLayersGoWhereTheyBelong) {
  InferenceSetup setup = on_one_gpu("llama2_70b");
  const auto total = [&](const EnginePlan& from, const EnginePlan& to, std::size_t count) {
    const std::vector<CachePiece> pieces = cache_pieces(setup, from, to);
    EXPECT_EQ(pieces.size(), count);
    double sum = 0;
    for (const CachePiece& piece : pieces) sum += piece.bytes;
    return sum;
  };
  EXPECT_EQ(total({}, {}, 1), 327'680);
  EXPECT_EQ(total({.tensor = 4}, {.tensor = 8}, 8), 327'680) << "each half of four";
  EXPECT_EQ(total({.tensor = 8}, {.tensor = 2}, 8), 327'680);
  EXPECT_EQ(total({.tensor = 2, .pipeline = 2}, {.tensor = 4}, 8), 327'680);
  EXPECT_EQ(total({.tensor = 8}, {.tensor = 16}, 16), 2 * 327'680) << "two GPUs hold each head";
  setup = on_one_gpu("deepseek_v3");
  EXPECT_EQ(total({.tensor = 4}, {.tensor = 4}, 4), 4 * 70'272) << "latents are whole on every GPU";
}

}  // namespace
}  // namespace weft::work::test
