// Streams that run at once on every rank, as a program for the Replayer: what each part's last call ends at.
//
// Model: all ranks start at once; what they run is at the clocks that its load allows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/core/error.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"
#include "sim/measured/readers/nccl_tests_parser.h"
#include "sim/network/launch_timings.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/scenario/program_run.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/program.h"

namespace weft::measured {
namespace {

using work::Operation;
using work::OpKind;

void read_overlap(const detail::JsonRecord& record, MeasuredPoint& measured) {
  measured.ranks = record.whole_within("ranks", 1, 1, detail::kMaxRanks);
  measured.gpus_per_thread = record.object("layout").whole_within("gpus_per_thread", 1, 1, detail::kMaxRanks);
  for (const detail::JsonRecord& entry : record.objects("parts")) {
    OverlapPart part;
    part.op = entry.text("op");
    part.bytes = entry.bytes("bytes");
    part.type = entry.text("type");
    part.m = entry.dimension("m");
    part.n = entry.dimension("n");
    part.k = entry.dimension("k");
    part.calls = entry.whole_within("calls", 1, 1, detail::kMostCalls);
    part.groups = entry.lists_of_ints("groups");
    part.median_us = entry.number("median_us", 0);
    part.shortest_us = entry.number("min_us", 0);
    part.longest_us = entry.number("max_us", 0);
    if (measured.bytes == Bytes{}) measured.bytes = part.bytes;
    measured.parts.push_back(std::move(part));
  }
}

// When each stream's last operation ended, on the slowest rank, in the last iteration.
class StreamEnds final : public work::ReplayObserver {
 public:
  explicit StreamEnds(std::size_t streams) : ends_(streams) {}
  void on_program(const work::Program& program) override { program_ = &program; }
  void on_operation(const Span& span) override {
    const Operation& op = program_->program_of(span.rank).operations[span.op];
    ends_[op.stream] = std::max(ends_[op.stream], span.end);
  }
  [[nodiscard]] Time end(std::size_t stream) const { return ends_[stream]; }

