#include "sim/workloads/trace/kineto/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "sim/core/error.h"
#include "sim/workloads/trace/kineto/emit.h"
#include "sim/workloads/trace/kineto/match.h"
#include "sim/workloads/trace/kineto/rank_items.h"
#include "sim/workloads/trace/kineto/same_job.h"
#include "sim/workloads/trace/kineto/stream_waits.h"
#include "sim/workloads/trace/line_reader.h"
#include "sim/workloads/trace/stand_ins.h"

namespace weft::work::kineto {
namespace {

constexpr std::int64_t kLargestShiftNs = std::int64_t{1} << 60;
constexpr std::int64_t kLongestSpanNs = kLongestTask.ps() / 1'000;
constexpr std::int64_t kAll = std::int64_t{1} << 62;
constexpr double kToldSkewMs = 0.5;
constexpr std::size_t kMostTracedStreams = 120;  // with those beside them, Operation::stream holds them

class Assembler {
 public:
  Assembler(std::vector<RankEvents> ranks, const TraceReadOptions& options) : options_{options} {
    for (RankEvents& events : ranks) ranks_.push_back({std::move(events), {}});
  }

  Trace read() {
    number_ranks();
    refuse(other_job_by_files(ranks_));
    choose_step();
    note_left_out();
    find_items();
    const Matching matching = match(ranks_);
    start_from_one_base();
    const std::vector<std::int64_t> shifts = clock_shifts(ranks_);
    refuse(other_job_by_calls(ranks_, matching, shifts));
    for (const std::string& finding : matching.findings) note(finding);
    align_clocks(shifts);
    emit_all(matching);
    measure();
    return std::move(trace_);
  }

 private:
  void note(std::string message, const std::filesystem::path& file = {}) {
    trace_.findings.push_back({.where = {.file = file.string()}, .message = std::move(message), .source_line = {}, .note = {}});
  }

  void number_ranks() {
    const bool unnumbered = std::ranges::any_of(ranks_, [](const RankTrace& rank) { return rank.events.rank < 0; });
    if (unnumbered) {
      for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].events.rank = static_cast<std::int64_t>(i);
      if (ranks_.size() > 1) note("not every file names its rank: ranks are numbered in the order of the files");
    }
    std::ranges::stable_sort(ranks_, {}, [](const RankTrace& rank) { return rank.events.rank; });
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      RankEvents& events = ranks_[i].events;
      if (i > 0 && ranks_[i - 1].events.rank == events.rank) {
        throw ConfigError(std::vector{
            Diagnostic{.where = {.file = events.file.string()},
                       .message = fmt::format("is of rank {}, and so is '{}'", events.rank, ranks_[i - 1].events.file.string()),
                       .source_line = {},
                       .note = "give the traces of one step of one job"}});
      }
      world_ = std::max({world_, events.rank + 1, events.world});
      if (trace_.recorded_gpu.empty()) trace_.recorded_gpu = events.gpu;
      if (events.overhead_ns > 0) overhead_ns_ = std::max(overhead_ns_, events.overhead_ns);
    }
    check_world();
    if (overhead_ns_ > 0) {
      note(fmt::format(
          "profiling held up the host for up to {:.2f} ms of a rank (the trace's own annotations); it is in the host's times",
          static_cast<double>(overhead_ns_) / 1e6));
    }
  }

  // One count of all that was left out.
  void note_left_out() {
    std::size_t negative = 0;
    std::size_t outside = 0;
    for (const RankTrace& rank : ranks_) {
      negative += rank.events.negative_durations;
      if (step_) outside += outside_steps(rank.events);
    }
    std::string what;
    if (negative > 0) what = fmt::format("{} events of negative duration that take no time of GPU or driver", negative);
    if (outside > 0) {
      what +=
          fmt::format("{}{} device activities launched in none of the marked iterations", what.empty() ? "" : ", ", outside);
    }
    if (!what.empty()) note("left out: " + what);
    for (const RankTrace& rank : ranks_) {
      if (rank.events.other_devices.empty()) continue;
      note(fmt::format("{} GPUs at work in one process: taken for one rank, with the streams of all of them",
                       1 + rank.events.other_devices.size()),
           rank.events.file);
    }
  }

