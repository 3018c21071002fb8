#include "sim/scenario/replay_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>

#include "sim/core/config/find_config.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/replay/places.h"
#include "sim/workloads/trace/recorded_contention.h"
#include "sim/workloads/trace/stand_ins.h"

namespace weft::scenario {
namespace {

using work::Category;

bool is_call(work::OpKind kind) {
  return kind == work::OpKind::kCollective || kind == work::OpKind::kSend || kind == work::OpKind::kReceive;
}

// Hears of the last iteration what calls take and when everything ran; and hands everything on.
class CallTimes final : public work::ReplayObserver {
 public:
  using Key = std::tuple<std::string, std::int64_t, std::size_t>;

  CallTimes(work::ReplayObserver* next, int iterations) : next_{next}, last_{iterations - 1} {}

  void on_program(const work::Program& program) override {
    program_ = &program;
    ran_.assign(program.ranks.size(), {});
    for (std::size_t r = 0; r < ran_.size(); ++r) {
      if (program.ranks[r].leader == static_cast<Rank>(r))
        ran_[r].resize(program.program_of(static_cast<Rank>(r)).operations.size());
    }
    if (next_ != nullptr) next_->on_program(program);
  }
  void on_operation(const Span& span) override {
    if (next_ != nullptr) next_->on_operation(span);
    const work::Operation& op = program_->program_of(span.rank).operations[span.op];
    if (span.iteration != last_) return;
    if (op.kind != work::OpKind::kMarker) end_ = std::max(end_, span.end);
    ran_[static_cast<std::size_t>(span.rank)][span.op] = {
        .start = span.ready - Time{}, .duration = span.end - span.ready, .blocks = 0};
    if (!is_call(op.kind) || op.kind == work::OpKind::kReceive) return;
    const work::ProgramRank& table = program_->ranks[static_cast<std::size_t>(span.rank)];
    const bool collective = op.kind == work::OpKind::kCollective;
    const std::size_t ranks = collective ? program_->groups[table.groups[op.slot]].ranks.size() : 2;
    times_[{collective ? std::string{coll::to_string(op.collective)} : "send", op.bytes.count(), ranks}].push_back(span.end -
                                                                                                                   span.ready);
  }
  // The end of everything that is no marker.
  [[nodiscard]] Time end() const { return end_; }
  // By rank, by operation; of leaders.
  [[nodiscard]] std::vector<std::vector<work::RecordedTime>>& ran() { return ran_; }
  [[nodiscard]] Duration median(const Key& key) {
    const auto at = times_.find(key);
    if (at == times_.end()) return {};
    std::vector<Duration>& times = at->second;
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
  }

