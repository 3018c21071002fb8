// Continuous batching on one engine: which sequences take part in the next step (models/workloads §6). Iteration by iteration,
// as vLLM does: running sequences first, in the order in which they were admitted; then waiting ones, first come first served,
// while there are tokens in the budget, room in the batch and free blocks. Decides only; when things happen is serving.h's.
//
//   scheduler.submit(id);                        // it waits
//   while (scheduler.next_step(step)) {          // false: nothing can run now
//     ...                                        // the step takes StepTimes::of(step.mix)
//     scheduler.finish_step(step, tokens_of, emitted);
//   }
//
// Where no block is free, the sequence admitted last gives up all of its own: it waits in front of all others, to be computed
// anew (recompute) or to be brought back from the host (swap). Or, with none, a sequence is admitted only where the blocks hold
// all that run up to their last tokens.
//
// With prefix caching, a sequence that is admitted finds the leading blocks of it that are held (prefix_cache.h), and computes
// the rest, at least one token. A block is found from the step on that computes it, as in vLLM. What nobody uses counts as
// free.
//
// Model: with p pipeline stages, up to p steps are in flight, and each takes an equal part of the decoding sequences. A stated
// hit rate is of every prompt, and each has blocks of its own for what it finds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/workloads/inference/inference.h"
#include "sim/workloads/inference/prefix_cache.h"
#include "sim/workloads/inference/prefix_contents.h"
#include "sim/workloads/inference/step_mix.h"

namespace weft::work {

using RequestId = std::uint32_t;

enum class SequenceState : std::uint8_t {
  kWaiting,
  kRunning,
  kParked,  // its prompt is cached, and waits to be moved away; or blocks are reserved for it to come
  kDone,
};

struct Sequence {
  SequenceState state = SequenceState::kWaiting;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::int64_t to_prefill = 0;  // tokens to have cached before it decodes
  std::int64_t cached = 0;
  std::int64_t generated = 0;
  std::int64_t blocks = 0;
  std::int64_t shared = 0;      // of these, in the prefix cache: the leading ones
  std::int64_t stated_hit = 0;  // tokens that the cache holds whatever happens
  std::int64_t found = 0;       // tokens of the prompt, in the cache when it was first admitted
  std::int64_t preemptions = 0;
  bool in_step = false;
  bool was_admitted = false;
  bool is_swapped = false;  // its cache is on the host

  [[nodiscard]] bool decodes() const { return cached >= to_prefill; }
};

struct StepItem {
  RequestId request = 0;
  std::int64_t tokens = 0;  // new ones
  bool is_prefill = false;
};

struct BatchStep {
  StepMix mix;
  std::vector<StepItem> items;
};

// Tokens that a step gave a request.
struct Emitted {
  RequestId request = 0;
  std::int64_t tokens = 0;  // 0: a prompt is cached, on an engine that does nothing else
  bool is_done = false;
};

struct SchedulerTotals {
  std::uint64_t steps = 0;
  std::int64_t prefill_tokens = 0;  // computed, those computed again included
  std::int64_t decode_tokens = 0;   // emitted by decoding
  std::int64_t preemptions = 0;
  std::int64_t swapped_tokens = 0;
  std::int64_t prompt_tokens = 0;  // of prompts that were admitted, each once
  std::int64_t found_tokens = 0;   // of these, in the prefix cache