  // Unless it was asked for.
  void refuse(const std::optional<OtherJob>& other) {
    if (!other) return;
    const std::filesystem::path& file = ranks_[other->rank].events.file;
    if (options_.mix_jobs) {
      note(fmt::format("{}: files of different jobs are replayed together, as was asked for", other->what), file);
      return;
    }
    throw ConfigError(
        std::vector{Diagnostic{.where = {.file = file.string()},
                               .message = other->what + ": these are of different jobs, or of other steps",
                               .source_line = {},
                               .note = "give the traces of one step of one job; --mix-jobs takes them together"}});
  }

  void check_world() const {
    if (world_ <= static_cast<std::int64_t>(options_.max_ranks)) return;
    throw ConfigError(
        std::vector{Diagnostic{.where = {.file = ranks_.back().events.file.string()},
                               .message = fmt::format("a trace of {} ranks; at most {} are read", world_, options_.max_ranks),
                               .source_line = {},
                               .note = {}}});
  }

  // The ProfilerStep# that has work on all ranks and is in the middle of those that do.
  void choose_step() {
    std::map<std::int64_t, std::size_t> seen;
    std::set<std::int64_t> marked;
    for (const RankTrace& rank : ranks_) {
      for (const Annotation& step : rank.events.steps) marked.insert(step.number);
      for (const std::int64_t number : steps_with_work(rank.events)) ++seen[number];
    }
    if (marked.empty()) return;
    std::erase_if(seen, [&](const auto& step) { return step.second < ranks_.size(); });
    if (seen.empty()) {
      note(fmt::format(
          "none of the {} steps marked in the trace has work of a GPU on every rank: all of it is taken for one step",
          marked.size()));
      return;
    }
    auto at = seen.begin();
    std::advance(at, seen.size() / 2);
    step_ = at->first;
    trace_.recorded_iterations = static_cast<int>(seen.size());
    const std::size_t empty = marked.size() - seen.size();
    if (marked.size() > 1) {
      note(fmt::format("the trace holds {} iterations{}; ProfilerStep#{} is replayed", marked.size(),
                       empty == 0 ? "" : fmt::format(", {} of them without work on every rank", empty), *step_));
    }
  }

  [[nodiscard]] const Annotation* step_of(const RankTrace& rank, std::int64_t number) const {
    const auto at = std::ranges::find(rank.events.steps, number, &Annotation::number);
    return at == rank.events.steps.end() ? nullptr : &*at;
  }

