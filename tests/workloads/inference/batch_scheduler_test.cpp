#include "sim/workloads/inference/batch_scheduler.h"

#include <gtest/gtest.h>

namespace weft::work {
namespace {

class BatchSchedulerTest : public ::testing::Test {
 protected:
  void add(std::int64_t prompt, std::int64_t output) {
    Sequence sequence;
    sequence.prompt = prompt;
    sequence.output = output;
    sequences_.push_back(sequence);
  }
  BatchScheduler scheduler(std::int64_t blocks, EngineRole role = EngineRole::kBoth) {
    BatchScheduler made{options_, {}, blocks, plan_, role, 1, sequences_};
    for (RequestId id = 0; role != EngineRole::kDecode && id < sequences_.size(); ++id) made.submit(id);
    return made;
  }
  // One step, which gives each decoding sequence one token.
  static std::vector<Emitted> run(BatchScheduler& scheduler, BatchStep& step) {
    std::vector<Emitted> emitted;
    EXPECT_TRUE(scheduler.next_step(step));
    scheduler.finish_step(
        step, [](RequestId) { return std::int64_t{1}; }, emitted);
    return emitted;
  }

  std::vector<Sequence> sequences_;
  SchedulerOptions options_;
  EnginePlan plan_;
  BatchStep step_;
};

TEST_F(BatchSchedulerTest, PromptsShareTheBudgetInPieces) {
  options_.token_budget = 100;
  add(150, 2);
  add(70, 2);
  BatchScheduler scheduler = this->scheduler(1000);
  EXPECT_TRUE(run(scheduler, step_).empty());
  EXPECT_EQ(step_.mix.prefill_tokens(), 100) << "of the first prompt";
  EXPECT_EQ(run(scheduler, step_).size(), 1U) << "the first prompt is done, and has its first token";
  ASSERT_EQ(step_.mix.prefills.size(), 2U);
  EXPECT_EQ(step_.mix.prefills[0].tokens, 50);
  EXPECT_EQ(step_.mix.prefills[0].context, 100);
  EXPECT_EQ(step_.mix.prefills[1].tokens, 50);
  EXPECT_EQ(step_.mix.samples, 1);
  EXPECT_EQ(run(scheduler, step_).size(), 2U) << "the last token of the first, and the first of the second";
  EXPECT_EQ(step_.mix.decodes, 1);
  EXPECT_EQ(step_.mix.decode_context, 150);
  EXPECT_EQ(step_.mix.prefill_tokens(), 20);
}

TEST_F(BatchSchedulerTest, APromptsPieceIsAsLongBesideAnyNumberOfAnswers) {
  options_.prefill_tokens = 100;
  add(100, 9);
  add(150, 9);
  BatchScheduler scheduler = this->scheduler(1000);
  for (const std::int64_t piece : {100, 100, 50}) {
    static_cast<void>(run(scheduler, step_));
    EXPECT_EQ(step_.mix.prefill_tokens(), piece);
  }
  EXPECT_EQ(step_.mix.decodes, 1) << "the first prompt's answer runs beside";
}

TEST_F(BatchSchedulerTest, WholePromptsGoFirstAndStopDecoding) {
  options_.token_budget = 100;
  options_.chunked_prefill = false;
  add(60, 3);
  add(60, 3);
  add(150, 3);
  BatchScheduler scheduler = this->scheduler(1000);
  for (const std::int64_t tokens : {60, 60, 150}) {
    run(scheduler, step_);
    EXPECT_EQ(step_.mix.prefill_tokens(), tokens) << "two of 60 pass 100; one longer than the budget goes alone";
    EXPECT_EQ(step_.mix.decodes, 0);
  }
  run(scheduler, step_);
  EXPECT_EQ(step_.mix.decodes, 3);
}

TEST_F(BatchSchedulerTest, TheBatchTakesNoMoreThanItsLimit) {
  options_.max_batch = 2;
  for (int i = 0; i < 3; ++i) add(16, 2);
  BatchScheduler scheduler = this->scheduler(1000);
  run(scheduler, step_);
  EXPECT_EQ(step_.items.size(), 2U);
  EXPECT_EQ(scheduler.waiting(), 1U);
  run(scheduler, step_);
  EXPECT_EQ(step_.items.size(), 2U) << "no room until these are done";
  run(scheduler, step_);
  ASSERT_EQ(step_.items.size(), 1U);
  EXPECT_EQ(step_.items[0].request, 2U);
}

TEST_F(BatchSchedulerTest, TheLastAdmittedGivesUpItsBlocksAndIsComputedAnew) {
  // Two prompts of 16 tokens fill a block each of three; the second token of each needs another one.
  add(16, 3);
  add(16, 3);
  BatchScheduler scheduler = this->scheduler(3);
  EXPECT_EQ(run(scheduler, step_).size(), 2U);
  EXPECT_EQ(scheduler.free_blocks(), 1);
  run(scheduler, step_);
  EXPECT_EQ(step_.mix.decodes, 1) << "the first takes the third block, and the second waits";
  EXPECT_EQ(scheduler.totals().preemptions, 1);
  EXPECT_EQ(sequences_[1].preemptions, 1);
  EXPECT_EQ(sequences_[1].cached, 0);
  EXPECT_EQ(sequences_[1].to_prefill, 17) << "prompt and the token that it had";
  for (int i = 0; i < 20 && sequences_[1].state != SequenceState::kDone; ++i) run(scheduler, step_);
  EXPECT_EQ(sequences_[1].generated, 3);
  EXPECT_EQ(scheduler.free_blocks(), 3);
  EXPECT_EQ(scheduler.totals().prefill_tokens, 16 + 16 + 17);
}

TEST_F(BatchSchedulerTest, SwappedSequencesComeBackWithTheirCache) {
  options_.preemption = Preemption::kSwap;
  add(16, 3);
  add(16, 3);
  BatchScheduler scheduler = this->scheduler(3);
  run(scheduler, step_);
  run(scheduler, step_);
  EXPECT_EQ(step_.mix.swapped_tokens, 16);
  EXPECT_EQ(sequences_[1].cached, 16);
  for (int i = 0; i < 20 && sequences_[1].state != SequenceState::kDone; ++i) run(scheduler, step_);
  EXPECT_EQ(scheduler.totals().prefill_tokens, 32) << "nothing is computed twice";
  EXPECT_EQ(scheduler.totals().swapped_tokens, 32) << "out and in";
  EXPECT_EQ(scheduler.free_blocks(), 3);
}

TEST_F(BatchSchedulerTest, WithoutPreemptionWhatStartsHasRoomToItsEnd) {
  options_.preemption = Preemption::kNone;
  // Each ends with 33 tokens in the cache, three blocks of 16: two of them fill six of seven.
  for (int i = 0; i < 3; ++i) add(30, 4);
  BatchScheduler scheduler = this->scheduler(7);
  EXPECT_EQ(run(scheduler, step_).size(), 2U);
  EXPECT_EQ(scheduler.free_blocks(), 3) << "the third prompt would find its two blocks, and not its last";
  EXPECT_EQ(scheduler.waiting(), 1U);
  for (int i = 0; i < 20 && sequences_[2].state != SequenceState::kDone; ++i) run(scheduler, step_);
  EXPECT_EQ(sequences_[2].generated, 4);
  EXPECT_EQ(scheduler.totals().preemptions, 0);
  EXPECT_EQ(scheduler.totals().prefill_tokens, 90) << "nothing is computed twice";
  EXPECT_EQ(scheduler.free_blocks(), 7);
}

TEST_F(BatchSchedulerTest, StagesShareTheDecodingSequences) {
  plan_.pipeline = 2;
  for (int i = 0; i < 4; ++i) add(16, 4);
  BatchScheduler scheduler = this->scheduler(1000);
  run(scheduler, step_);
  BatchStep first;
  BatchStep second;
  BatchStep third;
  EXPECT_TRUE(scheduler.next_step(first));
  EXPECT_TRUE(scheduler.next_step(second));
  EXPECT_FALSE(scheduler.next_step(third)) << "all are in flight";
  EXPECT_EQ(first.mix.decodes, 2);
  EXPECT_EQ(second.mix.decodes, 2);
}

TEST_F(BatchSchedulerTest, AnEngineThatDecodesOnlyReservesBeforeTheCacheComes) {
  add(16, 2);
  add(32, 2);
  BatchScheduler scheduler = this->scheduler(4, EngineRole::kDecode);
  EXPECT_TRUE(scheduler.reserve(0));
  EXPECT_EQ(scheduler.free_blocks(), 2) << "the prompt's block and one for the next token";
  EXPECT_FALSE(scheduler.reserve(1)) << "three blocks";
  EXPECT_FALSE(scheduler.next_step(step_)) << "the cache is not there yet";
  scheduler.activate(0);
  EXPECT_EQ(run(scheduler, step_).size(), 1U);
  EXPECT_TRUE(run(scheduler, step_).at(0).is_done);
  EXPECT_TRUE(scheduler.reserve(1));
}

}  // namespace
}  // namespace weft::work
