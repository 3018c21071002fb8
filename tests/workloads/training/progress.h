// Whether a program can run to its end: streams in order, collectives when all members have come to them in the order they
// issue them, messages when both ends are there. Nothing takes time.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/workloads/program.h"

namespace weft::work::test {

class Progress {
 public:
  explicit Progress(const Program& program) : program_{program} {
    for (std::size_t r = 0; r < program.ranks.size(); ++r) {
      const RankProgram& own = program.program_of(static_cast<Rank>(r));
      State state;
      state.streams.resize(own.streams.size());
      state.done.resize(own.operations.size(), false);
      for (OpIndex i = 0; i < own.operations.size(); ++i) {
        const Operation& op = own.operations[i];
        state.streams[op.stream].push_back(i);
        if (op.kind == OpKind::kCollective) state.calls[op.slot].push_back(i);
        if (op.kind == OpKind::kSend || op.kind == OpKind::kReceive) state.messages[key_of(r, op)].push_back(i);
      }
      ranks_.push_back(std::move(state));
    }
  }

  // Where it stops: "" at its end, or the operation that rank 0, or the first that is stuck, waits at.
  std::string run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        for (auto& stream : ranks_[r].streams) {
          while (!stream.empty() && try_finish(r, stream.front())) moved = true;
        }
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const auto& stream : ranks_[r].streams) {
        if (stream.empty()) continue;
        const RankProgram& own = program_.program_of(static_cast<Rank>(r));
        const Operation& op = own.operations[stream.front()];
        return "rank " + std::to_string(r) + " stream " + own.streams[op.stream] + ": " + own.names[op.name] + ", microbatch " +
               std::to_string(op.microbatch);
      }
    }
    return {};
  }

 private:
  using MessageKey = std::tuple<std::size_t, std::size_t, int>;  // from, to, tag
  struct State {
    std::vector<std::deque<OpIndex>> streams;
    std::vector<bool> done;
    std::map<std::uint16_t, std::deque<OpIndex>> calls;  // by group slot, in order of issue
    std::map<MessageKey, std::deque<OpIndex>> messages;  // of either end
  };

  MessageKey key_of(std::size_t rank, const Operation& op) const {
    const auto peer = static_cast<std::size_t>(program_.ranks[rank].peers[op.slot]);
    return op.kind == OpKind::kSend ? MessageKey{rank, peer, op.tag} : MessageKey{peer, rank, op.tag};
  }
  // At the head of its stream, with all it waits for done.
  bool ready(std::size_t rank, OpIndex index) const {
    const RankProgram& own = program_.program_of(static_cast<Rank>(rank));
    const Operation& op = own.operations[index];
    const State& state = ranks_[rank];
    if (state.streams[op.stream].empty() || state.streams[op.stream].front() != index) return false;
    for (const OpIndex wait : own.waits_of(op)) {
      if (!state.done[wait]) return false;
    }
    return true;
  }
  void finish(std::size_t rank, OpIndex index) {
    const Operation& op = program_.program_of(static_cast<Rank>(rank)).operations[index];
    ranks_[rank].done[index] = true;
    ranks_[rank].streams[op.stream].pop_front();
  }
  bool try_finish(std::size_t rank, OpIndex index) {
    if (!ready(rank, index)) return false;
    const Operation& op = program_.program_of(static_cast<Rank>(rank)).operations[index];
    if (op.kind == OpKind::kCollective) return try_collective(rank, op);
    if (op.kind == OpKind::kSend || op.kind == OpKind::kReceive) return try_message(key_of(rank, op));
    finish(rank, index);
    return true;
  }
  bool try_collective(std::size_t rank, const Operation& op) {
    const Group& group = program_.groups[program_.ranks[rank].groups[op.slot]];
    for (const Rank member : group.ranks) {
      State& state = ranks_[static_cast<std::size_t>(member)];
      const auto calls = state.calls.find(slot_of(member, group));
      if (calls == state.calls.end() || calls->second.empty()) return false;
      const OpIndex theirs = calls->second.front();
      const Operation& other = program_.program_of(member).operations[theirs];
      if (!ready(static_cast<std::size_t>(member), theirs)) return false;
      if (other.collective != op.collective || other.bytes != op.bytes) return false;
    }
    for (const Rank member : group.ranks) {
      auto& calls = ranks_[static_cast<std::size_t>(member)].calls[slot_of(member, group)];
      finish(static_cast<std::size_t>(member), calls.front());
      calls.pop_front();
    }
    return true;
  }
  std::uint16_t slot_of(Rank member, const Group& group) const {
    const auto& groups = program_.ranks[static_cast<std::size_t>(member)].groups;
    for (std::size_t slot = 0; slot < groups.size(); ++slot) {
      if (&program_.groups[groups[slot]] == &group) return static_cast<std::uint16_t>(slot);
    }
    return 0xFFFF;
  }
  bool try_message(const MessageKey& key) {
    auto& sends = ranks_[std::get<0>(key)].messages[key];
    auto& receives = ranks_[std::get<1>(key)].messages[key];
    if (sends.empty() || receives.empty()) return false;
    if (!ready(std::get<0>(key), sends.front()) || !ready(std::get<1>(key), receives.front())) return false;
    finish(std::get<0>(key), sends.front());
    finish(std::get<1>(key), receives.front());
    sends.pop_front();
    receives.pop_front();
    return true;
  }

  const Program& program_;
  std::vector<State> ranks_;
};

}  // namespace weft::work::test