 private:
  work::ReplayObserver* next_;
  const work::Program* program_ = nullptr;
  int last_;
  Time end_;
  std::vector<std::vector<work::RecordedTime>> ran_;
  std::map<Key, std::vector<Duration>> times_;
};

void place(const net::Cluster& cluster, work::Program& program, const std::vector<int>& map) {
  const std::vector<DeviceId>& gpus = cluster.topology.endpoints();
  if (map.empty() && program.ranks.size() > gpus.size()) {
    throw ConfigError(
        fmt::format("the trace has {} ranks and cluster '{}' {} GPUs", program.ranks.size(), cluster.name, gpus.size()));
  }
  if (!map.empty() && map.size() != program.ranks.size()) {
    throw ConfigError(fmt::format("--map names {} GPUs for {} ranks", map.size(), program.ranks.size()));
  }
  program.devices.clear();
  std::set<std::size_t> taken;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const std::size_t at = map.empty() ? r : static_cast<std::size_t>(map[r]);
    if (at >= gpus.size())
      throw ConfigError(fmt::format("--map: GPU {} of cluster '{}', which has 0 to {}", at, cluster.name, gpus.size() - 1));
    if (!taken.insert(at).second) throw ConfigError(fmt::format("--map: GPU {} for two ranks", at));
    program.devices.push_back(gpus[at]);
  }
}

// Large kernels, so that what is fixed does not matter.
work::Kernel representative(Category category) {
  work::Kernel kernel;
  switch (category) {
    case Category::kGemm:
      kernel.kind = work::KernelKind::kGemm;
      kernel.m = kernel.n = kernel.k = 8192;
      break;
    case Category::kAttention:
      kernel.kind = work::KernelKind::kAttentionForward;
      kernel.m = kernel.n = 8192;
      kernel.k = 128;
      kernel.batch = 64;
      break;
    case Category::kOptimizer:
      kernel.kind = work::KernelKind::kOptimizer;
      kernel.elements = 1e9;
      break;
    default:
      kernel.kind = work::KernelKind::kElementwise;
      kernel.bytes = 4e9;
  }
  return kernel;
}

// Returns the profile that says how a GPU computes: the cluster's where the GPU is the cluster's own, else the one that its
// data sheet names.
Profile profile_of(const work::GpuSpec& gpu, const net::Cluster& cluster) {
  if (cluster_gpu(cluster.topology, "--gpu").name == gpu.name) return cluster.profile;
  const auto shipped = find_config(std::filesystem::path{"profiles"} / fmt::format("{}.yaml", gpu.profile));
  return shipped ? Profile::load(*shipped, all_param_groups()) : Profile::defaults(all_param_groups());
}

// By category: time on `to` over time on `from`.
std::array<double, work::kCategories> gpu_factors(const std::string& from, const std::string& to, const net::Cluster& cluster) {
  const work::GpuSpec* recorded = net::find_gpu_of_machine(from);
  if (recorded == nullptr) {
    throw ConfigError(
        fmt::format("--gpu: nothing is known of the GPU the trace was taken on ('{}'): --scale-compute says the factor",
                    from.empty() ? "not said" : from));
  }
  const work::GpuSpec& other = work::gpu_spec(to);
  const work::KernelTimes there{other, profile_of(other, cluster)};
  const work::KernelTimes here{*recorded, profile_of(*recorded, cluster)};
  std::array<double, work::kCategories> factors;
  factors.fill(1);
  for (const Category category : {Category::kGemm, Category::kAttention, Category::kOtherCompute, Category::kOptimizer}) {
    const work::Kernel kernel = representative(category);
    factors[static_cast<std::size_t>(category)] = there.alone(kernel).seconds() / here.alone(kernel).seconds();
  }
  return factors;
}

// By program and operation: what a kernel's duration holds beyond the recorded kernel, the gap before it. No GPU shortens it.
using Gaps = std::vector<std::vector<Duration>>;

void scale(work::Program& program, const Gaps& gaps, const std::array<double, work::kCategories>& factors, double all) {
  for (std::size_t p = 0; p < program.programs.size(); ++p) {
    std::vector<work::Operation>& operations = program.programs[p].operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      work::Operation& op = operations[i];
      if (op.kind != work::OpKind::kKernel || !work::is_compute(op.category)) continue;
      const double factor = factors[static_cast<std::size_t>(op.category)] * all;
      const Duration gap = p < gaps.size() ? std::clamp(gaps[p][i], Duration{}, op.duration) : Duration{};
      op.duration = gap + Duration::nearest_ps(static_cast<double>((op.duration - gap).ps()) * factor);
    }
  }
}

// Not what a rank's host began later than others'.
void scale_hosts(work::Program& program, double factor) {
  for (work::RankProgram& each : program.programs) {
    for (work::Operation& op : each.operations) {
      if (op.kind != work::OpKind::kHostDelay || each.names[op.name] == work::kStartDelay) continue;
      op.duration = Duration::from_ps(std::llround(static_cast<double>(op.duration.ps()) * factor));
    }
  }
}

// The operation of that kind and name among the first two; null: none.
work::Operation* find_first(work::RankProgram& program, work::OpKind kind, std::string_view name) {
  for (work::Operation& op : std::span{program.operations}.first(std::min<std::size_t>(2, program.operations.size()))) {
    if (op.kind == kind && program.names[op.name] == name) return &op;
  }
  return nullptr;
}

// From when a replayed iteration starts to the begin of the step in it, as the trace counts one: all ranks' hosts have begun,
// and their GPUs are free. Where the skew is not kept, ranks begin together, whatever the lead of each one's host.
Duration align_begins(work::Program& program, bool keep_skew) {
  const auto lead_of = [](work::RankProgram& each) {
    const work::Operation* lead = find_first(each, work::OpKind::kMarker, work::kHostLead);
    return lead == nullptr ? Duration{} : lead->duration;
  };
  Duration longest;
  for (work::RankProgram& each : program.programs) longest = std::max(longest, lead_of(each));
  Duration begin;
  for (work::RankProgram& each : program.programs) {
    work::Operation* start = find_first(each, work::OpKind::kHostDelay, work::kStartDelay);
    if (start == nullptr) continue;
    if (!keep_skew) start->duration = longest - lead_of(each);
    begin = std::max(begin, start->duration + lead_of(each));
  }
  return begin;
}

