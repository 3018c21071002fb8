// Engines that cache prefixes: what is computed, what is found, and what memory holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <numeric>
#include <tuple>

#include "sim/core/random.h"
#include "tests/workloads/inference/inference_support.h"

namespace weft::work::test {
namespace {

InferenceSetup caching() {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.kv_cache.prefix_caching = true;
  return setup;
}

// Requests that do not meet.
std::vector<Request> one_by_one(std::size_t count, std::int64_t prompt, std::int64_t output) {
  std::vector<Request> requests = alike(count, prompt, output);
  for (std::size_t i = 0; i < count; ++i) requests[i].arrival = Time{} + static_cast<std::int64_t>(i) * 10_s;
  return requests;
}

std::vector<std::int64_t> found_of(const ServingRun& run) {
  std::vector<std::int64_t> found;
  for (const RequestRecord& record : run.records()) found.push_back(record.found);
  return found;
}

const SchedulerTotals& totals_of(const EngineReport& report) { return report.totals; }

TEST(PrefixCachingTest, ASharedPrefixIsComputedOnceByAnEngine) {
  InferenceSetup setup = caching();
  setup.requests.shared_prefix = 512;
  constexpr std::int64_t kPrompt = 1000;
  constexpr std::int64_t kRequests = 5;
  const ServingRun run{setup, one_by_one(kRequests, kPrompt, 4), 1000};
  const std::vector<EngineReport> engines = run.serving.engines(Time{} + 1000_s);
  EXPECT_EQ(totals_of(engines[0]).prefill_tokens, kPrompt + (kRequests - 1) * (kPrompt - 512));
  EXPECT_EQ(found_of(run), (std::vector<std::int64_t>{0, 512, 512, 512, 512}));
  EXPECT_EQ(totals_of(engines[0]).found_tokens, 4 * 512);
  EXPECT_EQ(totals_of(engines[0]).prompt_tokens, 5 * 1000);
}

TEST(PrefixCachingTest, EachEngineComputesItForItself) {
  InferenceSetup setup = caching();
  setup.requests.shared_prefix = 512;
  setup.plan.data = 2;
  setup.scheduler.balance = Balance::kRoundRobin;
  const ServingRun run{setup, one_by_one(5, 1000, 4), 1000};
  EXPECT_EQ(found_of(run), (std::vector<std::int64_t>{0, 0, 512, 512, 512}));
}

// Blocks of 256 tokens, two to a hash. The last prompt is held as a whole, and its last block is computed again.
TEST(PrefixCachingTest, ATracesHashesSayWhatIsFound) {
  InferenceSetup setup = caching();
  setup.kv_cache.block = 256;
  std::vector<Request> requests = one_by_one(4, 1300, 4);
  requests[0].hashes = {1, 2, 3};
  requests[1].prompt = 1200;
  requests[1].hashes = {1, 2, 4};
  requests[2].prompt = 600;
  requests[2].hashes = {1, 5};
  requests[3].prompt = 1024;
  requests[3].hashes = {1, 2};
  const ServingRun run{setup, requests, 100};
  EXPECT_EQ(found_of(run), (std::vector<std::int64_t>{0, 1024, 512, 768}));
}

// Three blocks of 512 tokens hold one prompt of two hashes with its answer: another prompt takes the room of the first.
TEST(PrefixCachingTest, WhatNobodyUsesStaysUntilItsRoomIsNeeded) {
  InferenceSetup setup = caching();
  setup.kv_cache.block = 512;
  const auto ran = [&](std::int64_t blocks) {
    std::vector<Request> requests = one_by_one(3, 1100, 2);
    for (Request& request : requests) request.hashes = {1, 2};
    requests[1].hashes = {3, 4};
    const ServingRun run{setup, requests, blocks};
    return found_of(run);
  };
  EXPECT_EQ(ran(5), (std::vector<std::int64_t>{0, 0, 1024}));
  EXPECT_EQ(ran(4), (std::vector<std::int64_t>{0, 0, 512})) << "the end of the first prompt made room";
  EXPECT_EQ(ran(3), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(PrefixCachingTest, PromptsThatRunTogetherHoldTheirPrefixOnce) {
  InferenceSetup setup = caching();
  setup.requests.shared_prefix = 1024;
  // A prompt fills 65 blocks, its answer one; 64 blocks are shared.
  const ServingRun run{setup, alike(4, 1040, 10), 200};
  const EngineReport report = run.serving.engines(Time{} + 1000_s)[0];
  EXPECT_EQ(report.peak_running, 4);
  EXPECT_DOUBLE_EQ(report.peak_block_share, (64.0 + 4 * 2) / 200);
  EXPECT_EQ(report.totals.prefill_tokens, 1040 + 3 * 16) << "those of the first step find what it computes";
}

TEST(PrefixCachingTest, TheFirstTokenComesNoLaterThanWithoutACache) {
  const std::vector<Request> requests = one_by_one(6, 3000, 8);
  InferenceSetup setup = on_one_gpu("llama3_8b");
  setup.full_clock = true;
  setup.requests.shared_prefix = 2048;
  const ServingRun without{setup, requests, 1000};
  setup.kv_cache.prefix_caching = true;
  const ServingRun with{setup, requests, 1000};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Duration ttft = with.records()[i].first_token - with.records()[i].arrival;
    const Duration longest = without.records()[i].first_token - without.records()[i].arrival;
    EXPECT_LE(ttft, longest);
    if (i > 0) {
      EXPECT_LT(ttft, longest);
    }
  }
  // The tokens found are met by attention: the step is that of a piece with as much context.
  ServingRun step{setup, alike(1, 10, 2), 1000};
  EXPECT_EQ(with.records()[1].first_token - with.records()[1].arrival,
            step.step({.prefills = {{3000 - 2048, 2048}}, .samples = 1}).latency());
}

TEST(PrefixCachingTest, AStatedHitRateIsThatOfEveryPrompt) {
  InferenceSetup setup = caching();
  setup.requests.hit_rate = 0.6;
  const ServingRun run{setup, one_by_one(3, 1000, 4), 1000};
  // 600 tokens hold 37 whole blocks of 16.
  EXPECT_EQ(found_of(run), (std::vector<std::int64_t>{592, 592, 592}));
  EXPECT_EQ(run.serving.engines(Time{} + 1000_s)[0].totals.prefill_tokens, 3 * 408);
  EXPECT_DOUBLE_EQ(run.serving.engines(Time{} + 1000_s)[0].peak_block_share, 63.0 / 1000) << "1003 tokens";
  setup.requests.hit_rate = 0.999;
  const ServingRun most{setup, one_by_one(2, 32, 4), 1000};
  EXPECT_EQ(found_of(most), (std::vector<std::int64_t>{16, 16})) << "a token is computed, and so is its block";
}

TEST(PrefixCachingTest, NothingChangesWhereNothingIsShared) {
  InferenceSetup setup = on_one_gpu("llama3_8b");
  const ServingRun without{setup, alike(20, 500, 30), 1000};
  setup.kv_cache.prefix_caching = true;
  const ServingRun with{setup, alike(20, 500, 30), 1000};
  EXPECT_EQ(with.serving.engines(Time{} + 1000_s)[0].totals.preemptions, 0);
  EXPECT_EQ(without.serving.digest(), with.serving.digest());
}

TEST(PrefixCachingTest, ASequenceThatGaveUpItsBlocksFindsWhatIsLeftOfThem) {
  InferenceSetup setup = caching();
  setup.scheduler.max_batch = 8;
  const auto computed = [&](bool caches) {
    setup.kv_cache.prefix_caching = caches;
    const ServingRun run{setup, alike(8, 160, 200), 100};
    const SchedulerTotals totals = run.serving.engines(Time{} + 1000_s)[0].totals;
    EXPECT_GT(totals.preemptions, 0);
    EXPECT_EQ(totals.found_tokens, 0) << "only what a prompt finds when it first runs counts";
    return totals.prefill_tokens;
  };
  EXPECT_LT(computed(true), computed(false));
}

TEST(PrefixCachingTest, EnginesThatPrefillFindPrefixesAndSendWholeCaches) {
  InferenceSetup setup = caching();
  setup.decode = EnginePlan{};
  setup.requests.shared_prefix = 512;
  const ServingRun run{setup, one_by_one(3, 1000, 4), 1000, 1000};
  EXPECT_EQ(found_of(run), (std::vector<std::int64_t>{0, 512, 512}));
  setup.kv_cache.prefix_caching = false;
  const ServingRun without{setup, one_by_one(3, 1000, 4), 1000, 1000};
  EXPECT_DOUBLE_EQ(run.serving.cache_bytes_moved(), without.serving.cache_bytes_moved());
}

// A list of blocks, the least recently used first, that knows nothing of pieces.
class BlockList {
 public:
  using Block = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  explicit BlockList(std::size_t most) : most_{most} {}

  // Returns how many leading ones of the first `findable` it has; then it has all. `others`: that need room beside them.
  std::int64_t serve(const std::vector<Block>& blocks, std::int64_t findable, std::size_t others) {
    std::int64_t found = 0;
    while (found < findable && std::ranges::find(held_, blocks[static_cast<std::size_t>(found)]) != held_.end()) ++found;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      held_.remove(*block);
      held_.push_back(*block);
    }
    while (held_.size() + others > most_) held_.pop_front();
    return found;
  }

 private:
  std::size_t most_;
  std::list<Block> held_;
};

TEST(PrefixCachingTest, RequestsThatDoNotMeetFindWhatAListOfBlocksFinds) {
  RandomStream random{3, "test/list"};
  constexpr std::int64_t kBlock = 128;
  constexpr std::int64_t kBlocks = 90;
  BlockList list{kBlocks};
  InferenceSetup setup = caching();
  setup.kv_cache.block = kBlock;
  std::vector<Request> requests = one_by_one(300, 1, 1);
  std::vector<std::int64_t> expected;
  for (std::size_t id = 0; id < requests.size(); ++id) {
    Request& request = requests[id];
    request.prompt = 1 + static_cast<std::int64_t>(random.below(4000));
    request.output = 1 + static_cast<std::int64_t>(random.below(200));
    // Hashes that stand for all before them, too.
    std::int64_t hash = 0;
    for (std::int64_t at = 0; at < request.prompt; at += kHashedTokens) {
      hash = 10 * hash + 1 + static_cast<std::int64_t>(random.below(2));
      request.hashes.push_back(hash);
    }
    std::vector<BlockList::Block> blocks;
    const std::int64_t of_prompt = request.prompt / kBlock;
    for (std::int64_t i = 0; i < (request.prompt + request.output - 1) / kBlock; ++i) {
      const std::int64_t at = i * kBlock / kHashedTokens;
      const std::int64_t whole = std::min(kHashedTokens, request.prompt - at * kHashedTokens) / kBlock;
      if (i < of_prompt) {
        blocks.emplace_back(request.hashes[static_cast<std::size_t>(at)], i, whole);
      } else {
        blocks.emplace_back(-1 - static_cast<std::int64_t>(id), i, 0);
      }
    }
    const bool has_rest = (request.prompt + request.output - 1) % kBlock > 0;
    expected.push_back(kBlock * list.serve(blocks, (request.prompt - 1) / kBlock, has_rest ? 1 : 0));
  }
  const ServingRun run{setup, requests, kBlocks};
  EXPECT_EQ(found_of(run), expected);
  EXPECT_GT(std::accumulate(expected.begin(), expected.end(), std::int64_t{0}), 50'000);
}

// Many prompts of few hashes, in little memory, with every kind of preemption: each is served once, blocks are never short, and
// each prompt computes a token at least.
TEST(PrefixCachingTest, WhateverIsSharedNoBlockIsLostOrUsedTwice) {
  for (const Preemption preemption : {Preemption::kRecompute, Preemption::kSwap, Preemption::kNone}) {
    for (const bool chunked : {true, false}) {
      RandomStream random{7, "test/prefixes"};
      SchedulerOptions options;
      options.token_budget = 700;
      options.max_batch = 12;
      options.preemption = preemption;
      options.chunked_prefill = chunked;
      const KvCacheOptions cache{.block = 128, .prefix_caching = true};
      std::vector<Request> requests;
      std::vector<Sequence> sequences;
      for (int i = 0; i < 400; ++i) {
        Request request{Time{}, 1 + static_cast<std::int64_t>(random.below(2600)),
                        1 + static_cast<std::int64_t>(random.below(300))};
        for (std::int64_t at = 0; at < request.prompt; at += 512) {
          request.hashes.push_back(static_cast<std::int64_t>(random.below(2)) + 2 * at);
        }
        requests.push_back(request);
        Sequence sequence;
        sequence.prompt = request.prompt;
        sequence.output = request.output;
        sequences.push_back(sequence);
      }
      const PrefixContents contents{{}, cache.block, requests};
      constexpr std::int64_t kBlocks = 60;
      const EnginePlan plan{.pipeline = 2};
      BatchScheduler scheduler{options, cache, kBlocks, plan, EngineRole::kBoth, 1, sequences, &contents};
      for (RequestId id = 0; id < sequences.size(); ++id) scheduler.submit(id);
      std::size_t done = 0;
      std::int64_t emitted_tokens = 0;
      const auto check = [&] {
        std::int64_t own = 0;
        std::int64_t shared = 0;
        for (const Sequence& sequence : sequences) {
          own += sequence.blocks - sequence.shared;
          shared += sequence.shared;
          ASSERT_GE(sequence.blocks, sequence.shared);
        }
        const std::int64_t used = kBlocks - scheduler.free_blocks();
        ASSERT_GE(scheduler.free_blocks(), 0);
        ASSERT_GE(used, own);
        ASSERT_LE(used, own + shared);
      };
      std::deque<BatchStep> flying;
      const auto land = [&] {
        std::vector<Emitted> emitted;
        scheduler.finish_step(
            flying.front(), [](RequestId) { return std::int64_t{1}; }, emitted);
        flying.pop_front();
        for (const Emitted& each : emitted) {
          emitted_tokens += each.tokens;
          done += each.is_done ? 1 : 0;
        }
        check();
      };
      for (int i = 0; i < 200'000 && done < sequences.size(); ++i) {
        BatchStep step;
        const bool has_step = flying.size() < 2 && scheduler.next_step(step);
        if (has_step) {
          for (const StepItem& item : step.items) ASSERT_GE(item.tokens, 1);
          flying.push_back(step);
          check();
        }
        ASSERT_TRUE(has_step || !flying.empty()) << "nothing can run";
        if (!has_step) land();
      }
      std::int64_t outputs = 0;
      for (const Request& request : requests) outputs += request.output;
      EXPECT_EQ(done, sequences.size());
      EXPECT_EQ(emitted_tokens, outputs);
      EXPECT_EQ(scheduler.free_blocks(), kBlocks);
      EXPECT_GT(scheduler.totals().found_tokens, 0);
      EXPECT_EQ(scheduler.totals().preemptions > 0, preemption != Preemption::kNone);
      if (preemption == Preemption::kNone) {
        EXPECT_EQ(scheduler.totals().prefill_tokens + scheduler.totals().found_tokens, scheduler.totals().prompt_tokens);
      }
    }
  }
}

}  // namespace
}  // namespace weft::work::test
