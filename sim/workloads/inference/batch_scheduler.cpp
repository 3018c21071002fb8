#include "sim/workloads/inference/batch_scheduler.h"

#include <algorithm>

#include "sim/core/error.h"

namespace weft::work {
namespace {

// One block in this many is left to sequences that run when others are admitted (vLLM's watermark).
constexpr std::int64_t kWatermark = 100;

}  // namespace

std::string_view to_string(EngineRole role) {
  switch (role) {
    case EngineRole::kPrefill:
      return "prefill";
    case EngineRole::kDecode:
      return "decode";
    case EngineRole::kBoth:
      break;
  }
  return "both";
}

BatchScheduler::BatchScheduler(const SchedulerOptions& options, const KvCacheOptions& cache, std::int64_t blocks,
                               const EnginePlan& plan, EngineRole role, std::int64_t tokens_per_decode,
                               std::vector<Sequence>& sequences, const PrefixContents* contents)
    : options_{options},
      cache_{cache},
      blocks_{blocks},
      free_blocks_{blocks},
      kept_free_{blocks / kWatermark},
      pipeline_{plan.pipeline},
      role_{role},
      tokens_per_decode_{tokens_per_decode},
      sequences_{sequences},
      contents_{contents} {
  if (contents != nullptr) prefixes_.emplace();
}

void BatchScheduler::submit(RequestId request) {
  Sequence& sequence = sequences_[request];
  sequence.to_prefill = sequence.prompt;
  waiting_.push_back(request);
}

bool BatchScheduler::grow(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t more = blocks_for(tokens) - sequence.blocks;
  if (more <= 0) return true;
  if (more > free_blocks_) {
    const std::int64_t missing = more - free_blocks_;
    if (!prefixes_ || missing > prefixes_->unused()) return false;
    prefixes_->evict(missing);
    free_blocks_ += missing;
  }
  free_blocks_ -= more;
  sequence.blocks += more;
  return true;
}

BatchScheduler::Hit BatchScheduler::look_up(RequestId request) const {
  const Sequence& sequence = sequences_[request];
  if (sequence.cached > 0 || sequence.is_swapped) return {};
  // The last token gives the next one, so that it is computed.
  const std::int64_t most = (std::max(sequence.to_prefill, sequence.prompt) - 1) / cache_.block;
  if (sequence.stated_hit > 0) return {.tokens = std::min(sequence.stated_hit, most * cache_.block)};
  if (!prefixes_) return {};
  const PrefixCache::Found found = prefixes_->find(contents_->of(request), most);
  return {found.blocks * cache_.block, found.blocks, found.unused};
}

void BatchScheduler::take_hit(RequestId request, const Hit& hit) {
  Sequence& sequence = sequences_[request];
  sequence.cached += hit.tokens;
  if (hit.shared > 0) prefixes_->take(contents_->of(request), hit.shared);
  sequence.blocks += hit.shared;
  sequence.shared += hit.shared;
  shared_ += hit.shared;
  if (sequence.was_admitted) return;
  sequence.was_admitted = true;
  sequence.found = hit.tokens;
  totals_.prompt_tokens += sequence.prompt;
  totals_.found_tokens += hit.tokens;
}

void BatchScheduler::share(RequestId request, std::int64_t tokens) {
  Sequence& sequence = sequences_[request];
  const std::int64_t blocks = tokens / cache_.block;
  if (!prefixes_ || blocks <= sequence.shared) return;
  free_blocks_ += prefixes_->extend(contents_->of(request), sequence.shared, blocks);
  shared_ += blocks - sequence.shared;
  sequence.shared = blocks;
}

// Others may meet again what is cached of it.
void BatchScheduler::give_up_blocks(RequestId request) {
  Sequence& sequence = sequences_[request];
  if (sequence.blocks > 0) {
    promised_ -= blocks_at_end(sequence);
    share(request, sequence.cached);
  }
  if (sequence.shared > 0) prefixes_->leave(contents_->of(request), sequence.shared);
  free_blocks_ += sequence.blocks - sequence.shared;
  shared_ -= sequence.shared;
  sequence.blocks = 0;
  sequence.shared = 0;
  WEFT_CHECK(free_blocks() <= blocks_);
}

void BatchScheduler::preempt(std::size_t position, BatchStep& step) {
  const RequestId request = running_[position];
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(position));
  Sequence& sequence = sequences_[request];
  give_up_blocks(request);
  sequence.state = SequenceState::kWaiting;
  ++sequence.preemptions;
  ++totals_.preemptions;
  if (options_.preemption == Preemption::kSwap) {
    sequence.is_swapped = true;
    step.mix.swapped_tokens += sequence.cached;
    totals_.swapped_tokens += sequence.cached;
  } else {
    sequence.to_prefill = sequence.prompt + sequence.generated;
    sequence.cached = 0;
  }
  waiting_.push_front(request);
}

