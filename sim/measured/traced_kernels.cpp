#include "sim/measured/traced_kernels.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/measured/traced_kernel_shapes.h"
#include "sim/workloads/trace/kineto/kernel_names.h"

namespace weft::measured {
namespace {

using work::kineto::DeviceActivity;
using work::kineto::HostOperator;
using work::kineto::RankEvents;

constexpr std::int64_t kShortestNs = 5'000;  // kernels that never take this long are left out
constexpr std::int64_t kLongestGapNs = 20'000;
constexpr std::size_t kEnoughSamples = 16;  // of a kernel, to say what its time at full clock is
constexpr int kChanging = -1;               // collectives came or went while it ran

struct Traced {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t duration = 0;
  TracedShape shape = {};
  int beside = 0;  // SMs that collectives held; kChanging
};

struct Resident {
  std::int64_t start = 0;
  std::int64_t end = 0;
  int ctas = 0;
};

std::int64_t middle(std::vector<std::int64_t> values) {  // twice the median, so that it is whole
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2] + values[values.size() / 2];
}
double median_us(std::vector<std::int64_t> values) { return static_cast<double>(middle(std::move(values))) / 2e3; }

// As JSON writes it: three digits at most, one at least.
std::string number(double value, int digits = 3) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  while (text.back() == '0' && text[text.size() - 2] != '.') text.pop_back();
  return text;
}

class RankKernels {
 public:
  explicit RankKernels(const RankEvents& events) : events_{events} {
    for (const HostOperator& op : events.operators) {
      if (op.external >= 0) operators_.insert_or_assign(op.external, &op);
    }
    std::vector<const DeviceActivity*> activities;
    for (const DeviceActivity& activity : events.activities) activities.push_back(&activity);
    std::ranges::stable_sort(activities, {}, &DeviceActivity::start);
    for (const DeviceActivity* activity : activities) take(*activity);
    for (auto& [external, whole] : scattered_) kernels.push_back(std::move(whole));
    std::ranges::stable_sort(kernels, {}, &Traced::start);
    for (Traced& kernel : kernels) kernel.beside = beside(kernel);
  }

  std::vector<Traced> kernels = {};
  std::vector<Resident> collectives = {};
  std::vector<std::int64_t> gaps = {};
  std::size_t left_out = 0;
  std::size_t launched_by_none = 0;

 private:
  void take(const DeviceActivity& activity) {
    const std::string& name = events_.names[activity.name];
    const std::int64_t end = activity.start + activity.duration;
    if (work::kineto::is_communication_kernel(name)) {
      collectives.push_back({activity.start, end, activity.blocks});
      return;
    }
    if (before_ != nullptr && before_->stream == activity.stream) {
      const std::int64_t gap = activity.start - before_->start - before_->duration;
      if (gap > 0 && gap < kLongestGapNs) gaps.push_back(gap);
    }
    const bool counted =
        before_ != nullptr && before_->external == activity.external && events_.names[before_->name].starts_with("Memset");
    before_ = &activity;
    if (activity.kind != DeviceActivity::Kind::kKernel) return;
    const auto op = operators_.find(activity.external);
    if (op == operators_.end()) {
      ++launched_by_none;
      return;
    }
    std::optional<TracedShape> shape = traced_shape(events_.names[op->second->name], op->second->inputs, name, activity.blocks);
    if (!shape) {
      ++left_out;
      return;
    }
    if (shape->kind == "gemm") add_flag(*shape, "static", !counted);
    if (shape->kind == "embedding_backward") {  // several kernels for one operator
      Traced& whole = scattered_.try_emplace(activity.external, Traced{activity.start, end, 0, *shape}).first->second;
      whole.end = end;
      whole.duration += activity.duration;
      return;
    }
    if (shape->kind == "optimizer") {
      if (!first_adam_) first_adam_ = activity.duration;
      // The embedding comes first, and takes its own time.
      const bool mostly_zero = 100 * activity.duration > 85 * *first_adam_;
      add_flag(*shape, "mostly_zero", mostly_zero);
      if (mostly_zero) first_adam_ = activity.duration;
    }
    kernels.push_back({activity.start, end, activity.duration, *std::move(shape)});
  }