  void find_items() {
    StreamWaitCounts sum;
    std::size_t lost = 0;
    std::size_t graphs = 0;
    for (RankTrace& rank : ranks_) {
      const Annotation* step = step_ ? step_of(rank, *step_) : nullptr;
      rank.items = items_of(rank.events, step);
      if (rank.items.items.empty()) {
        throw ConfigError(
            std::vector{Diagnostic{.where = {.file = rank.events.file.string()},
                                   .message = "no kernels, copies or collectives of a GPU are in this trace",
                                   .source_line = {},
                                   .note = "profile with ProfilerActivity.CUDA, or nsys with --trace=cuda,nvtx"}});
      }
      if (rank.items.streams.size() > kMostTracedStreams) {
        throw ConfigError(std::vector{
            Diagnostic{.where = {.file = rank.events.file.string()},
                       .message = fmt::format("{} streams; at most {} are read", rank.items.streams.size(), kMostTracedStreams),
                       .source_line = {},
                       .note = {}}});
      }
      const StreamWaitCounts counts = find_stream_waits(rank.events, rank.items);
      sum.recorded += counts.recorded;
      sum.inferred += counts.inferred;
      sum.of_data += counts.of_data;
      sum.false_data += counts.false_data;
      sum.late += counts.late;
      sum.unexplained += counts.unexplained;
      sum.unexplained_ns = std::max(sum.unexplained_ns, counts.unexplained_ns);
      lost += rank.items.lost_launches;
      graphs += rank.items.whole_graphs;
      note_odd(rank.events.odd_bytes, "sizes of copies that none has", rank.events);
      note_odd(rank.events.odd_grids, "grids of kernels that none has", rank.events);
      note_odd(rank.items.odd_types, "calls of communication have types that are not known", rank.events, "4 bytes an element");
    }
    if (sum.recorded == 0 && sum.inferred + sum.late > 0) {
      note(fmt::format(
          "no sync events are recorded: {} waits between streams are inferred from calls and times, {} of them from times "
          "alone (weft explain trace.kineto)",
          sum.inferred + sum.late, sum.late));
    }
    if (sum.of_data + sum.false_data > 0) {
      note(
          fmt::format("{} waits between streams follow from what execution traces say was written and read; {} more of these "
                      "contradict the recorded times and are none",
                      sum.of_data, sum.false_data));
    }
    if (sum.unexplained > 0) {
      note(fmt::format(
          "{} kernels began over 20 us later than launches, streams and waits explain, in all up to {:.2f} ms of a rank: "
          "kept as delays",
          sum.unexplained, static_cast<double>(sum.unexplained_ns) / 1e6));
    }
    if (lost > 0)
      note(fmt::format("{} device activities have no launch in the trace: taken as launched 5 us before they began", lost));
    if (graphs > 0) {
      note(fmt::format(
          "{} launches of CUDA graphs are recorded as a whole, what they compute and communicate not told apart: they "
          "keep their time as compute (nsys profile --cuda-graph-trace=node records the kernels)",
          graphs));
    }
  }

  // Files give times from bases of their own: here all count from that of the first.
  void start_from_one_base() {
    for (RankTrace& rank : ranks_) {
      const std::int64_t base = rank.events.base_ns - ranks_.front().events.base_ns;
      if (std::abs(base) > kLargestShiftNs) {
        throw ConfigError(std::vector{Diagnostic{
            .where = {.file = rank.events.file.string()},
            .message = fmt::format("its baseTimeNanoseconds is years from that of '{}'", ranks_.front().events.file.string()),
            .source_line = {},
            .note = "give the traces of one step of one job"}});
      }
      if (base != 0) move(rank, base);
    }
  }

  void note_odd(const OddValues& odd, std::string_view what, const RankEvents& events, std::string_view taken_as = "0") {
    if (odd.count == 0) return;
    note(fmt::format("{} {}, such as {}: taken as {}", odd.count, what, odd.first, taken_as), events.file);
  }

