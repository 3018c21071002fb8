#include "tests/support/pipeline_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "sim/core/error.h"

namespace weft::work {
namespace {

constexpr Time kNotYet = Time::max();

// A chunk of a stage and its neighbours in the model.
struct Chunk {
  int stage = 0;
  int position = 0;
  std::optional<std::size_t> before;  // index of the chunk one position earlier
  std::optional<std::size_t> after;
};

// Ends of one microbatch's passes through one chunk.
struct Ends {
  Time forward = kNotYet;
  Time backward = kNotYet;  // full, or of inputs
};

class Evaluation {
 public:
  Evaluation(const PipelineSchedule& schedule, const PipelineShape& shape, std::span<const std::vector<PipelineOp>> orders,
             const PipelineCosts& costs)
      : orders_{orders},
        costs_{costs},
        chunks_per_stage_{static_cast<std::size_t>(schedule.chunks(shape))},
        microbatches_{static_cast<std::size_t>(schedule.microbatches(shape))},
        next_(orders.size(), 0) {
    WEFT_CHECK(orders.size() == static_cast<std::size_t>(shape.stages));
    result_.stages.resize(orders.size());
    link_chunks(schedule, shape);
    WEFT_CHECK(costs.passes.size() == 1 ||
               costs.passes.size() == static_cast<std::size_t>(schedule.place(shape, 0, 0).positions));
    ends_.resize(chunks_.size() * microbatches_);
  }

  PipelineTiming run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t stage = 0; stage < orders_.size(); ++stage) {
        while (step(stage)) progress = true;
      }
    }
    for (std::size_t stage = 0; stage < orders_.size(); ++stage) finish(stage);
    return std::move(result_);
  }

 private:
  void link_chunks(const PipelineSchedule& schedule, const PipelineShape& shape) {
    const auto index = [&](int position, int chunk) {
      return static_cast<std::size_t>(schedule.stage_at(shape, position, chunk)) * chunks_per_stage_ +
             static_cast<std::size_t>(schedule.chunk_at(shape, position, chunk));
    };
    for (int stage = 0; stage < shape.stages; ++stage) {
      for (int c = 0; c < schedule.chunks(shape); ++c) {
        const ChunkPlace place = schedule.place(shape, stage, c);
        Chunk& chunk = chunks_.emplace_back(Chunk{.stage = stage, .position = place.position, .before = {}, .after = {}});
        if (place.position > 0) chunk.before = index(place.position - 1, c);
        if (place.position + 1 < place.positions) chunk.after = index(place.position + 1, c);
      }
    }
  }

  [[nodiscard]] std::size_t chunk_of(std::size_t stage, const PipelineOp& op) const {
    WEFT_CHECK(op.chunk >= 0 && static_cast<std::size_t>(op.chunk) < chunks_per_stage_);
    return stage * chunks_per_stage_ + static_cast<std::size_t>(op.chunk);
  }
  [[nodiscard]] Ends& ends(std::size_t chunk, const PipelineOp& op) {
    WEFT_CHECK(op.microbatch >= 0 && static_cast<std::size_t>(op.microbatch) < microbatches_);
    return ends_[chunk * microbatches_ + static_cast<std::size_t>(op.microbatch)];
  }

  // When what `of` made at its end has reached `chunk`.
  [[nodiscard]] Time arrival(Time end, std::size_t of, std::size_t chunk) const {
    return end == kNotYet || chunks_[of].stage == chunks_[chunk].stage ? end : end + costs_.p2p;
  }

  // When all that the op waits for is there; kNotYet: not known yet.
  [[nodiscard]] Time ready(std::size_t stage, const PipelineOp& op) {
    const std::size_t at = chunk_of(stage, op);
    const Chunk& chunk = chunks_[at];
    const Ends& own = ends(at, op);
    switch (op.pass) {
      case PipelinePass::kForward:
        return chunk.before ? arrival(ends(*chunk.before, op).forward, *chunk.before, at) : Time{};
      case PipelinePass::kBackward:
      case PipelinePass::kBackwardInput:
        return chunk.after ? std::max(own.forward, arrival(ends(*chunk.after, op).backward, *chunk.after, at)) : own.forward;
      case PipelinePass::kBackwardWeight:
        return own.backward;
    }
    return kNotYet;
  }

  [[nodiscard]] const PassTimes& times(std::size_t stage, const PipelineOp& op) const {
    if (costs_.passes.size() == 1) return costs_.passes[0];
    return costs_.passes[static_cast<std::size_t>(chunks_[chunk_of(stage, op)].position)];
  }

  [[nodiscard]] Duration duration(std::size_t stage, const PipelineOp& op) const {
    const PassTimes& of = times(stage, op);
    switch (op.pass) {
      case PipelinePass::kForward:
        return of.forward;
      case PipelinePass::kBackward:
        return of.backward_input + of.backward_weight;
      case PipelinePass::kBackwardInput:
        return of.backward_input;
      case PipelinePass::kBackwardWeight:
        return of.backward_weight;
    }
    return {};
  }

  // The next op of the stage, or the two that run together.
  [[nodiscard]] std::span<const PipelineOp> upcoming(std::size_t stage) const {
    const std::vector<PipelineOp>& order = orders_[stage];
    const std::size_t next = next_[stage];
    if (next == order.size()) return {};
    const std::size_t count = order[next].with_next ? 2 : 1;
    WEFT_CHECK(next + count <= order.size());
    return std::span{order}.subspan(next, count);
  }

  [[nodiscard]] Duration duration_of(std::size_t stage, std::span<const PipelineOp> ops) const {
    if (ops.size() == 1) return duration(stage, ops[0]);
    const Duration overlapped = times(stage, ops[0]).overlapped;
    return overlapped > Duration{} ? overlapped : duration(stage, ops[0]) + duration(stage, ops[1]);
  }

  // Runs what comes next on the stage; false: nothing does, or it is not ready.
  bool step(std::size_t stage) {
    const std::span<const PipelineOp> ops = upcoming(stage);
    if (ops.empty()) return false;
    StageTiming& timing = result_.stages[stage];
    Time start = timing.last_end;
    for (const PipelineOp& op : ops) start = std::max(start, ready(stage, op));
    if (start == kNotYet) return false;
    const Duration taken = duration_of(stage, ops);
    if (next_[stage] == 0) timing.first_start = start;
    timing.last_end = start + taken;
    timing.busy += taken;
    for (const PipelineOp& op : ops) {
      Ends& made = ends(chunk_of(stage, op), op);
      if (op.pass == PipelinePass::kForward) {
        made.forward = timing.last_end;
      } else if (op.pass != PipelinePass::kBackwardWeight) {
        made.backward = timing.last_end;
      }
    }
    next_[stage] += ops.size();
    return true;
  }

  void finish(std::size_t stage) {
    StageTiming& timing = result_.stages[stage];
    int in_flight = 0;
    for (std::size_t i = 0; i < next_[stage]; ++i) {
      const PipelinePass pass = orders_[stage][i].pass;
      if (pass == PipelinePass::kForward) timing.peak_in_flight = std::max(timing.peak_in_flight, ++in_flight);
      if (pass == PipelinePass::kBackward || pass == PipelinePass::kBackwardWeight) --in_flight;
    }
    result_.makespan = std::max(result_.makespan, timing.last_end.since_start());
    if (next_[stage] == orders_[stage].size() || !result_.deadlock.empty()) return;
    result_.deadlock = fmt::format("stage {} waits for ever at {}, op {} of {}", stage, waiting_op(stage), next_[stage] + 1,
                                   orders_[stage].size());
  }

  [[nodiscard]] std::string waiting_op(std::size_t stage) {
    for (const PipelineOp& op : upcoming(stage)) {
      if (ready(stage, op) == kNotYet) return to_string(op);
    }
    return {};
  }

  std::span<const std::vector<PipelineOp>> orders_;
  const PipelineCosts& costs_;
  std::size_t chunks_per_stage_;
  std::size_t microbatches_;
  std::vector<Chunk> chunks_;      // stage by stage
  std::vector<Ends> ends_;         // chunk by chunk
  std::vector<std::size_t> next_;  // by stage: ops done
  PipelineTiming result_;
};

}  // namespace