  [[nodiscard]] int beside(const Traced& kernel) const {
    int held = 0;
    bool met = false;
    for (const Resident& each : collectives) {
      if (each.start < kernel.start && each.end > kernel.end) held = std::max(held, each.ctas);
      met = met || (each.start < kernel.end && each.end > kernel.start);
    }
    return held > 0 ? held : met ? kChanging : 0;
  }

  const RankEvents& events_;
  std::unordered_map<std::int64_t, const HostOperator*> operators_;
  std::map<std::int64_t, Traced> scattered_;  // by operator
  const DeviceActivity* before_ = nullptr;
  std::optional<std::int64_t> first_adam_;
};

bool is_tensor_work(const Traced& kernel) {
  return kernel.shape.kind.starts_with("gemm") || kernel.shape.kind.starts_with("attention");
}

// By shape, SMs held beside it, and rank: durations.
using Samples = std::map<std::string, std::map<int, std::map<std::size_t, std::vector<std::int64_t>>>>;

// Time of a GPU in the middle of its like: the 10th percentile of each rank's durations, and of those the median.
double full_clock_us(const std::map<std::size_t, std::vector<std::int64_t>>& by_rank) {
  std::vector<std::int64_t> tenths;
  for (auto [rank, values] : by_rank) {
    std::ranges::sort(values);
    tenths.push_back(values[(values.size() + 9) / 10 - 1]);
  }
  return median_us(std::move(tenths));
}

std::vector<std::int64_t> all_of(const std::map<std::size_t, std::vector<std::int64_t>>& by_rank) {
  std::vector<std::int64_t> all;
  for (const auto& [rank, values] : by_rank) all.insert(all.end(), values.begin(), values.end());
  return all;
}

// Time of GEMMs and attention in the last third of theirs, over that at full clock in the same conditions; 0: too few to say.
double slowdown_of(const RankKernels& rank, const Samples& seen) {
  std::vector<const Traced*> work;
  for (const Traced& kernel : rank.kernels) {
    if (is_tensor_work(kernel)) work.push_back(&kernel);
  }
  if (work.empty()) return 0;
  const std::int64_t begin = work.front()->start;
  const std::int64_t span = work.back()->end - begin;
  double reference_us = 0;
  double actual_us = 0;
  for (const Traced* kernel : work) {
    if (3 * (kernel->start - begin) <= 2 * span || kernel->beside == kChanging) continue;
    const auto& samples = seen.at(kernel->shape.fields).at(kernel->beside);
    if (all_of(samples).size() < kEnoughSamples) continue;
    reference_us += full_clock_us(samples);
    actual_us += static_cast<double>(kernel->duration) / 1e3;
  }
  return reference_us > 0 ? actual_us / reference_us : 0;
}

// Shares of the span of all kernels: GEMMs and attention, and those of them beside collectives.
std::pair<double, double> shares_of(const RankKernels& rank) {
  std::int64_t compute = 0;
  std::int64_t overlap = 0;
  for (const Traced& kernel : rank.kernels) {
    if (!is_tensor_work(kernel)) continue;
    compute += kernel.duration;
    for (const Resident& each : rank.collectives)
      overlap += std::max<std::int64_t>(0, std::min(kernel.end, each.end) - std::max(kernel.start, each.start));
  }
  const auto span = static_cast<double>(rank.kernels.back().end - rank.kernels.front().start);
  return {static_cast<double>(compute) / span, static_cast<double>(overlap) / span};
}