Gaps gaps_of(const work::Trace& trace) {
  Gaps gaps(trace.recorded.size());
  for (std::size_t p = 0; p < gaps.size(); ++p) {
    const std::vector<work::Operation>& operations = trace.program.programs[p].operations;
    gaps[p].resize(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].kind == work::OpKind::kKernel) gaps[p][i] = operations[i].duration - trace.recorded[p][i].duration;
    }
  }
  return gaps;
}

// By program, from its last communication to the end of the step: steps are taken to follow one another.
std::vector<Duration> links_idle_after(const work::Trace& trace) {
  Duration end;
  std::vector<Duration> last(trace.recorded.size());
  for (std::size_t p = 0; p < last.size(); ++p) {
    const std::vector<work::Operation>& operations = trace.program.programs[p].operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Duration at = trace.recorded[p][i].start + trace.recorded[p][i].duration;
      end = std::max(end, at);
      if (work::is_communication(operations[i].category)) last[p] = std::max(last[p], at);
    }
  }
  for (Duration& each : last) each = end - each;
  return last;
}

// Kernels as a profiler would have seen them, without the gaps.
void take_gaps_off(const work::Program& program, const Gaps& gaps, std::vector<std::vector<work::RecordedTime>>& ran) {
  for (std::size_t r = 0; r < ran.size(); ++r) {
    const std::size_t of = program.ranks[r].program;
    for (std::size_t i = 0; i < ran[r].size() && of < gaps.size(); ++i) {
      const Duration gap = std::min(gaps[of][i], ran[r][i].duration);
      ran[r][i].start += gap;
      ran[r][i].duration -= gap;
    }
  }
}

Duration median_time(std::vector<Duration> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : Duration::from_ps((values[half - 1].ps() + values[half].ps()) / 2);
}

void compare(const work::TraceSummary& traced, const work::TraceSummary& predicted, ReplayRunResult& result) {
  const auto add = [&](std::string_view name, auto get) {
    const auto over_ranks = [&](const work::TraceSummary& of) {
      std::vector<Duration> values;
      for (const work::RecordedRank& rank : of.ranks) values.push_back(get(rank));
      return median_time(std::move(values));
    };
    result.figures.push_back({std::string{name}, over_ranks(traced), over_ranks(predicted)});
  };
  static constexpr std::array<std::pair<Category, std::string_view>, 4> kCompute{{{Category::kGemm, "gemm"},
                                                                                  {Category::kAttention, "attention"},
                                                                                  {Category::kOtherCompute, "other"},
                                                                                  {Category::kOptimizer, "optimizer"}}};
  for (const auto& [category, name] : kCompute) {
    add(name, [c = static_cast<std::size_t>(category)](const work::RecordedRank& rank) { return rank.busy[c]; });
  }
  add("compute", [](const work::RecordedRank& rank) {
    Duration sum;
    for (const auto& [category, name] : kCompute) sum += rank.busy[static_cast<std::size_t>(category)];
    return sum;
  });
  add("nccl", [](const work::RecordedRank& rank) { return work::communication_of(rank.busy); });
  add("exposed_nccl", [](const work::RecordedRank& rank) { return rank.exposed; });
}

// Scales kernels to another GPU and by the factor asked for.
void scale_compute(work::Trace& trace, const Gaps& gaps, const net::Cluster& cluster, const ReplayRunOptions& options,
                   ReplayRunResult& result) {
  std::array<double, work::kCategories> factors;
  factors.fill(1);
  if (!options.gpu.empty()) factors = gpu_factors(trace.recorded_gpu, options.gpu, cluster);
  scale(trace.program, gaps, factors, options.scale_compute);
  if (options.gpu.empty()) return;
  result.notes.push_back(fmt::format(
      "kernels of {} on {}: GEMMs take {:.2f}, attention {:.2f}, memory-bound ones {:.2f} times as long", trace.recorded_gpu,
      options.gpu, factors[static_cast<std::size_t>(Category::kGemm)], factors[static_cast<std::size_t>(Category::kAttention)],
      factors[static_cast<std::size_t>(Category::kOtherCompute)]));
}