  [[nodiscard]] double hit_rate() const {
    return prompt_tokens > 0 ? static_cast<double>(found_tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

enum class EngineRole : std::uint8_t { kBoth, kPrefill, kDecode };
[[nodiscard]] std::string_view to_string(EngineRole role);  // "both", "prefill", "decode"

class BatchScheduler {
 public:
  // `sequences`: of all requests, by id. `contents`: what they may share; null: nothing. Both must outlive it.
  BatchScheduler(const SchedulerOptions& options, const KvCacheOptions& cache, std::int64_t blocks, const EnginePlan& plan,
                 EngineRole role, std::int64_t tokens_per_decode, std::vector<Sequence>& sequences,
                 const PrefixContents* contents = nullptr);

  // It waits for its prefill.
  void submit(RequestId request);
  [[nodiscard]] bool next_step(BatchStep& step);
  // `accepted(request)`: tokens that the decoding step gave it, 1 to tokens_per_decode.
  template <class Accepted>
  void finish_step(const BatchStep& step, Accepted accepted, std::vector<Emitted>& emitted);

  // kDecode: takes blocks for the prompt, or says that there are too few, or sequences that wait already.
  [[nodiscard]] bool reserve(RequestId request);
  // Its prompt has arrived in the blocks reserved.
  void activate(RequestId request);
  // kPrefill: its prompt has been moved away.
  void release(RequestId request);

  // Tokens of a request that waits, or that may come, which it would not have to compute.
  [[nodiscard]] std::int64_t tokens_found(RequestId request) const { return look_up(request).tokens; }

  // Those that no sequence uses.
  [[nodiscard]] std::int64_t free_blocks() const { return free_blocks_ + cached_blocks(); }
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  // Free ones that hold what may be met again.
  [[nodiscard]] std::int64_t cached_blocks() const { return prefixes_ ? prefixes_->unused() : 0; }
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] const SchedulerTotals& totals() const { return totals_; }

 private:
  // A sequence would find this in the cache.
  struct Hit {
    std::int64_t tokens = 0;
    std::int64_t shared = 0;  // blocks
    std::int64_t unused = 0;  // of these, by others
  };
  [[nodiscard]] Hit look_up(RequestId request) const;
  void take_hit(RequestId request, const Hit& hit);
  // Its blocks up to `tokens` are shared from now on.
  void share(RequestId request, std::int64_t tokens);
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const { return (tokens + cache_.block - 1) / cache_.block; }
  [[nodiscard]] bool batch_is_full() const {
    return static_cast<std::int64_t>(running_.size() + reserved_) >= options_.max_batch;
  }
  // Blocks for `tokens` in all; false: not enough are free, and nothing has changed.
  bool grow(Sequence& sequence, std::int64_t tokens);
  // The same, and the sequences behind `position` in running_ pay for it.
  bool grow_or_preempt(std::size_t position, std::int64_t tokens, BatchStep& step);
  void preempt(std::size_t position, BatchStep& step);
  void add_decode(RequestId request, BatchStep& step);
  void add_prefill(RequestId request, std::int64_t tokens, BatchStep& step);
  // Returns what is left of the budget.
  std::int64_t add_running(BatchStep& step, std::int64_t budget);
  void admit(BatchStep& step, std::int64_t budget);
  // Room for the first in the queue with `tokens` cached, what it finds among them; then it runs.
  bool admit_first(std::int64_t tokens, const Hit& hit);
  void admit_whole(BatchStep& step);
  void give_up_blocks(RequestId request);
  // Blocks that it holds at most.
  [[nodiscard]] std::int64_t blocks_at_end(const Sequence& sequence) const;
  // Whether one that holds no blocks may take those for `tokens`, some of which it finds.
  [[nodiscard]] bool has_room(const Sequence& sequence, std::int64_t tokens, const Hit& hit) const;
  [[nodiscard]] std::int64_t decode_share() const;
  bool advance(const StepItem& item, std::int64_t accepted, Emitted& emitted);  // true: it leaves the batch

  std::int64_t prefill_left_ = 0;  // of the step in the making
  SchedulerOptions options_;
  KvCacheOptions cache_;
  std::int64_t blocks_;
  std::int64_t free_blocks_;  // that hold nothing
  std::int64_t kept_free_;    // by admission, for sequences that run
  int pipeline_;
  EngineRole role_;
  std::int64_t tokens_per_decode_;
  std::vector<Sequence>& sequences_;
  std::vector<RequestId> running_;  // in order of admission
  std::deque<RequestId> waiting_;
  std::size_t reserved_ = 0;   // sequences
  std::int64_t promised_ = 0;  // blocks, at the ends of all that hold some
  std::int64_t shared_ = 0;    // blocks of the prefix cache in use, once for each that uses them
  const PrefixContents* contents_;
  std::optional<PrefixCache> prefixes_;
  SchedulerTotals totals_;
};

template <class Accepted>
void BatchScheduler::finish_step(const BatchStep& step, Accepted accepted, std::vector<Emitted>& emitted) {
  bool any_left = false;
  for (const StepItem& item : step.items) {
    Emitted out{.request = item.request};
    any_left |= advance(item, item.is_prefill ? 0 : accepted(item.request), out);
    if (out.tokens > 0 || out.is_done) emitted.push_back(out);
  }
  if (!any_left) return;
  std::erase_if(running_, [&](RequestId request) { return sequences_[request].state != SequenceState::kRunning; });
}

}  // namespace weft::work
