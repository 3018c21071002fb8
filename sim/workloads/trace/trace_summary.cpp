#include "sim/workloads/trace/trace_summary.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>

namespace weft::work {
namespace {

bool is_call(OpKind kind) { return kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kReceive; }
bool is_host_operation(OpKind kind) {
  return kind == OpKind::kHostDelay || kind == OpKind::kHostSync || kind == OpKind::kMarker;
}

struct Interval {
  Duration begin;
  Duration end;
};

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> result;
  for (const Interval& each : intervals) {
    if (!result.empty() && each.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, each.end);
    } else {
      result.push_back(each);
    }
  }
  return result;
}

Duration length(const std::vector<Interval>& intervals) {
  Duration sum;
  for (const Interval& each : intervals) sum += each.end - each.begin;
  return sum;
}

// Returns how much of `a` lies in none of `b`; both merged.
Duration outside(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  Duration covered;
  std::size_t from = 0;
  for (const Interval& each : a) {
    while (from < b.size() && b[from].end <= each.begin) ++from;
    for (std::size_t i = from; i < b.size() && b[i].begin < each.end; ++i) {
      covered += std::min(each.end, b[i].end) - std::max(each.begin, b[i].begin);
    }
  }
  return length(a) - covered;
}

// A call's key: kind, group or ends, and how many like it came before.
using CallKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::uint64_t>;
struct Call {
  std::string_view kind;
  std::int64_t bytes = 0;
  std::size_t ranks = 0;
  Duration shortest = Duration::max();
};

class Summarizer {
 public:
  // `times` by rank; empty: none. Recorded ones have a call begin with its first thread block, simulated ones when it moves.
  enum class Times : std::uint8_t { kRecorded, kSimulated };
  Summarizer(const Program& program, std::vector<const std::vector<RecordedTime>*> times, Times kind)
      : program_{program}, times_{std::move(times)}, recorded_{kind == Times::kRecorded}, wire_(program.ranks.size()) {}

