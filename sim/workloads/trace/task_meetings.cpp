#include "sim/workloads/trace/task_meetings.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace weft::work {
namespace {

constexpr std::size_t kMostErrors = 20;

using Key = std::tuple<Rank, Rank, std::int64_t>;  // sender, receiver, tag

class Matcher {
 public:
  Matcher(std::vector<RankTasks>& ranks, const std::vector<Group>& groups, std::vector<Diagnostic>& findings)
      : ranks_{ranks}, groups_{groups}, findings_{findings} {}

  TaskMeetings run() {
    for (const RankTasks& rank : ranks_) meetings_.of.emplace_back(rank.tasks.size(), kNoMeeting);
    list();
    match_named();
    match_wildcards();
    for (const auto& [key, sends] : sends_) {
      for (const TaskId id : sends) {
        if (!is_taken(id)) fail(id, "nobody receives what this sends", note_of(id));
      }
    }
    match_collectives();
    if (!errors_.empty()) throw ConfigError(std::move(errors_));
    if (larger_receives_ > 0) {
      findings_.push_back(problem_at(
          ranks_, first_larger_,
          fmt::format("{} receives have room for more than is sent to them; what is sent counts", larger_receives_)));
    }
    return std::move(meetings_);
  }

 private:
  [[nodiscard]] Task& task(TaskId id) { return ranks_[id.rank].tasks[id.task]; }

  void fail(TaskId id, std::string message, std::string note = {}) {
    if (errors_.size() < kMostErrors) errors_.push_back(problem_at(ranks_, id, std::move(message), std::move(note)));
  }

  void list() {
    const auto count = static_cast<std::int64_t>(ranks_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint32_t t = 0; t < ranks_[r].tasks.size(); ++t) {
        const Task& each = ranks_[r].tasks[t];
        const OpKind kind = each.op.kind;
        if (kind == OpKind::kCollective) {
          calls_[{each.peer, static_cast<Rank>(r)}].push_back({r, t});
        } else if (kind == OpKind::kSend || kind == OpKind::kReceive) {
          if (each.peer >= count || (each.peer < 0 && kind == OpKind::kSend)) {
            fail({r, t}, fmt::format("rank {} is none of the {} ranks there are (0 to {})", each.peer, count, count - 1));
          } else if (each.peer == static_cast<Rank>(r)) {
            fail({r, t}, "a rank cannot send to itself");
          } else if (kind == OpKind::kSend) {
            sends_[{static_cast<Rank>(r), each.peer, each.tag}].push_back({r, t});
          } else if (each.peer == kAnyRank || each.tag == kAnyTag) {
            wildcards_.push_back({r, t});
          } else {
            receives_[{each.peer, static_cast<Rank>(r), each.tag}].push_back({r, t});
          }
        }
      }
    }
  }

  void match_named() {
    for (const auto& [key, receives] : receives_) {
      const auto found = sends_.find(key);
      for (const TaskId receive : receives) {
        if (found == sends_.end() || found->second.empty()) {
          fail(receive, "nobody sends what this receives", note_of(receive));
          continue;
        }
        pair(found->second.front(), receive);
        found->second.pop_front();
      }
    }
  }

  // Sends to one receiver that nobody took, in the order of preference, by what a receive may ask for.
  struct LeftSends {
    std::deque<TaskId> all;
    std::map<Rank, std::deque<TaskId>> from;
    std::map<std::int64_t, std::deque<TaskId>> tagged;
  };

  void match_wildcards() {
    std::map<Rank, std::vector<TaskId>> sorted;
    for (const TaskId wild : wildcards_) sorted.try_emplace(static_cast<Rank>(wild.rank));
    for (const auto& [key, sends] : sends_) {
      const auto to = sorted.find(std::get<1>(key));
      if (to != sorted.end()) to->second.insert(to->second.end(), sends.begin(), sends.end());
    }
    std::map<Rank, LeftSends> left;
    for (auto& [receiver, sends] : sorted) {
      std::ranges::sort(sends, {}, [](TaskId id) { return std::pair{id.task, id.rank}; });
      LeftSends& to = left[receiver];
      for (const TaskId id : sends) {
        to.all.push_back(id);
        to.from[static_cast<Rank>(id.rank)].push_back(id);
        to.tagged[task(id).tag].push_back(id);
      }
    }
    for (const TaskId wild : wildcards_) {
      LeftSends& to = left[static_cast<Rank>(wild.rank)];
      const Task& receive = task(wild);
      std::deque<TaskId>& fitting = receive.peer != kAnyRank ? to.from[receive.peer]
                                    : receive.tag != kAnyTag ? to.tagged[receive.tag]
                                                             : to.all;
      while (!fitting.empty() && is_taken(fitting.front())) fitting.pop_front();
      if (fitting.empty()) {
        fail(wild, "nobody sends what this receives", note_of(wild));
        continue;
      }
      const TaskId send = fitting.front();
      fitting.pop_front();
      task(wild).peer = static_cast<Rank>(send.rank);
      pair(send, wild);
    }
  }

  [[nodiscard]] bool is_taken(TaskId send) const { return meetings_.of[send.rank][send.task] != kNoMeeting; }

  void pair(TaskId send, TaskId receive) {
    const Bytes sent = task(send).op.bytes;
    Task& receiver = task(receive);
    if (receiver.op.bytes < sent) {
      fail(receive, fmt::format("receives {} B, but {} B are sent to it", receiver.op.bytes.count(), sent.count()),
           fmt::format("sent by {}", text_of(ranks_, send)));
    } else if (receiver.op.bytes > sent) {
      if (larger_receives_++ == 0) first_larger_ = receive;
      receiver.op.bytes = sent;
    }
    close({send, receive});
  }

