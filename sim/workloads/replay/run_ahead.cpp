// Kernels that nobody sees end take no events of their own.
//
// A GPU on which one kernel runs and nothing else, no communication, copy or storage, and whose host has nothing pending, hears
// of nobody until that kernel has ended: others reach a rank through its communication only. Where the next operation is a
// kernel of the same stream too, and no other stream or host waits for the end of the first, its start is what happens then and
// all that happens. So it is done at once, with the time that it will be, and so on to the first end that leads to anything
// else. One event is left, at that end. Most kernels of a training step lie between two collectives of the tensor-parallel
// group, three at a time.
//
// Results are those of a run with all events, down to the last bit but for one thing: of events of several ranks at one
// instant, the one that was scheduled first runs first, and these are scheduled earlier than they would be.
#include <algorithm>

#include "sim/workloads/replay/replay_state.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {
namespace {

// One kernel runs, and nothing happens until it ends.
bool runs_alone(const RankState& rank, Time now) {
  if (rank.kernels.size() != 1 || rank.held_ctas != 0 || rank.host_busy) return false;
  int busy = 0;
  for (const StreamState& stream : rank.streams) {
    if (stream.woken_for >= now) return false;
    busy += stream.busy ? 1 : 0;
  }
  return busy == 1;
}

bool waits_for_others(const RankState& rank, const Operation& op, OpIndex ending) {
  return std::ranges::any_of(rank.program->waits_of(op), [&](OpIndex wait) { return wait != ending && !rank.is_done(wait); });
}

// The kernel that starts when this one ends, at `at`; kNoOp where that is not all that happens.
OpIndex follower(const RankState& rank, OpIndex ending, Time at) {
  for (const StreamState& stream : rank.streams) {
    if (stream.blocked_by == ending) return kNoOp;
  }
  const ProgramLayout& layout = *rank.layout;
  const std::vector<Operation>& operations = rank.program->operations;
  const std::vector<OpIndex>& stream = layout.streams[operations[ending].stream];
  const std::size_t place = rank.streams[operations[ending].stream].next + std::size_t{1};
  if (place >= stream.size()) return kNoOp;
  const OpIndex next = stream[place];
  if (operations[next].kind != OpKind::kKernel || layout.segment[next] > rank.segment) return kNoOp;
  if (layout.segment[next] == rank.segment && rank.host_base + layout.issue_offset[next] > at) return kNoOp;
  if (waits_for_others(rank, operations[next], ending)) return kNoOp;
  if (rank.segment < layout.host_operations.size() &&
      !waits_for_others(rank, operations[layout.host_operations[rank.segment]], ending)) {
    return kNoOp;
  }
  return next;
}

}  // namespace

// When the rank's next event is due, which was `at`.
Time Replayer::run_ahead(std::uint32_t state, Time at) {
  RankState& rank = states_[state];
  Time now = machine_.simulator.now();
  if (!runs_alone(rank, now)) return at;
  for (;;) {
    const RunningKernel& kernel = rank.kernels.front();
    const Time end = kernel.end();
    // One that takes no time ends after all else of its instant.
    if (end <= now) return std::max(at, now);
    const OpIndex ending = kernel.op;
    const OpIndex next = follower(rank, ending, end);
    // That it drains before, nobody sees either.
    if (next == kNoOp) return end;
    now = end;
    rank.account(now);
    const Operation& op = rank.program->operations[ending];
    if (kernel.holds_gpu) --rank.fills_gpu;
    if (op.fills_memory) --rank.memory_kernels;
    rank.kernels.clear();
    rank.end_kernel(op);
    rank.finish(ending, now);
    ++operations_done_;
    rank.streams[op.stream].busy = true;
    rank.start(next, now, {state, ending});
    rank.start_kernel(next, now, options_);
    if (rank.program->operations[next].fills_memory) ++rank.memory_kernels;
    at = now;
  }
}

}  // namespace weft::work