  void align_clocks(const std::vector<std::int64_t>& shifts) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (shifts[r] == 0) continue;
      move(ranks_[r], shifts[r]);
      note(fmt::format("the clock of rank {} is {:.3f} ms {} rank {}'s, by the ends of what they did together: aligned",
                       ranks_[r].events.rank, std::abs(static_cast<double>(shifts[r])) / 1e6,
                       shifts[r] < 0 ? "ahead of" : "behind", ranks_.front().events.rank));
    }
  }

  // Later sums stay far from what 64 bits of picoseconds hold.
  void check_span() const {
    const auto near = [&](std::int64_t time) { return time > origin_ - kLongestSpanNs && time < origin_ + kLongestSpanNs; };
    for (const RankTrace& rank : ranks_) {
      const bool all = std::ranges::all_of(rank.items.items, near, &Item::start) &&
                       std::ranges::all_of(rank.items.host_waits, near, &HostWait::start) &&
                       std::ranges::all_of(rank.items.host_waits, near, &HostWait::end) &&
                       (!step_ || std::ranges::all_of(rank.events.steps, near, &Annotation::start));
      if (all) continue;
      throw ConfigError(
          std::vector{Diagnostic{.where = {.file = rank.events.file.string()},
                                 .message = "its events lie more than 28 hours apart, or from those of other ranks",
                                 .source_line = {},
                                 .note = "profile single iterations"}});
    }
  }

  static void move(RankTrace& rank, std::int64_t by) {
    for (Item& item : rank.items.items) {
      item.start += by;
      item.launch += by;
      item.call_end += by;
    }
    for (HostWait& wait : rank.items.host_waits) {
      wait.start += by;
      wait.end += by;
    }
    rank.items.host_begin += by;
    rank.items.gpu_free += by;
    rank.items.end += by;
    for (Annotation& step : rank.events.steps) step.start += by;
    for (Annotation& full : rank.events.queue_full) full.start += by;
  }

  void emit_all(const Matching& matching) {
    origin_ = kAll;
    for (const RankTrace& rank : ranks_) origin_ = std::min(origin_, rank.items.host_begin);
    check_span();
    for (const TraceGroup& group : matching.groups) {
      world_ = std::max(world_, 1 + *std::ranges::max_element(group.ranks));
      check_world();
      Group own{group.name, {}};
      for (const std::int64_t rank : group.ranks) own.ranks.push_back(static_cast<Rank>(rank));
      trace_.program.groups.push_back(std::move(own));
    }
    std::vector<Rank> traced;
    for (const RankTrace& rank : ranks_) {
      const Annotation* step = step_ ? step_of(rank, *step_) : nullptr;
      EmittedRank emitted = emit(rank, origin_, step != nullptr ? step->end() : 0);
      ProgramRank table;
      table.program = static_cast<std::uint32_t>(trace_.program.programs.size());
      table.groups = std::move(emitted.groups);
      for (const std::int64_t peer : emitted.peers) table.peers.push_back(static_cast<Rank>(peer));
      table.leader = static_cast<Rank>(rank.events.rank);
      traced.push_back(table.leader);
      trace_.program.programs.push_back(std::move(emitted.program));
      trace_.recorded.push_back(std::move(emitted.recorded));
      trace_.program.ranks.push_back(std::move(table));
    }
    for (const std::string& finding : fill_missing_ranks(trace_.program, traced, static_cast<Rank>(world_))) note(finding);
  }

  // A rank's step begins when its host begins it and its GPU has done with what was launched before, whichever is later. The
  // step of all begins with the last rank's, as a profiler starts ranks one after another, and ends with the last end.
  void measure() {
    std::int64_t first_begin = kAll;
    std::int64_t last_begin = -kAll;
    std::int64_t end = -kAll;
    for (const RankTrace& rank : ranks_) {
      const std::int64_t begin = std::max(rank.items.host_begin, rank.items.gpu_free);
      first_begin = std::min(first_begin, begin);
      last_begin = std::max(last_begin, begin);
      end = std::max(end, rank.items.end);
    }
    trace_.recorded_step = Duration::from_ns(std::max<std::int64_t>(0, end - last_begin));
    std::vector<std::int64_t> held;
    for (const RankTrace& rank : ranks_) held.push_back(held_by_host(rank.items));
    std::ranges::sort(held);
    trace_.host_held = Duration::from_ns((held[(held.size() - 1) / 2] + held[held.size() / 2]) / 2);
    const double skew = static_cast<double>(last_begin - first_begin) / 1e6;
    if (skew > kToldSkewMs) {
      note(
          fmt::format("the ranks began up to {:.2f} ms after each other: the step is counted from the last one's begin", skew));
    }
  }

  const TraceReadOptions& options_;
  std::vector<RankTrace> ranks_;
  Trace trace_;
  std::optional<std::int64_t> step_;
  std::int64_t world_ = 0;
  std::int64_t origin_ = 0;
  std::int64_t overhead_ns_ = 0;
};

}  // namespace

Trace assemble(std::vector<RankEvents> ranks, const TraceReadOptions& options) {
  return Assembler{std::move(ranks), options}.read();
}

}  // namespace weft::work::kineto
