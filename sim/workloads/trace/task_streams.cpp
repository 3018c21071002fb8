#include "sim/workloads/trace/task_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace weft::work {
namespace {

constexpr std::size_t kMostStreams = 256;   // Operation::stream
constexpr std::size_t kMostSlots = 65'536;  // Operation::slot
constexpr std::size_t kMostTags = 256;      // Operation::tag
constexpr std::uint32_t kNone = 0xFFFF'FFFF;

bool meets(const Task& task) {
  return task.op.kind == OpKind::kSend || task.op.kind == OpKind::kReceive || task.op.kind == OpKind::kCollective;
}

// One rank's tasks in an order, their streams and waits.
class RankStreams {
 public:
  RankStreams(const RankTasks& rank, const std::vector<std::uint32_t>& order, const std::vector<bool>& eager, bool as_listed)
      : rank_{rank}, eager_{eager}, waits_{rank, false}, order_{as_listed && is_in_order() ? listed() : order} {
    if (rank.lanes.size() + 1 > kMostStreams) {
      throw ConfigError(
          {file_problem(fmt::format("{} lanes on one rank; at most {} are", rank.lanes.size(), kMostStreams - 1))});
    }
    place_.resize(rank.tasks.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
    stream_.resize(rank.tasks.size(), kNone);
    before_.resize(rank.tasks.size(), kNone);
    lay();
  }

  // Streams by task; slots and tags are not yet known.
  RankProgram make() {
    RankProgram program;
    program.names = rank_.names;
    program.streams = rank_.lanes;
    for (std::size_t s = rank_.lanes.size(); s < tails_.size(); ++s) {
      program.streams.push_back(fmt::format("messages {}", s - rank_.lanes.size()));
    }
    if (program.streams.empty()) program.streams.emplace_back("cpu 0");
    program.operations.reserve(order_.size());
    for (const std::uint32_t task : order_) {
      Operation op = rank_.tasks[task].op;
      op.name = rank_.tasks[task].name;
      op.stream = static_cast<std::uint8_t>(stream_[task]);
      op.first_wait = static_cast<std::uint32_t>(program.waits.size());
      append_waits(task, program.waits);
      op.wait_count = static_cast<std::uint16_t>(program.waits.size() - op.first_wait);
      program.operations.push_back(op);
    }
    return program;
  }

  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }
  [[nodiscard]] std::uint32_t place(std::uint32_t task) const { return place_[task]; }
  [[nodiscard]] std::uint32_t stream(std::uint32_t task) const { return stream_[task]; }
  [[nodiscard]] std::size_t crowded() const { return crowded_; }

 private:
  [[nodiscard]] Diagnostic file_problem(std::string message) const {
    Diagnostic problem;
    problem.where.file = rank_.file;
    problem.message = std::move(message);
    return problem;
  }