bool write_row(std::ostream& out, const std::string& shape,
               const std::map<int, std::map<std::size_t, std::vector<std::int64_t>>>& by_held) {
  std::string row;
  const std::vector<std::int64_t>* most = nullptr;
  std::vector<std::int64_t> beside;
  int ctas = 0;
  std::int64_t longest = 0;
  for (const auto& [held, by_rank] : by_held) {
    std::vector<std::int64_t> all = all_of(by_rank);
    longest = std::max(longest, std::ranges::max(all));
    if (held == 0) {
      row += fmt::format(", \"us\": {}, \"median_us\": {}, \"count\": {}", number(full_clock_us(by_rank)),
                         number(median_us(all)), all.size());
    } else if (held != kChanging && (most == nullptr || all.size() >= beside.size())) {
      beside = std::move(all);
      most = &beside;
      ctas = held;
    }
  }
  if (most != nullptr) {
    row += fmt::format(", \"beside_us\": {}, \"beside_count\": {}, \"beside_ctas\": {}", number(median_us(beside)),
                       beside.size(), ctas);
  }
  if (longest < kShortestNs || row.empty()) return false;
  fmt::print(out, "{{{}{}}}\n", shape, row);
  return true;
}

}  // namespace

TracedKernels write_traced_kernels(std::ostream& out, std::span<const std::filesystem::path> files, const std::string& gpu,
                                   const work::TraceReadOptions& options) {
  std::vector<RankEvents> events;
  for (const std::filesystem::path& file : files)
    events.push_back(work::kineto::read_events(file, options, work::kineto::Operators::kReadWithShapes));
  std::vector<RankKernels> ranks;
  for (const RankEvents& each : events) ranks.emplace_back(each);
  TracedKernels told;
  Samples seen;
  std::vector<std::int64_t> gaps;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const Traced& kernel : ranks[r].kernels) seen[kernel.shape.fields][kernel.beside][r].push_back(kernel.duration);
    told.kernels += ranks[r].kernels.size();
    told.left_out += ranks[r].left_out;
    told.launched_by_none += ranks[r].launched_by_none;
    gaps.insert(gaps.end(), ranks[r].gaps.begin(), ranks[r].gaps.end());
  }
  if (seen.empty()) {
    throw ConfigError(std::vector{Diagnostic{.where = {.file = files.empty() ? std::string{} : files.front().string()},
                                             .message = "no kernel has an operator with shapes that are known",
                                             .source_line = {},
                                             .note = "profile with record_shapes=True"}});
  }
  const std::string machine = nlohmann::json(events.front().gpu).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  fmt::print(out, "{{\"weft_kernels\": 1, \"gpu\": \"{}\", \"machine\": {}}}\n", gpu, machine);
  for (const auto& [shape, by_held] : seen) told.rows += write_row(out, shape, by_held) ? 1 : 0;
  if (!gaps.empty()) {
    const std::size_t count = gaps.size();
    fmt::print(out, "{{\"kind\": \"gap\", \"us\": {}, \"count\": {}}}\n", number(median_us(std::move(gaps))), count);
  }
  double slowest = 0;
  const RankKernels* last = nullptr;  // it waits for nobody: its collectives last as long as they must
  std::int64_t shortest = 0;
  for (const RankKernels& rank : ranks) {
    if (rank.kernels.empty()) continue;
    slowest = std::max(slowest, slowdown_of(rank, seen));
    std::int64_t sum = 0;
    for (const Resident& each : rank.collectives) sum += each.end - each.start;
    if (last == nullptr || sum < shortest) {
      last = &rank;
      shortest = sum;
    }
  }
  if (slowest > 0) {
    constexpr int kDigits = 4;
    const auto [compute, overlap] = shares_of(*last);
    fmt::print(out, "{{\"kind\": \"clock\", \"compute_share\": {}, \"overlap_share\": {}, \"slowdown\": {}}}\n",
               number(compute, kDigits), number(overlap, kDigits), number(slowest, kDigits));
  }
  return told;
}

}  // namespace weft::measured