  TraceSummary run() {
    result_.has_times = !times_.empty();
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) find_calls(static_cast<Rank>(r));
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) measure(static_cast<Rank>(r));
    add_median();
    add_calls();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_traced(Rank rank) const { return program_.ranks[static_cast<std::size_t>(rank)].leader == rank; }

  // When GEMMs ran that have a block on every SM to their end, by begin. Those that share out their tiles in advance free most
  // SMs well before it.
  [[nodiscard]] std::vector<Interval> full_gemms(Rank rank, const RankProgram& program) const {
    std::vector<Interval> gemms;
    if (!result_.has_times || !recorded_) return gemms;
    const std::vector<RecordedTime>& times = *times_[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const Operation& op = program.operations[i];
      if (op.kind == OpKind::kKernel && op.fills_gpu && !op.weight_gradient)
        gemms.push_back({times[i].start, times[i].start + times[i].duration});
    }
    std::ranges::sort(gemms, {}, &Interval::begin);
    return gemms;
  }

  // Returns how much of a call's time lies after the GEMM that was running when its first block began.
  [[nodiscard]] static Duration after_drain(const RecordedTime& time, const std::vector<Interval>& gemms) {
    const auto next = std::ranges::upper_bound(gemms, time.start, {}, &Interval::begin);
    if (next == gemms.begin()) return time.duration;
    const Duration drained = std::prev(next)->end;
    const Duration end = time.start + time.duration;
    return drained > time.start && drained < end ? end - drained : time.duration;
  }

  void find_calls(Rank rank) {
    if (!is_traced(rank)) return;
    const ProgramRank& table = program_.ranks[static_cast<std::size_t>(rank)];
    const RankProgram& program = program_.programs[table.program];
    const std::vector<Interval> gemms = full_gemms(rank, program);
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::uint64_t> count;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const Operation& op = program.operations[i];
      if (!is_call(op.kind)) continue;
      const bool collective = op.kind == OpKind::kCollective;
      const std::int64_t peer = collective ? -1 : table.peers[op.slot];
      const std::tuple<std::int64_t, std::int64_t, std::int64_t> like =
          collective ? std::tuple{static_cast<std::int64_t>(table.groups[op.slot]), std::int64_t{-1}, std::int64_t{-1}}
          : op.kind == OpKind::kSend ? std::tuple{std::int64_t{-1}, static_cast<std::int64_t>(rank), peer * 256 + op.tag}
                                     : std::tuple{std::int64_t{-1}, peer, static_cast<std::int64_t>(rank) * 256 + op.tag};
      const CallKey key = std::tuple_cat(like, std::tuple{count[like]++});
      Call& call = calls_[key];
      call.kind = collective ? coll::to_string(op.collective) : "send";
      call.bytes = op.bytes.count();
      call.ranks = collective ? program_.groups[table.groups[op.slot]].ranks.size() : 2;
      if (result_.has_times)
        call.shortest = std::min(call.shortest, after_drain((*times_[static_cast<std::size_t>(rank)])[i], gemms));
      wire_[static_cast<std::size_t>(rank)].push_back(&call);
    }
  }

  void measure(Rank rank) {
    if (!is_traced(rank)) return;
    const ProgramRank& table = program_.ranks[static_cast<std::size_t>(rank)];
    const RankProgram& program = program_.programs[table.program];
    RecordedRank own;
    own.rank = rank;
    own.operations = static_cast<std::uint64_t>(
        std::ranges::count_if(program.operations, [](const Operation& op) { return !is_host_operation(op.kind); }));
    result_.operations += own.operations;
    if (result_.has_times)
      measure_times(program, *times_[static_cast<std::size_t>(rank)], wire_[static_cast<std::size_t>(rank)], own);
    result_.ranks.push_back(own);
  }

  static void measure_times(const RankProgram& program, const std::vector<RecordedTime>& recorded,
                            const std::vector<Call*>& calls, RecordedRank& own) {
    std::vector<Interval> compute;
    std::vector<Interval> moving;
    std::size_t next = 0;
    Duration first = Duration::max();
    Duration last;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const Operation& op = program.operations[i];
      if (is_host_operation(op.kind)) continue;
      const RecordedTime& time = recorded[i];
      const Duration end = time.start + time.duration;
      first = std::min(first, time.start);
      last = std::max(last, end);
      Duration busy = time.duration;
      if (is_call(op.kind)) {
        busy = calls[next++]->shortest;
        moving.push_back({end - busy, end});
      } else if (is_communication(op.category)) {
        moving.push_back({time.start, end});
      } else if (op.kind == OpKind::kKernel && is_compute(op.category)) {
        compute.push_back({time.start, end});
      }
      own.busy[static_cast<std::size_t>(op.category)] += busy;
    }
    compute = merged(std::move(compute));
    moving = merged(std::move(moving));
    own.compute = length(compute);
    own.communication = length(moving);
    own.exposed = outside(moving, compute);
    own.span = own.operations > 0 ? last - first : Duration{};
  }

  void add_median() {
    const auto middle = [&](auto get) {
      std::vector<Duration> values;
      for (const RecordedRank& rank : result_.ranks) values.push_back(get(rank));
      std::ranges::sort(values);
      if (values.empty()) return Duration{};
      const std::size_t half = values.size() / 2;
      return values.size() % 2 == 1 ? values[half] : Duration::from_ps((values[half - 1].ps() + values[half].ps()) / 2);
    };
    for (std::size_t c = 0; c < kCategories; ++c) {
      result_.median.busy[c] = middle([&](const RecordedRank& rank) { return rank.busy[c]; });
    }
    result_.median.compute = middle([](const RecordedRank& rank) { return rank.compute; });
    result_.median.communication = middle([](const RecordedRank& rank) { return rank.communication; });
    result_.median.exposed = middle([](const RecordedRank& rank) { return rank.exposed; });
    result_.median.span = middle([](const RecordedRank& rank) { return rank.span; });
  }

  void add_calls() {
    std::map<std::tuple<std::string_view, std::int64_t, std::size_t>, std::vector<Duration>> kinds;
    for (const auto& [key, call] : calls_) kinds[{call.kind, call.bytes, call.ranks}].push_back(call.shortest);
    for (auto& [kind, times] : kinds) {
      std::ranges::sort(times);
      RecordedCalls calls{std::string{std::get<0>(kind)}, std::get<1>(kind), std::get<2>(kind), times.size(), {}, {}, {}};
      if (result_.has_times) {
        calls.shortest = times.front();
        calls.median = times[times.size() / 2];
        calls.longest = times.back();
      }
      result_.calls.push_back(std::move(calls));
    }
  }

  const Program& program_;
  std::vector<const std::vector<RecordedTime>*> times_;
  bool recorded_;
  std::map<CallKey, Call> calls_;
  std::vector<std::vector<Call*>> wire_;  // by rank: of its calls in order
  TraceSummary result_;
};

}  // namespace

TraceSummary summarize(const Trace& trace) {
  std::vector<const std::vector<RecordedTime>*> times;
  if (!trace.recorded.empty()) {
    for (const ProgramRank& rank : trace.program.ranks) times.push_back(&trace.recorded[rank.program]);
  }
  return Summarizer{trace.program, std::move(times), Summarizer::Times::kRecorded}.run();
}

TraceSummary summarize(const Program& program, std::span<const std::vector<RecordedTime>> by_rank) {
  std::vector<const std::vector<RecordedTime>*> times;
  for (const std::vector<RecordedTime>& each : by_rank) times.push_back(&each);
  return Summarizer{program, std::move(times), Summarizer::Times::kSimulated}.run();
}

Duration communication_of(const std::array<Duration, kCategories>& by_category) {
  Duration sum;
  for (std::size_t c = 0; c < kCategories; ++c) {
    if (is_communication(static_cast<Category>(c))) sum += by_category[c];
  }
  return sum;
}

}  // namespace weft::work