// Takes off every iteration what of the step before reaches into it, `begin` long. Returns when the last one's step began.
Time take_begins_off(Duration begin, Time end, ReplayRunResult& result) {
  std::vector<Duration>& iterations = result.run.replay.iterations;
  Time began;
  for (std::size_t i = 0; i + 1 < iterations.size(); ++i) began += iterations[i];
  if (iterations.back() <= begin) {
    result.notes.push_back(fmt::format(
        "in the recording the step before goes on for {:.3f} ms of this one, longer than this one takes here: predicted "
        "is the step by itself",
        begin.us() / 1'000));
    const Duration own = end - began;
    iterations.assign(iterations.size(), own);
    result.run.makespan = own * static_cast<std::int64_t>(iterations.size());
    begin = {};
  }
  for (Duration& iteration : iterations) {
    iteration -= std::min(iteration, begin);
    result.run.makespan -= std::min(result.run.makespan, begin);
  }
  return began + begin;
}

}  // namespace

ReplayRunResult run_replay(const net::Cluster& cluster, work::Trace& trace, const ReplayRunOptions& options,
                           RunObserver* observer, work::ReplayObserver* operations) {
  ReplayRunResult result;
  result.traced = work::summarize(trace);
  result.traced_step = trace.recorded_step;
  result.host_held = trace.host_held;
  const Gaps gaps = gaps_of(trace);
  std::vector<Duration> links_idle = links_idle_after(trace);
  const Duration begin = align_begins(trace.program, options.keep_start_skew);
  result.contention_removed = work::remove_contention(trace, cluster.profile.get(work::contention_costs));
  if (!options.gpu.empty() || options.scale_compute != 1) scale_compute(trace, gaps, cluster, options, result);
  if (options.scale_host != 1) scale_hosts(trace.program, options.scale_host);
  for (std::string& note : work::replicate(trace.program, options.replicas, options.across))
    result.notes.push_back(std::move(note));
  place(cluster, trace.program, options.map);
  if (options.simulation.fold && trace.recorded.empty()) work::fold_alike(trace.program);
  const net::Router router{cluster.topology, net::make_routing_policy(cluster.routing), options.simulation.seed};
  const std::string difference = work::difference_of_places(trace.program, router);
  if (!difference.empty()) {
    result.notes.push_back(fmt::format("every rank is simulated by itself: {}", difference));
    work::unfold(trace.program);
  }

  result.memory = plan_memory(cluster, options.simulation, trace.program);
  check_memory(result.memory, options.memory);
  ProgramRunOptions run;
  run.simulation = options.simulation;
  run.iterations = options.simulation.iterations;
  if (operations != nullptr) run.simulation.skip = false;  // who hears of operations hears of all of them
  run.nccl = options.nccl;
  if (!links_idle.empty()) links_idle.resize(trace.program.programs.size());
  run.links_idle = std::move(links_idle);
  run.recorded = !trace.full_clock;
  run.gemms_drain = trace.full_clock;  // and recorded GEMMs what slowed them as they drained
  CallTimes calls{operations, run.iterations};
  result.run = run_program(cluster, trace.program, run, observer, &calls);
  result.ranks = trace.program.ranks.size();
  result.simulated = result.run.replay.ranks.size();
  if (result.run.replay.iterations.empty()) return result;
  const Time began = take_begins_off(begin, calls.end(), result);
  result.iteration = result.run.replay.iterations.back();
  take_gaps_off(trace.program, gaps, calls.ran());
  compare(result.traced, work::summarize(trace.program, calls.ran()), result);
  for (const work::RecordedCalls& each : result.traced.calls) {
    const std::size_t ranks =
        each.kind == "send"
            ? each.ranks
            : each.ranks * static_cast<std::size_t>(options.across.empty() && options.replicas > 1 ? options.replicas : 1);
    result.calls.push_back(
        {each.kind, each.bytes, ranks, each.count, each.median, calls.median({each.kind, each.bytes, ranks})});
  }
  for (const work::CriticalStep& step : result.run.replay.critical) {
    const work::RankProgram& of = trace.program.program_of(step.rank);
    if (step.end <= began) continue;
    result.critical[static_cast<std::size_t>(of.operations[step.op].category)] += step.end - std::max(step.start, began);
  }
  result.host_bound =
      std::ranges::max_element(result.critical) - result.critical.begin() == static_cast<std::ptrdiff_t>(Category::kHost);
  return result;
}

}  // namespace weft::scenario
