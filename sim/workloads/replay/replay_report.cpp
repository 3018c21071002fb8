// Reports a replay: results, the critical path, and who waits for whom where it stopped.
#include <fmt/format.h>

#include <algorithm>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/workloads/replay/replay_state.h"
#include "sim/workloads/replay/replayer.h"

namespace weft::work {
namespace {

constexpr std::size_t kMostRanksNamed = 8;

std::string operation_text(const RankState& rank, OpIndex index) {
  const Operation& op = rank.program->operations[index];
  std::string text = fmt::format("'{}'", rank.program->names[op.name]);
  if (op.microbatch >= 0) text += fmt::format(" of microbatch {}", op.microbatch);
  if (op.layer >= 0) text += fmt::format(" of layer {}", op.layer);
  return text;
}

}  // namespace

std::string Replayer::blocked() const {
  std::string text;
  std::size_t named = 0;
  for (const RankState& rank : states_) {
    if (static_cast<int>(rank.iteration_ends.size()) == iterations_to_run()) continue;
    if (++named > kMostRanksNamed) continue;
    for (std::size_t s = 0; s < rank.streams.size(); ++s) {
      const StreamState& stream = rank.streams[s];
      if (stream.next >= rank.layout->streams[s].size()) continue;
      const OpIndex index = rank.layout->streams[s][stream.next];
      const Operation& op = rank.program->operations[index];
      text += fmt::format("  rank {}, stream {}: {}", rank.rank, rank.program->streams[s], operation_text(rank, index));
      if (stream.busy && op.kind == OpKind::kCollective) {
        const std::uint32_t id = rank.table->groups[op.slot];
        const Meeting& meeting = *groups_[id];
        text += fmt::format(" waits in group '{}' for ranks", meeting.name);
        for (const Rank member : program_.groups[id].ranks) {
          const std::uint32_t its = state_of_[static_cast<std::size_t>(member)];
          const bool there = !meeting.calls.empty() &&
                             std::ranges::any_of(meeting.calls.front(), [&](const Member& m) { return m.state == its; });
          if (!there) text += fmt::format(" {}", member);
        }
      } else if (stream.busy && is_message(op.kind)) {
        text +=
            fmt::format(" waits for rank {} to {}", rank.table->peers[op.slot], op.kind == OpKind::kSend ? "receive" : "send");
      } else {
        for (const OpIndex wait : rank.program->waits_of(op)) {
          if (!rank.is_done(wait)) {
            text += fmt::format(" waits for {}", operation_text(rank, wait));
            break;
          }
        }
      }
      text += '\n';
    }
  }
  if (named > kMostRanksNamed) text += fmt::format("  and {} ranks more\n", named - kMostRanksNamed);
  return text;
}

void Replayer::check_finished() const {
  if (finished() || machine_.simulator.stopped()) return;
  throw ConfigError("the program deadlocks:\n" + blocked());
}

ReplayResult Replayer::result() const {
  ReplayResult result;
  Digest digest;
  std::vector<Time> ends;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const RankState& rank = states_[s];
    std::vector<Time> its = whole_ends(s);
    for (const Time end : its) digest.add(end);
    for (const std::uint64_t each : whole_digests(s)) digest.add(each);
    ends.resize(s == 0 ? its.size() : std::min(ends.size(), its.size()));
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = std::max(ends[i], its[i]);
    result.ranks.push_back({.rank = rank.rank,
                            .iteration_ends = std::move(its),
                            .last = rank.last,
                            .peak_bytes = rank.program->resident.total() + rank.peak_bytes});
  }
  Time begin = options_.start;
  for (const Time end : ends) {
    result.iterations.push_back(end - begin);
    begin = end;
  }
  result.skipped = skipped();
  result.critical = critical_path();
  result.operations = operations_done_;
  result.digest = digest.value();
  return result;
}

// From the operation that ended last, each time to what it waited for last.
std::vector<CriticalStep> Replayer::critical_path() const {
  Cause at;
  Time last;
  for (std::uint32_t s = 0; s < states_.size(); ++s) {
    const RankState& rank = states_[s];
    // Nothing of it ended later than it did.
    if (at.op != kNoOp && rank.remaining == 0 && rank.iteration_ends.back() <= last) continue;
    for (OpIndex i = 0; i < rank.program->operations.size(); ++i) {
      if (rank.is_done(i) && rank.timing[i].end >= last && (at.op == kNoOp || rank.timing[i].end > last)) {
        last = rank.timing[i].end;
        at = {s, i};
      }
    }
  }
  std::vector<CriticalStep> path;
  while (at.op != kNoOp) {
    const RankState& rank = states_[at.state];
    const OperationTiming& operation = rank.timing[at.op];
    if (!path.empty() && in_whole_run(operation.end) > path.back().end) break;
    path.push_back(
        {.rank = rank.rank, .op = at.op, .start = in_whole_run(operation.ready), .end = in_whole_run(operation.end)});
    at = operation.cause;
  }
  return path;
}

}  // namespace weft::work