bool BatchScheduler::grow_or_preempt(std::size_t position, std::int64_t tokens, BatchStep& step) {
  Sequence& sequence = sequences_[running_[position]];
  while (!grow(sequence, tokens)) {
    std::size_t last = running_.size() - 1;
    while (last > position && sequences_[running_[last]].in_step) --last;
    if (last > position) {
      preempt(last, step);
      continue;
    }
    // Only those before it could help, which come first. The first of all waits for what parked sequences hold.
    if (position > 0) preempt(position, step);
    return false;
  }
  return true;
}

void BatchScheduler::add_decode(RequestId request, BatchStep& step) {
  Sequence& sequence = sequences_[request];
  sequence.in_step = true;
  ++step.mix.decodes;
  step.mix.decode_context += sequence.cached;
  step.mix.samples += tokens_per_decode_;
  step.items.push_back({request, tokens_per_decode_, false});
}

void BatchScheduler::add_prefill(RequestId request, std::int64_t tokens, BatchStep& step) {
  Sequence& sequence = sequences_[request];
  sequence.in_step = true;
  step.mix.prefills.push_back({tokens, sequence.cached});
  if (sequence.cached + tokens == sequence.to_prefill) ++step.mix.samples;
  step.items.push_back({request, tokens, true});
  share(request, sequence.cached + tokens);
}

std::int64_t BatchScheduler::decode_share() const {
  const auto decoding = std::ranges::count_if(running_, [&](RequestId request) { return sequences_[request].decodes(); });
  return (decoding + pipeline_ - 1) / pipeline_;
}

std::int64_t BatchScheduler::add_running(BatchStep& step, std::int64_t budget) {
  const std::int64_t share = decode_share();
  for (std::size_t position = 0; position < running_.size(); ++position) {
    const RequestId request = running_[position];
    const Sequence& sequence = sequences_[request];
    if (sequence.in_step) continue;
    if (sequence.decodes()) {
      if (step.mix.decodes >= share || budget < tokens_per_decode_) continue;
      if (!grow_or_preempt(position, sequence.cached + tokens_per_decode_, step)) continue;
      add_decode(request, step);
      budget -= tokens_per_decode_;
      continue;
    }
    const std::int64_t tokens = std::min({sequence.to_prefill - sequence.cached, budget, prefill_left_});
    if (tokens <= 0 || !grow_or_preempt(position, sequence.cached + tokens, step)) continue;
    add_prefill(request, tokens, step);
    budget -= tokens;
    prefill_left_ -= tokens;
  }
  return budget;
}

std::int64_t BatchScheduler::blocks_at_end(const Sequence& sequence) const {
  // The last step of an answer makes room for all that it may give, beside all tokens but the last two.
  if (role_ == EngineRole::kPrefill) return blocks_for(sequence.prompt);
  return blocks_for(sequence.prompt + std::max<std::int64_t>(0, sequence.output - 2) + tokens_per_decode_);
}

bool BatchScheduler::has_room(const Sequence& sequence, std::int64_t tokens, const Hit& hit) const {
  if (running_.empty() && reserved_ == 0) return true;  // as much as there ever is
  if (options_.preemption == Preemption::kNone) {
    // Shared blocks count once, and beside them what each sequence will have of its own.
    const std::int64_t used = (prefixes_ ? prefixes_->used() : 0) + hit.unused;
    return used + (promised_ - shared_) + (blocks_at_end(sequence) - hit.shared) <= blocks_;
  }
  return blocks_for(tokens) - hit.shared <= free_blocks() - hit.unused - kept_free_;
}

bool BatchScheduler::admit_first(std::int64_t tokens, const Hit& hit) {
  const RequestId request = waiting_.front();
  Sequence& sequence = sequences_[request];
  if (!has_room(sequence, tokens, hit)) return false;
  if (blocks_for(tokens) - hit.shared > free_blocks() - hit.unused) return false;
  take_hit(request, hit);
  const bool has_grown = grow(sequence, tokens);
  WEFT_CHECK(has_grown);
  promised_ += blocks_at_end(sequence);
  sequence.state = SequenceState::kRunning;
  running_.push_back(request);
  waiting_.pop_front();
  return true;
}

