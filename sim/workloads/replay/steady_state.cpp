// Iterations that repeat are not run again.
//
// Once every rank has ended another iteration, at the first event of the replay at which the fabric is idle, the state of all
// that the rest of the run depends on is taken, with times from now: ranks, meetings and pending events. The machine has no
// other state: an idle fabric is as good as new, and prices of calls, routes and turns on links are the same whenever they are
// asked for. So where a state equals an earlier one, what follows is what followed then, later by the time between the two,
// until a rank ends its last iteration. What lies between is left out as often as leaves every rank an iteration to begin; the
// times of those left out are copies, and what links counted is counted again.
//
// States are compared by their digests of 64 bits, each with that of look 1, 2, 4, 8... before it (Brent 1980), which finds a
// period of any number of iterations, such as that of checkpoints. Nothing is skipped where kernels' durations are drawn, where
// storage in the background never lets the fabric idle, or where states differ, be it by a picosecond.
#include <algorithm>
#include <bit>

#include "sim/workloads/replay/replay_state.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {
namespace {

void add_double(Digest& digest, double value) { digest.add(std::bit_cast<std::uint64_t>(value)); }

void add_times(Digest& digest, const RankTimes& times) {
  digest.add(times.compute).add(times.tensor).add(times.tensor_beside).add(times.skew).add(times.bubble).add(times.idle);
  for (const Duration each : times.busy) digest.add(each);
  for (const Duration each : times.exposed) digest.add(each);
}

// Lists a whole run by iteration: what was run, with what was skipped put in by `repeat`, and the rest by `later`.
template <class T, class Repeat, class Later>
std::vector<T> with_skipped(const std::vector<T>& run, std::size_t after, int skipped, Repeat repeat, Later later) {
  const auto cut = run.begin() + static_cast<std::ptrdiff_t>(after);
  std::vector<T> whole{run.begin(), cut};
  for (int i = 0; i < skipped; ++i) whole.push_back(repeat(whole));
  std::transform(cut, run.end(), std::back_inserter(whole), later);
  return whole;
}

}  // namespace

void RankState::add_to(Digest& digest, Time now) const {
  for (const Operation& op : program->operations) {
    if (op.every > 1) digest.add(iteration_ends.size() % op.every);
    if (op.every == 0) digest.add(iteration_ends.empty());
  }
  for (const StreamState& stream : streams) {
    // A wake-up that has been is none.
    digest.add(stream.next).add(stream.busy).add(stream.background).add(std::max(stream.woken_for, now) - now);
  }
  for (OpIndex op = 0; op < program->operations.size(); ++op) {
    const auto& [start, ready, end, cause] = timing[op];
    digest.add(start - now).add(ready - now).add(cause.state).add(cause.op);
    digest.add(is_done(op) ? end - now : Duration::max());
  }
  digest.add(remaining).add(segment).add(host_base - now).add(host_busy);
  for (const RunningKernel& kernel : kernels) {
    digest.add(kernel.op).add(kernel.since - now).add(kernel.has_second_wave).add(kernel.holds_gpu).add(kernel.drained);
    for (const double value : {kernel.alone_ps, kernel.remaining_ps, kernel.speed, kernel.drain_ps}) add_double(digest, value);
  }
  digest.add(kernels.size()).add(fills_gpu).add(held_ctas).add(computing).add(memory_kernels).add(tensor_kernels);
  for (const OpIndex op : draining) digest.add(op);
  for (const FirstStep& step : first_steps) digest.add(step.op).add(step.since - now);
  digest.add(links.idle(now));
  for (const int count : moving) digest.add(count);
  digest.add(draining.size())
      .add(first_steps.size())
      .add(waiting_collectives)
      .add(waiting_messages)
      .add(began - now)
      .add(changed - now);
  digest.add(bytes).add(peak_bytes);
  add_times(digest, times);
  add_times(digest, last);
}

void Replayer::look_for_repetition(std::uint64_t event) {
  std::size_t least = states_.front().iteration_ends.size();
  std::size_t most = least;
  for (const auto& rank : states_) {
    least = std::min(least, rank.iteration_ends.size());
    most = std::max(most, rank.iteration_ends.size());
  }
  boundary_ = least;
  ranks_behind_ = static_cast<std::size_t>(
      std::ranges::count_if(states_, [&](const auto& rank) { return rank.iteration_ends.size() == least; }));
  // The one that a rank is in may have begun, and who hears of the last one hears of all of it.
  const std::int64_t to_skip = options_.iterations - static_cast<std::int64_t>(most) - 2;
  looks_ = to_skip > 0;
  if (!looks_) return;

  const std::uint64_t state = state_digest(event);
  const Time now = machine_.simulator.now();
  if (looks_so_far_ > 0 && state == mark_.state) {
    looks_ = false;
    skip_.iterations = static_cast<int>(least - mark_.iterations);
    skip_.times = to_skip / skip_.iterations;
    skip_.period = now - mark_.at;
    for (const auto& rank : states_) {
      skip_.after.push_back(rank.iteration_ends.size());
      operations_total_ -= static_cast<std::uint64_t>(skipped()) * rank.program->operations.size();
    }
    machine_.fabric.repeat_counted(skip_.times);
    return;
  }
  if (std::has_single_bit(++looks_so_far_)) {
    mark_ = {state, now, least};
    machine_.fabric.mark_counters();
  }
}

// `event`: the payload of the one that is about to run.
std::uint64_t Replayer::state_digest(std::uint64_t event) const {
  const Time now = machine_.simulator.now();
  Digest digest;
  for (const auto& rank : states_) {
    digest.add(rank.iteration_ends.size() - boundary_);
    rank.add_to(digest, now);
  }
  const auto add_meeting = [&](const Meeting& meeting) {
    digest.add(meeting.calls.size());
    for (const std::vector<Member>& members : meeting.calls) {
      digest.add(members.size());
      for (const Member& member : members) digest.add(member.state).add(member.op);
    }
  };
  for (const auto& group : groups_) {
    if (group != nullptr) add_meeting(*group);
  }
  for (const auto& [ends, pair] : pairs_) add_meeting(*pair);
  add_event(digest, event);
  for (const Event& pending : machine_.simulator.pending_events()) {
    digest.add(pending.time - now).add(pending.order >> kSequenceBits);  // phase and source
    // Other targets have timers of the idle fabric only, which do nothing.
    if (pending.target == this) add_event(digest, pending.payload);
  }
  return digest.value();
}

std::vector<Time> Replayer::whole_ends(std::size_t state) const {
  const std::vector<Time>& run = states_[state].iteration_ends;
  if (skip_.after.empty()) return run;
  return with_skipped(
      run, skip_.after[state], skipped(),
      [&](const std::vector<Time>& whole) { return *(whole.end() - skip_.iterations) + skip_.period; },
      [&](Time end) { return in_whole_run(end); });
}

std::vector<std::uint64_t> Replayer::whole_digests(std::size_t state) const {
  const std::vector<std::uint64_t>& run = states_[state].digests;
  if (skip_.after.empty()) return run;
  return with_skipped(
      run, skip_.after[state], skipped(),
      [&](const std::vector<std::uint64_t>& whole) { return *(whole.end() - skip_.iterations); },
      [](std::uint64_t digest) { return digest; });
}

}  // namespace weft::work
