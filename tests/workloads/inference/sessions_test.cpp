// Users who ask several times, and engines that are chosen by what they hold.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/workloads/inference/inference_support.h"

namespace weft::work::test {
namespace {

// Sessions of three turns: prompts of 100 new tokens, answers of 29.
InferenceSetup three_turns() {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.requests = {.arrivals = Arrivals::kFixed,
                    .rate = 0.01,
                    .count = 2,
                    .sessions = {.turns = 3, .think = 10_s, .prompt = {.median = 100}},
                    .prompt = {.median = 100},
                    .output = {.median = 29}};
  setup.kv_cache.prefix_caching = true;
  return setup;
}

ServingRun run_of(const InferenceSetup& setup, std::int64_t blocks = 1000) {
  return ServingRun{setup, make_requests(setup.requests, 1), blocks};
}

std::vector<std::size_t> engines_of(const ServingRun& run) {
  std::vector<std::size_t> engines;
  for (const RequestRecord& record : run.records()) engines.push_back(record.engine);
  return engines;
}

std::vector<std::int64_t> found_by_sessions(const ServingRun& run) {
  std::vector<std::int64_t> found;
  for (const RequestRecord& record : run.records()) found.push_back(record.found);
  return found;
}

TEST(SessionsTest, APromptIsWhatWasSaidAndWhatIsNew) {
  const std::vector<Request> requests = make_requests(three_turns().requests, 1);
  ASSERT_EQ(requests.size(), 6U);
  for (const std::size_t session : {0U, 3U}) {
    EXPECT_EQ(requests[session].prompt, 100);
    EXPECT_EQ(requests[session + 1].prompt, 100 + 29 + 100);
    EXPECT_EQ(requests[session + 2].prompt, 229 + 29 + 100);
  }
  EXPECT_EQ(requests[3].arrival, Time{} + 100_s);
}

TEST(SessionsTest, ATurnComesAfterTheAnswerAndAPause) {
  const ServingRun run = run_of(three_turns());
  const std::vector<RequestRecord>& records = run.records();
  for (const std::size_t i : {1U, 2U, 4U, 5U}) EXPECT_EQ(records[i].arrival, records[i - 1].last_token + 10_s);
  EXPECT_EQ(records[0].arrival, Time{});
  EXPECT_EQ(records[3].arrival, Time{} + 100_s);
}

// All but the last token of an answer is cached: 128 tokens of 8 blocks, then 257 of 16.
TEST(SessionsTest, TheHistoryIsFoundInWholeBlocks) {
  EXPECT_EQ(found_by_sessions(run_of(three_turns())), (std::vector<std::int64_t>{0, 128, 256, 0, 128, 256}));
}

TEST(SessionsTest, TheFirstPromptsPrefixIsPartOfTheHistory) {
  InferenceSetup setup = three_turns();
  setup.requests.shared_prefix = 48;
  EXPECT_EQ(found_by_sessions(run_of(setup)), (std::vector<std::int64_t>{0, 128, 256, 48, 128, 256}));
}

TEST(SessionsTest, AnotherEngineHoldsAnOlderPartOfTheHistory) {
  InferenceSetup setup = three_turns();
  setup.plan.data = 2;
  setup.scheduler.balance = Balance::kRoundRobin;
  const ServingRun run = run_of(setup);
  EXPECT_EQ(engines_of(run), (std::vector<std::size_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(found_by_sessions(run), (std::vector<std::int64_t>{0, 0, 128, 0, 0, 128}));
}

TEST(SessionsTest, EnginesThatOnlyPrefillHoldPromptsWithoutAnswers) {
  InferenceSetup setup = three_turns();
  setup.decode = EnginePlan{};
  const ServingRun run{setup, make_requests(setup.requests, 1), 1000, 1000};
  // Prompts of 100 and 229 tokens have 6 and 14 whole blocks.
  EXPECT_EQ(found_by_sessions(run), (std::vector<std::int64_t>{0, 96, 224, 0, 96, 224}));
}

TEST(SessionsTest, AUserOfAClosedLoopTakesSessionAfterSession) {
  InferenceSetup setup = three_turns();
  setup.requests.arrivals = Arrivals::kClosed;
  setup.requests.concurrency = 1;
  const ServingRun run = run_of(setup);
  EXPECT_EQ(run.records()[3].arrival, run.records()[2].last_token);
}

TEST(BalanceByPrefixTest, ASessionStaysWhereItsHistoryIs) {
  InferenceSetup setup = three_turns();
  setup.plan.data = 4;
  setup.scheduler.balance = Balance::kPrefix;
  setup.requests.count = 40;
  setup.requests.rate = 40;
  const ServingRun run = run_of(setup);
  const std::vector<std::size_t> engines = engines_of(run);
  for (std::size_t i = 0; i < engines.size(); ++i) EXPECT_EQ(engines[i], engines[i - i % 3]) << i;
  EXPECT_GT(*std::ranges::max_element(engines), 0U) << "first turns go where there is least to do";
  for (std::size_t i = 0; i < engines.size(); ++i) EXPECT_EQ(run.records()[i].found, (i % 3 == 0 ? 0 : i % 3 == 1 ? 128 : 256));
}

// After a first prompt, 200 with its prefix come at once. The engine that holds it takes the first of them, until it has more
// than 64 requests over the other one; from then on both take as many.
TEST(BalanceByPrefixTest, AnEngineWithManyMoreRequestsTakesNoMore) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.plan.data = 2;
  setup.kv_cache.prefix_caching = true;
  setup.scheduler.balance = Balance::kPrefix;
  setup.requests.shared_prefix = 512;
  std::vector<Request> requests = alike(201, 600, 20);
  for (std::size_t i = 1; i < requests.size(); ++i) requests[i].arrival = Time{} + 100_s;
  const ServingRun run{setup, requests, 10'000};
  const std::vector<std::size_t> engines = engines_of(run);
  EXPECT_EQ(std::count(engines.begin(), engines.begin() + 66, 0U), 66) << "the first prompt, and 65";
  EXPECT_EQ(std::count(engines.begin() + 66, engines.end(), 0U), 67);
  EXPECT_EQ(std::count(engines.begin() + 66, engines.end(), 1U), 68);
}

TEST(BalanceByPrefixTest, AShortMatchIsNotWorthIt) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.plan.data = 2;
  setup.kv_cache.prefix_caching = true;
  setup.scheduler.balance = Balance::kPrefix;
  setup.requests.shared_prefix = 160;
  // 160 of 600 tokens are less than 30 %. While the second runs on the first engine, the third goes to the other one.
  std::vector<Request> requests = alike(3, 600, 200);
  requests[1].arrival = Time{} + 100_s;
  requests[2].arrival = Time{} + 100_s + 100_ms;
  EXPECT_EQ(engines_of(ServingRun{setup, requests, 1000}), (std::vector<std::size_t>{0, 0, 1}));
  setup.requests.shared_prefix = 192;
  EXPECT_EQ(engines_of(ServingRun{setup, requests, 1000}), (std::vector<std::size_t>{0, 0, 0}));
}

}  // namespace
}  // namespace weft::work::test