  [[nodiscard]] std::vector<std::uint32_t> listed() const {
    std::vector<std::uint32_t> all(rank_.tasks.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  // Whether the tasks as listed are streams in order already: each waits for what stands before it on its lane.
  [[nodiscard]] bool is_in_order() const {
    std::vector<std::uint32_t> last(rank_.lanes.size(), kNone);
    for (std::uint32_t t = 0; t < rank_.tasks.size(); ++t) {
      const Task& task = rank_.tasks[t];
      if (task.lane == kNoLane || eager_[t]) return false;
      std::uint32_t& before = last[static_cast<std::size_t>(task.lane)];
      bool waits_for_it = before == kNone;
      for (const TaskEdges::Edge* edge = waits_.begin(t); edge != waits_.end(t); ++edge) {
        if (edge->on_start || edge->task >= t) return false;
        waits_for_it = waits_for_it || edge->task == before;
      }
      if (!waits_for_it) return false;
      before = t;
    }
    return true;
  }

  [[nodiscard]] bool waits_for(std::uint32_t task, std::uint32_t on) const {
    if (eager_[on]) return false;
    return std::any_of(waits_.begin(task), waits_.end(task),
                       [on](const TaskEdges::Edge& edge) { return edge.task == on && !edge.on_start; });
  }

  void lay() {
    std::vector<std::vector<std::uint32_t>> lanes(rank_.lanes.size());
    for (const std::uint32_t task : order_) {
      if (rank_.tasks[task].lane != kNoLane) lanes[static_cast<std::size_t>(rank_.tasks[task].lane)].push_back(task);
    }
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      for (std::size_t i = 0; i < lanes[l].size(); ++i) {
        const std::uint32_t task = lanes[l][i];
        const bool is_free = meets(rank_.tasks[task]) && ((i > 0 && !waits_for(task, lanes[l][i - 1])) ||
                                                          (i + 1 < lanes[l].size() && !waits_for(lanes[l][i + 1], task)));
        if (!is_free) stream_[task] = static_cast<std::uint32_t>(l);
      }
    }
    tails_.assign(rank_.lanes.size(), kNone);
    for (const std::uint32_t task : order_) {
      if (stream_[task] == kNone) stream_[task] = side_stream(task);
      before_[task] = tails_[stream_[task]];
      tails_[stream_[task]] = task;
      if (stream_[task] >= rank_.lanes.size()) side_tails_[task] = stream_[task];
    }
  }

  // Behind something the task waits for anyway, else on a stream of its own, else on the one not used for longest.
  std::uint32_t side_stream(std::uint32_t task) {
    for (const TaskEdges::Edge* edge = waits_.begin(task); edge != waits_.end(task); ++edge) {
      const auto tail = side_tails_.find(edge->task);
      if (tail == side_tails_.end() || edge->on_start || eager_[edge->task]) continue;
      const std::uint32_t stream = tail->second;
      side_tails_.erase(tail);
      return stream;
    }
    if (tails_.size() < kMostStreams) {
      tails_.push_back(kNone);
      return static_cast<std::uint32_t>(tails_.size() - 1);
    }
    ++crowded_;
    const std::size_t lanes = rank_.lanes.size();
    if (next_side_ < lanes || next_side_ >= tails_.size()) next_side_ = lanes;
    const auto stream = static_cast<std::uint32_t>(next_side_++);
    side_tails_.erase(tails_[stream]);
    return stream;
  }

  // Ends to wait for: of each stream the last one, by stream.
  using Ends = std::map<std::uint32_t, OpIndex>;

  void append_waits(std::uint32_t task, std::vector<OpIndex>& waits) {
    Ends ends;
    add_ends(task, ends);
    ends.erase(stream_[task]);
    for (const auto& [stream, place] : ends) waits.push_back(place);
  }

  [[nodiscard]] bool is_on_start(const TaskEdges::Edge& edge) const { return edge.on_start || eager_[edge.task]; }

  // Adds the task's own dependencies. To wait for a start is to wait for what that waits for and, on a lane, for what stands
  // before it.
  void add_ends(std::uint32_t task, Ends& ends) {
    const auto add = [&ends](std::uint32_t stream, OpIndex place) {
      OpIndex& latest = ends.try_emplace(stream, place).first->second;
      latest = std::max(latest, place);
    };
    for (const TaskEdges::Edge* edge = waits_.begin(task); edge != waits_.end(task); ++edge) {
      if (!is_on_start(*edge)) {
        add(stream_[edge->task], place_[edge->task]);
      } else {
        for (const auto& [stream, place] : start_of(edge->task)) add(stream, place);
      }
    }
  }

  // Returns what the start of `task` comes after. Chains of starts are long: each is worked out once, those it builds on first.
  const Ends& start_of(std::uint32_t task) {
    std::vector<std::uint32_t> stack{task};
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      const std::size_t before = stack.size();
      for (const TaskEdges::Edge* edge = waits_.begin(at); edge != waits_.end(at); ++edge) {
        if (is_on_start(*edge) && !starts_.contains(edge->task)) stack.push_back(edge->task);
      }
      if (stack.size() > before) continue;
      stack.pop_back();
      if (starts_.contains(at)) continue;
      Ends ends;
      add_ends(at, ends);
      if (!meets(rank_.tasks[at]) && before_[at] != kNone) {
        OpIndex& latest = ends.try_emplace(stream_[at], 0).first->second;
        latest = std::max(latest, place_[before_[at]]);
      }
      starts_.emplace(at, std::move(ends));
    }
    return starts_.at(task);
  }