  void close(const std::vector<TaskId>& members) {
    const auto index = static_cast<std::uint32_t>(meetings_.size());
    for (const TaskId id : members) {
      meetings_.of[id.rank][id.task] = index;
      meetings_.members.push_back(id);
    }
    meetings_.first.push_back(static_cast<std::uint32_t>(meetings_.members.size()));
  }

  // For a message without counterpart: the nearest thing there is.
  std::string note_of(TaskId id) {
    const Task& each = task(id);
    const bool sends = each.op.kind == OpKind::kSend;
    const std::string from = sends ? fmt::format("{}", id.rank) : each.peer == kAnyRank ? "any" : fmt::format("{}", each.peer);
    const std::string to = sends ? fmt::format("{}", each.peer) : fmt::format("{}", id.rank);
    const std::string tag = each.tag == kAnyTag ? "any" : fmt::format("{}", each.tag);
    return fmt::format("from rank {} to rank {}, tag {}, {} B", from, to, tag, each.op.bytes.count());
  }

  void match_collectives() {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) match_group(g);
    for (const auto& [key, calls] : calls_) {
      for (const TaskId id : calls) {
        fail(id,
             fmt::format("rank {} is no member of group '{}'", key.second, groups_[static_cast<std::size_t>(key.first)].name));
      }
    }
  }

  void match_group(std::uint32_t g) {
    const Group& group = groups_[g];
    std::vector<std::vector<TaskId>> calls;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    std::size_t most = 0;
    for (const Rank member : group.ranks) {
      const auto found = calls_.find({static_cast<std::int32_t>(g), member});
      calls.push_back(found == calls_.end() ? std::vector<TaskId>{} : std::move(found->second));
      if (found != calls_.end()) calls_.erase(found);
      least = std::min(least, calls.back().size());
      most = std::max(most, calls.back().size());
    }
    if (most == 0) return;
    for (std::size_t k = 0; k < least; ++k) {
      std::vector<TaskId> members;
      for (const std::vector<TaskId>& each : calls) members.push_back(each[k]);
      for (const TaskId id : members) check_alike(group, k, members.front(), id);
      close(members);
    }
    if (least == most) return;
    const auto short_of = std::ranges::min_element(calls, {}, &std::vector<TaskId>::size);
    const auto rich = std::ranges::max_element(calls, {}, &std::vector<TaskId>::size);
    fail((*rich)[least],
         fmt::format("collective {} of group '{}' is called by rank {} but not by rank {}", least, group.name,
                     group.ranks[static_cast<std::size_t>(rich - calls.begin())],
                     group.ranks[static_cast<std::size_t>(short_of - calls.begin())]),
         fmt::format("collectives count from 0 within a group; the ranks of this one call it {} to {} times", least, most));
  }

  void check_alike(const Group& group, std::size_t k, TaskId first, TaskId other) {
    const Operation& a = task(first).op;
    const Operation& b = task(other).op;
    if (a.collective == b.collective && a.bytes == b.bytes && a.element_size == b.element_size) return;
    fail(
        other,
        fmt::format("collective {} of group '{}' is {} of {} B here, but {} of {} B on rank {}", k, group.name,
                    coll::to_string(b.collective), b.bytes.count(), coll::to_string(a.collective), a.bytes.count(), first.rank),
        fmt::format("there it is {}", text_of(ranks_, first)));
  }

  std::vector<RankTasks>& ranks_;
  const std::vector<Group>& groups_;
  std::vector<Diagnostic>& findings_;
  TaskMeetings meetings_;
  std::map<Key, std::deque<TaskId>> sends_;
  std::map<Key, std::vector<TaskId>> receives_;
  std::vector<TaskId> wildcards_;
  std::map<std::pair<std::int32_t, Rank>, std::vector<TaskId>> calls_;  // by group and rank
  std::vector<Diagnostic> errors_;
  std::size_t larger_receives_ = 0;
  TaskId first_larger_;
};

}  // namespace

std::string text_of(const std::vector<RankTasks>& ranks, TaskId id) {
  const RankTasks& rank = ranks[id.rank];
  const Task& task = rank.tasks[id.task];
  return fmt::format("{} {} ('{}') of rank {}", rank.places_are_lines ? "line" : "node", task.place, rank.names[task.name],
                     id.rank);
}

Diagnostic problem_at(const std::vector<RankTasks>& ranks, TaskId id, std::string message, std::string note) {
  const RankTasks& rank = ranks[id.rank];
  const Task& task = rank.tasks[id.task];
  Diagnostic problem;
  problem.where.file = rank.file;
  const std::string name = rank.names[task.name];
  if (rank.places_are_lines) {
    problem.where.line = static_cast<int>(std::min<std::uint64_t>(task.place, std::numeric_limits<int>::max()));
    problem.message = fmt::format("rank {}, '{}': {}", id.rank, name, message);
  } else {
    problem.message = fmt::format("rank {}, node {} ('{}'): {}", id.rank, task.place, name, message);
  }
  problem.note = std::move(note);
  return problem;
}

TaskMeetings meet(std::vector<RankTasks>& ranks, const std::vector<Group>& groups, std::vector<Diagnostic>& findings) {
  return Matcher{ranks, groups, findings}.run();
}

}  // namespace weft::work