double PipelineTiming::bubble_fraction() const {
  Duration busy;
  for (const StageTiming& stage : stages) busy += stage.busy;
  const Duration all = makespan * static_cast<std::int64_t>(stages.size());
  return static_cast<double>((all - busy).ps()) / static_cast<double>(busy.ps());
}

Duration PipelineTiming::longest_span() const {
  Duration longest;
  for (const StageTiming& stage : stages) longest = std::max(longest, stage.last_end - stage.first_start);
  return longest;
}

PipelineTiming time_pipeline(const PipelineSchedule& schedule, const PipelineShape& shape, const PipelineCosts& costs) {
  std::vector<std::vector<PipelineOp>> orders;
  for (int stage = 0; stage < shape.stages; ++stage) orders.push_back(schedule.order(shape, stage));
  return time_orders(schedule, shape, orders, costs);
}

PipelineTiming time_orders(const PipelineSchedule& schedule, const PipelineShape& shape,
                           std::span<const std::vector<PipelineOp>> orders, const PipelineCosts& costs) {
  return Evaluation{schedule, shape, orders, costs}.run();
}

std::string to_string(const PipelineOp& op) {
  constexpr std::string_view kLetters = "FBbW";
  const char letter = kLetters[static_cast<std::size_t>(op.pass)];
  return op.chunk == 0 ? fmt::format("{}{}", letter, op.microbatch) : fmt::format("{}{}.{}", letter, op.microbatch, op.chunk);
}

}  // namespace weft::work