  const RankTasks& rank_;
  const std::vector<bool>& eager_;
  TaskEdges waits_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> place_;                   // by task: its index in the order
  std::vector<std::uint32_t> stream_;                  // by task
  std::vector<std::uint32_t> before_;                  // by task: the one before it on its stream
  std::vector<std::uint32_t> tails_;                   // by stream
  std::map<std::uint32_t, std::uint32_t> side_tails_;  // last task of a stream beside the lanes -> the stream
  std::size_t next_side_ = 0;
  std::size_t crowded_ = 0;
  std::map<std::uint32_t, Ends> starts_;  // by task whose start is waited for
};

// The tables that slots are looked up in.
class Slots {
 public:
  explicit Slots(ProgramRank& rank) : rank_{rank} {}
  std::uint16_t peer(Rank peer) {
    const auto [at, is_new] = peers_.try_emplace(peer, static_cast<std::uint16_t>(rank_.peers.size()));
    if (is_new) rank_.peers.push_back(peer);
    return at->second;
  }
  std::uint16_t group(std::uint32_t group) {
    const auto [at, is_new] = groups_.try_emplace(group, static_cast<std::uint16_t>(rank_.groups.size()));
    if (is_new) rank_.groups.push_back(group);
    return at->second;
  }
  [[nodiscard]] bool are_full() const { return std::max(rank_.peers.size(), rank_.groups.size()) >= kMostSlots; }

 private:
  ProgramRank& rank_;
  std::map<Rank, std::uint16_t> peers_;
  std::map<std::uint32_t, std::uint16_t> groups_;
};

// Messages between one stream of the sender and one of the receiver come in order; each such pair of streams has its own tag
// while there are tags.
class Tags {
 public:
  std::uint8_t tag(Rank from, Rank to, std::uint32_t sender_stream, std::uint32_t receiver_stream) {
    auto& tags = pairs_[{from, to}];
    const std::size_t tag = tags.try_emplace({sender_stream, receiver_stream}, tags.size()).first->second;
    are_shared_ = are_shared_ || tag >= kMostTags;
    return static_cast<std::uint8_t>(tag % kMostTags);
  }
  // Some tag serves several pairs of streams.
  [[nodiscard]] bool are_shared() const { return are_shared_; }

 private:
  std::map<std::pair<Rank, Rank>, std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>> pairs_;
  bool are_shared_ = false;
};

// False where tags are shared: the two ends then need the order of all ranks, which is the same for both.
bool lay_out(const std::vector<RankTasks>& ranks, const TaskMeetings& meetings, const TaskOrder& order, bool as_listed,
             TaskProgram& made) {
  std::vector<RankStreams> streams;
  streams.reserve(ranks.size());
  std::size_t crowded = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    streams.emplace_back(ranks[r], order.tasks[r], order.eager[r], as_listed);
    made.program.programs.push_back(streams.back().make());
    made.program.ranks.push_back({.program = static_cast<std::uint32_t>(r), .leader = static_cast<Rank>(r)});
    made.task_of.push_back(streams.back().order());
    crowded += streams.back().crowded();
  }
  Tags tags;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    Slots slots{made.program.ranks[r]};
    for (const std::uint32_t t : streams[r].order()) {
      const Task& task = ranks[r].tasks[t];
      if (!meets(task)) continue;
      Operation& op = made.program.programs[r].operations[streams[r].place(t)];
      if (slots.are_full()) {
        throw ConfigError({problem_at(ranks, {static_cast<std::uint32_t>(r), t},
                                      fmt::format("a rank has at most {} peers and groups", kMostSlots - 1))});
      }
      if (op.kind == OpKind::kCollective) {
        op.slot = slots.group(static_cast<std::uint32_t>(task.peer));
        continue;
      }
      op.slot = slots.peer(task.peer);
      const std::uint32_t first = meetings.first[meetings.of[r][t]];
      const TaskId send = meetings.members[first];
      const TaskId receive = meetings.members[first + 1];
      op.tag = tags.tag(static_cast<Rank>(send.rank), static_cast<Rank>(receive.rank), streams[send.rank].stream(send.task),
                        streams[receive.rank].stream(receive.task));
    }
  }
  if (crowded > 0) {
    Diagnostic finding;
    finding.where.file = ranks.front().file;
    finding.message = fmt::format("{} messages would be under way beside {} others of their rank; they wait for one of those",
                                  crowded, kMostStreams);
    made.findings.push_back(std::move(finding));
  }
  return !tags.are_shared();
}

}  // namespace

void make_streams(const std::vector<RankTasks>& ranks, const TaskMeetings& meetings, const TaskOrder& order,
                  TaskProgram& made) {
  TaskProgram listed = made;
  if (lay_out(ranks, meetings, order, true, listed)) {
    made = std::move(listed);
  } else {
    lay_out(ranks, meetings, order, false, made);
  }
}

}  // namespace weft::work
