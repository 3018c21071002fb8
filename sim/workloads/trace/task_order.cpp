#include "sim/workloads/trace/task_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace weft::work {
namespace {

constexpr std::size_t kMostShown = 12;  // of a circle
constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

// Kahn's algorithm with a clock: of what is ready, the earliest goes first, then the lowest rank, then the first listed.
class Orderer {
 public:
  Orderer(const std::vector<RankTasks>& ranks, const TaskMeetings& meetings, Bytes eager)
      : ranks_{ranks},
        meetings_{meetings},
        eager_limit_{eager},
        meeting_left_(meetings.size()),
        meeting_ready_(meetings.size()) {
    for (std::size_t m = 0; m < meetings.size(); ++m) meeting_left_[m] = meetings.first[m + 1] - meetings.first[m];
    for (const RankTasks& rank : ranks) {
      const std::size_t count = rank.tasks.size();
      waits_.emplace_back(rank, false);
      followers_.emplace_back(rank, true);
      pending_.emplace_back(count);
      ready_.emplace_back(count);
      order_.tasks.emplace_back();
      order_.tasks.back().reserve(count);
      order_.eager.emplace_back(count, false);
      done_.emplace_back(count, false);
      lane_free_.emplace_back(rank.lanes.size());
      left_ += count;
    }
  }