void BatchScheduler::admit(BatchStep& step, std::int64_t budget) {
  while (!waiting_.empty() && budget > 0 && !batch_is_full()) {
    const RequestId request = waiting_.front();
    Sequence& sequence = sequences_[request];
    const bool decodes = sequence.is_swapped && sequence.decodes();
    const Hit hit = look_up(request);
    const std::int64_t tokens =
        decodes ? tokens_per_decode_ : std::min({sequence.to_prefill - sequence.cached - hit.tokens, budget, prefill_left_});
    if (tokens <= 0 || tokens > budget || !admit_first(sequence.cached + hit.tokens + tokens, hit)) return;
    if (sequence.is_swapped) {
      sequence.is_swapped = false;
      step.mix.swapped_tokens += sequence.cached;
      totals_.swapped_tokens += sequence.cached;
    }
    if (decodes) {
      add_decode(request, step);
    } else {
      add_prefill(request, tokens, step);
      prefill_left_ -= tokens;
    }
    budget -= tokens;
  }
}

// Prompts as they are: as many as the budget takes, or one that is longer.
void BatchScheduler::admit_whole(BatchStep& step) {
  std::int64_t budget = options_.token_budget;
  while (!waiting_.empty() && !batch_is_full()) {
    const Sequence& sequence = sequences_[waiting_.front()];
    if (sequence.is_swapped) return;
    const RequestId request = waiting_.front();
    const Hit hit = look_up(request);
    const std::int64_t tokens = sequence.to_prefill - hit.tokens;
    if (tokens > budget && !step.items.empty()) return;
    if (!admit_first(sequence.to_prefill, hit)) return;
    add_prefill(request, tokens, step);
    budget -= tokens;
  }
}

bool BatchScheduler::next_step(BatchStep& step) {
  step = {};
  step.mix.tokens_per_decode = tokens_per_decode_;
  prefill_left_ = options_.prefill_tokens > 0 ? options_.prefill_tokens : options_.token_budget;
  if (!options_.chunked_prefill) admit_whole(step);
  if (step.items.empty()) {
    const std::int64_t preempted = totals_.preemptions;
    const std::int64_t budget = add_running(step, options_.token_budget);
    const bool takes_more = options_.chunked_prefill || (!waiting_.empty() && sequences_[waiting_.front()].is_swapped);
    if (takes_more && totals_.preemptions == preempted) admit(step, budget);
  }
  if (step.items.empty()) return false;
  ++totals_.steps;
  return true;
}

bool BatchScheduler::advance(const StepItem& item, std::int64_t accepted, Emitted& emitted) {
  Sequence& sequence = sequences_[item.request];
  sequence.in_step = false;
  if (item.is_prefill) {
    sequence.cached += item.tokens;
    totals_.prefill_tokens += item.tokens;
    if (!sequence.decodes()) return false;
    if (role_ == EngineRole::kPrefill) {
      sequence.state = SequenceState::kParked;
      emitted.is_done = true;
      return true;
    }
    emitted.tokens = 1;
  } else {
    emitted.tokens = std::min(accepted, sequence.output - sequence.generated);
    sequence.cached += emitted.tokens;
    totals_.decode_tokens += emitted.tokens;
  }
  sequence.generated += emitted.tokens;
  if (sequence.generated < sequence.output) return false;
  emitted.is_done = true;
  sequence.state = SequenceState::kDone;
  give_up_blocks(item.request);
  return true;
}

bool BatchScheduler::reserve(RequestId request) {
  Sequence& sequence = sequences_[request];
  if (!waiting_.empty() || batch_is_full()) return false;
  const std::int64_t tokens = sequence.prompt + tokens_per_decode_;
  if (!has_room(sequence, tokens, {}) || !grow(sequence, tokens)) return false;
  promised_ += blocks_at_end(sequence);
  sequence.state = SequenceState::kParked;
  ++reserved_;
  return true;
}

void BatchScheduler::activate(RequestId request) {
  Sequence& sequence = sequences_[request];
  WEFT_CHECK(sequence.state == SequenceState::kParked && reserved_ > 0);
  sequence.to_prefill = sequence.prompt;
  sequence.cached = sequence.prompt;
  sequence.state = SequenceState::kRunning;
  running_.push_back(request);
  --reserved_;
}

void BatchScheduler::release(RequestId request) {
  Sequence& sequence = sequences_[request];
  WEFT_CHECK(sequence.state == SequenceState::kParked);
  sequence.state = SequenceState::kDone;
  give_up_blocks(request);
}

}  // namespace weft::work