 private:
  const work::Program* program_ = nullptr;
  std::vector<Time> ends_;
};

// Throws ConfigError for what has no model.
Operation operation_of(const OverlapPart& part, const work::KernelTimes& times) {
  Operation op;
  if (part.op == "gemm") {
    work::Kernel kernel;
    kernel.kind = work::KernelKind::kGemm;
    kernel.m = part.m;
    kernel.n = part.n;
    kernel.k = part.k;
    if (part.m <= 0 || part.n <= 0 || part.k <= 0) throw ConfigError("a GEMM without sizes");
    op.duration = times.alone(kernel) + times.gap();
    work::set_load(op, times.load(kernel, op.duration));
    op.category = work::Category::kGemm;
    op.fills_gpu = true;
    return op;
  }
  if (part.op == "copy") {
    work::Kernel kernel;
    kernel.kind = work::KernelKind::kCopy;
    kernel.bytes = 2.0 * static_cast<double>(part.bytes.count());  // read and written
    op.duration = times.alone(kernel) + times.gap();
    work::set_load(op, times.load(kernel, op.duration));
    op.fills_memory = work::fills_memory(work::class_of(kernel.kind), kernel.bytes);
    op.fills_gpu = true;  // its blocks were all queued before those of a collective that becomes ready
    return op;
  }
  const auto kind = coll::collective_from(part.op);
  if (!kind) throw ConfigError(fmt::format("'{}' beside others", part.op));
  op.kind = OpKind::kCollective;
  op.collective = *kind;
  op.bytes = part.bytes;
  op.category = work::Category::kCommOther;
  op.element_size = part.type == "float" ? 4 : 2;
  return op;
}

bool is_collective(const OverlapPart& part) { return part.op != "gemm" && part.op != "copy"; }

// A communicator for every group of every part; a part is a slot of every rank.
void add_groups(const MeasuredPoint& point, work::Program& program) {
  std::uint16_t slot = 0;
  for (const OverlapPart& part : point.parts) {
    if (!is_collective(part)) continue;
    std::vector<std::vector<int>> groups = part.groups;
    if (groups.empty()) {
      groups.emplace_back(static_cast<std::size_t>(point.ranks));
      std::iota(groups.front().begin(), groups.front().end(), 0);
    }
    for (const std::vector<int>& members : groups) {
      work::Group group{.name = fmt::format("part {}", slot), .ranks = {}};
      for (const int rank : members) {
        if (rank < 0 || rank >= point.ranks) throw ConfigError(fmt::format("rank {} of {}", rank, point.ranks));
        work::ProgramRank& place = program.ranks[static_cast<std::size_t>(rank)];
        if (place.groups.size() != slot) throw ConfigError("a rank in two communicators of one part");
        place.groups.push_back(static_cast<std::uint32_t>(program.groups.size()));
        group.ranks.push_back(static_cast<Rank>(rank));
      }
      program.groups.push_back(std::move(group));
    }
    ++slot;
    for (const work::ProgramRank& rank : program.ranks) {
      if (rank.groups.size() != slot) throw ConfigError("a part that not all ranks take part in");
    }
  }
}

work::Program program_of(const net::Cluster& cluster, const MeasuredPoint& point, const work::KernelTimes& times) {
  const std::vector<DeviceId>& devices = cluster.topology.endpoints();
  if (point.ranks < 1 || static_cast<std::size_t>(point.ranks) > devices.size())
    throw ConfigError(fmt::format("{} ranks on a cluster of {}", point.ranks, devices.size()));
  work::Program program;
  program.devices.assign(devices.begin(), devices.begin() + point.ranks);
  for (int rank = 0; rank < point.ranks; ++rank) program.ranks.push_back({.leader = static_cast<Rank>(rank)});
  add_groups(point, program);

  work::RankProgramBuilder builder;
  std::uint16_t slot = 0;
  for (std::size_t i = 0; i < point.parts.size(); ++i) {
    const OverlapPart& part = point.parts[i];
    Operation op = operation_of(part, times);
    op.stream = builder.stream(fmt::format("part {}", i));
    if (is_collective(part)) op.slot = slot++;
    for (int call = 0; call < part.calls; ++call) {
      op.launched = call == 0 || point.what != "collective_in_graph";
      builder.add(op, part.op);
    }
  }
  program.programs.push_back(builder.take());
  return program;
}

// GPUs of one kind are not equally fast, and nothing but the collectives keeps them in step here. Evenly spaced speeds, of that
// sample deviation; the slowest at the kernels' own, which the slowest of a group was measured at (clock.h).
std::vector<std::pair<Rank, double>> out_of_step(double deviation, int ranks) {
  std::vector<std::pair<Rank, double>> factors;
  const double step = deviation / std::sqrt(ranks * (ranks + 1.0) / 12.0);
  for (Rank rank = 1; rank < ranks; ++rank) factors.emplace_back(rank, 1.0 - step * rank);
  return factors;
}

// When each part ends.
std::vector<double> ends_of_parts(const PointPlace& place, const MeasuredPoint& measured) {
  const net::Cluster& cluster = place.cluster;
  const work::KernelTimes times{scenario::cluster_gpu(cluster.topology, "overlap"), cluster.profile};
  const work::Program program = program_of(cluster, measured, times);
  scenario::ProgramRunOptions run;
  run.iterations = 1;
  run.gpus_alike = true;  // they do not wait for the slowest
  run.simulation.seed = place.options.seed;
  run.simulation.grain = place.options.grain;
  run.nccl = scenario::nccl_settings(cluster, {});
  for (const auto& [key, value] : measured.env) run.nccl.set_from_log(key, value);
  // Beside compute the clock falls while the samples are taken; what was read after them is not theirs.
  if (std::ranges::all_of(measured.parts, is_collective)) run.slowdown = measured.slowdown;
  if (std::ranges::any_of(measured.parts, [](const OverlapPart& part) { return part.op == "gemm"; })) {
    run.jitter.stragglers = out_of_step(cluster.profile.get(work::power_spread).of_time(), measured.ranks);
  }
  StreamEnds ends{measured.parts.size()};
  const scenario::ProgramRunResult result = scenario::run_program(cluster, program, run, nullptr, &ends);
  if (result.interrupted) throw ConfigError("interrupted");
  std::vector<double> us;
  for (std::size_t i = 0; i < measured.parts.size(); ++i) us.push_back((ends.end(i) - Time{}).us());
  return us;
}

// "all_reduce beside gemm".
std::string part_label(const MeasuredPoint& measured, std::size_t part) {
  const OverlapPart& own = measured.parts[part];
  std::string label = own.groups.empty() ? own.op : fmt::format("{} in {} groups", own.op, own.groups.size());
  for (std::size_t j = 0; j < measured.parts.size(); ++j) {
    if (j != part) label += " beside " + measured.parts[j].op;
  }
  return measured.what == "collective_in_graph" ? label + " in a CUDA graph" : label;
}

std::vector<ValidationPoint> predict_overlap(const PointPlace& place, const MeasuredPoint& measured, ValidationPoint point) {
  if (measured.parts.empty()) return not_modelled(std::move(point), fmt::format("overlap '{}'", measured.what));
  std::vector<double> ends;
  try {
    ends = ends_of_parts(place, measured);
  } catch (const ConfigError& error) {
    point.not_modelled = error.diagnostics().front().message;
  }
  std::vector<ValidationPoint> points;
  for (std::size_t i = 0; i < measured.parts.size(); ++i) {
    const OverlapPart& part = measured.parts[i];
    point.bytes = part.bytes;
    point.algorithm = part_label(measured, i);
    point.measured_us = part.median_us > 0 ? part.median_us : measured.median_us;
    point.measured_low_us = part.shortest_us;
    point.measured_high_us = part.longest_us;
    if (!ends.empty()) point.predicted_us = ends[i];
    points.push_back(point);
  }
  return points;
}

// Samples that lie as far apart as this, over their median, have more than one outcome: which of them is the median is chance.
// Two nodes of 2 x H200 measured 134 times of streams side by side (validate/measured/h200x2_full.jsonl and
// h200x2_full_later.jsonl). Of these, 129 agree within 7 %. The five others, calls of 1 MiB beside kernels, are 16 to 78 %
// apart; their samples spread by 0.05 to 0.8 on one node and by 0.6 to 1.4 on the other.
constexpr double kUnsteadySpread = 0.4;

Exclusion overlap_exclusion(const ValidationPoint& point) {
  const double spread = point.measured_high_us - point.measured_low_us;
  const bool is_unsteady = point.measured_low_us > 0 && spread > kUnsteadySpread * point.measured_us;
  return is_unsteady ? Exclusion::kUnsteady : Exclusion::kNone;
}

}  // namespace

const PointKind overlap_kind{
    .name = "overlap", .read = read_overlap, .predict = predict_overlap, .exclusion = overlap_exclusion};

}  // namespace weft::measured