  TaskOrder run() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint32_t t = 0; t < ranks_[r].tasks.size(); ++t) {
        pending_[r][t] = static_cast<std::uint32_t>(waits_[r].count(t));
        if (pending_[r][t] == 0) newly_ready_.push_back({r, t});
      }
    }
    settle();
    for (;;) {
      while (!queue_.empty()) {
        const Entry next = queue_.top();
        queue_.pop();
        take(next);
        settle();
      }
      if (left_ == 0) return std::move(order_);
      if (!post_eagerly()) fail();
      settle();
    }
  }

 private:
  using Entry = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;  // ready in ps, rank, task

  [[nodiscard]] const Task& task(TaskId id) const { return ranks_[id.rank].tasks[id.task]; }
  [[nodiscard]] std::uint32_t meeting(TaskId id) const { return meetings_.of[id.rank][id.task]; }

  void settle() {
    while (!newly_ready_.empty()) {
      const TaskId id = newly_ready_.back();
      newly_ready_.pop_back();
      become_ready(id);
    }
  }

  void become_ready(TaskId id) {
    const std::uint32_t m = meeting(id);
    const std::int64_t at = ready_[id.rank][id.task];
    if (m == kNoMeeting) {
      queue_.push({at, id.rank, id.task});
      return;
    }
    if (task(id).op.kind == OpKind::kSend && task(id).op.bytes <= eager_limit_) waiting_sends_.insert({id.rank, id.task});
    meeting_ready_[m] = std::max(meeting_ready_[m], at);
    if (--meeting_left_[m] == 0) {
      const TaskId first = meetings_.members[meetings_.first[m]];
      queue_.push({meeting_ready_[m], first.rank, first.task});
    }
    release(id, at, true);  // a message or call that is posted has started
  }

  void release(TaskId id, std::int64_t at, bool starts) {
    for (const TaskEdges::Edge* edge = followers_[id.rank].begin(id.task); edge != followers_[id.rank].end(id.task); ++edge) {
      if (edge->on_start != starts) continue;
      std::int64_t& ready = ready_[id.rank][edge->task];
      ready = std::max(ready, at);
      if (--pending_[id.rank][edge->task] == 0) newly_ready_.push_back({id.rank, edge->task});
    }
  }

  void take(const Entry& entry) {
    const auto [at, rank, index] = entry;
    const TaskId id{rank, index};
    const std::uint32_t m = meeting(id);
    if (m == kNoMeeting) {
      std::int64_t start = at;
      const Task& each = task(id);
      if (each.lane != kNoLane) start = std::max(start, lane_free_[rank][static_cast<std::size_t>(each.lane)]);
      const std::int64_t end = start + std::min(each.op.duration.ps(), kForever - start);
      if (each.lane != kNoLane) lane_free_[rank][static_cast<std::size_t>(each.lane)] = end;
      append(id);
      release(id, start, true);
      release(id, end, false);
      return;
    }
    for (std::uint32_t i = meetings_.first[m]; i < meetings_.first[m + 1]; ++i) append(meetings_.members[i]);
    for (std::uint32_t i = meetings_.first[m]; i < meetings_.first[m + 1]; ++i) {
      const TaskId member = meetings_.members[i];
      waiting_sends_.erase({member.rank, member.task});
      if (!order_.eager[member.rank][member.task]) release(member, at, false);
    }
  }

  void append(TaskId id) {
    order_.tasks[id.rank].push_back(id.task);
    done_[id.rank][id.task] = true;
    --left_;
  }

  // Nothing else can go on: the first small send that waits for its receive lets its rank go on.
  bool post_eagerly() {
    if (waiting_sends_.empty()) return false;
    const auto [rank, index] = *waiting_sends_.begin();
    waiting_sends_.erase(waiting_sends_.begin());
    order_.eager[rank][index] = true;
    if (order_.eager_sends++ == 0) order_.first_eager = {rank, index};
    release({rank, index}, ready_[rank][index], false);
    return true;
  }

  // Returns what holds `id` up: an unfinished task that it waits for, or a partner that is not there yet.
  [[nodiscard]] TaskId blocker(TaskId id) const {
    for (const TaskEdges::Edge* edge = waits_[id.rank].begin(id.task); edge != waits_[id.rank].end(id.task); ++edge) {
      const TaskId on{id.rank, edge->task};
      const bool has_started = meeting(on) != kNoMeeting && pending_[on.rank][on.task] == 0;
      const bool is_over = done_[on.rank][on.task] || order_.eager[on.rank][on.task] || (edge->on_start && has_started);
      if (!is_over) return on;
    }
    const std::uint32_t m = meeting(id);
    WEFT_CHECK(m != kNoMeeting);
    for (std::uint32_t i = meetings_.first[m]; i < meetings_.first[m + 1]; ++i) {
      const TaskId member = meetings_.members[i];
      if (pending_[member.rank][member.task] > 0) return member;
    }
    return id;
  }

  [[noreturn]] void fail() const {
    TaskId at;
    for (at.rank = 0; at.rank < ranks_.size(); ++at.rank) {
      const auto first = std::ranges::find(done_[at.rank], false);
      if (first == done_[at.rank].end()) continue;
      at.task = static_cast<std::uint32_t>(first - done_[at.rank].begin());
      break;
    }
    std::vector<TaskId> path;
    std::vector<std::vector<bool>> seen;
    for (const RankTasks& rank : ranks_) seen.emplace_back(rank.tasks.size(), false);
    while (!seen[at.rank][at.task]) {
      seen[at.rank][at.task] = true;
      path.push_back(at);
      at = blocker(at);
    }
    path.erase(path.begin(), std::ranges::find(path, at));
    std::string text = "waits for itself: ";
    for (std::size_t i = 0; i < path.size() && i < kMostShown; ++i) {
      text += fmt::format("{}{}", i > 0 ? ", which waits for " : "", text_of(ranks_, path[i]));
    }
    if (path.size() > kMostShown) text += fmt::format(" and {} more", path.size() - kMostShown);
    text += path.size() == 1 ? ", which waits for itself" : ", which waits for the first of them";
    throw ConfigError({problem_at(ranks_, path.front(), std::move(text))});
  }

  const std::vector<RankTasks>& ranks_;
  const TaskMeetings& meetings_;
  Bytes eager_limit_;
  std::vector<std::uint32_t> meeting_left_;
  std::vector<std::int64_t> meeting_ready_;
  std::vector<TaskEdges> waits_;
  std::vector<TaskEdges> followers_;
  std::vector<std::vector<std::uint32_t>> pending_;
  std::vector<std::vector<std::int64_t>> ready_;
  std::vector<std::vector<bool>> done_;
  std::vector<std::vector<std::int64_t>> lane_free_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::vector<TaskId> newly_ready_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> waiting_sends_;  // small ones, whose receive is not posted
  TaskOrder order_;
  std::size_t left_ = 0;
};

}  // namespace

TaskEdges::TaskEdges(const RankTasks& rank, bool forward) : first_(rank.tasks.size() + 1, 0), edges_(rank.dependencies.size()) {
  for (const Dependency& each : rank.dependencies) ++first_[(forward ? each.on : each.task) + 1];
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const Dependency& each : rank.dependencies) {
    edges_[next[forward ? each.on : each.task]++] = {forward ? each.task : each.on, each.on_start};
  }
}

TaskOrder find_order(const std::vector<RankTasks>& ranks, const TaskMeetings& meetings, Bytes eager) {
  return Orderer{ranks, meetings, eager}.run();
}

}  // namespace weft::work
