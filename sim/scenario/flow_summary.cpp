#include "sim/scenario/flow_summary.h"

#include <algorithm>

namespace weft::scenario {
namespace {

double gigabits_per_second(Bytes bytes, Duration duration) {
  return 8 * static_cast<double>(bytes.count()) / duration.seconds() / 1e9;
}

}  // namespace

std::optional<double> rate_gbps(const work::FlowResult& flow) {
  if (!has_ended(flow) || flow.end <= flow.start) return std::nullopt;
  return gigabits_per_second(flow.bytes, flow.end - flow.start);
}

FlowSummary summarize_flows(std::span<const work::FlowResult> flows, std::size_t slowest) {
  FlowSummary summary;
  summary.flows = flows.size();
  std::vector<Duration> times;
  std::vector<std::size_t> ids;
  times.reserve(flows.size());
  ids.reserve(flows.size());
  Time first = Time::max();
  Time last;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].aborted) ++summary.aborted;
    if (!has_ended(flows[i])) continue;
    summary.bytes += flows[i].bytes;
    first = std::min(first, flows[i].start);
    last = std::max(last, flows[i].end);
    times.push_back(flows[i].end - flows[i].start);
    ids.push_back(i);
  }
  summary.finished = times.size();
  if (times.empty()) return summary;

  const std::size_t shown = std::min(slowest, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(shown), ids.end(),
                    [&](std::size_t a, std::size_t b) {
                      const Duration of_a = flows[a].end - flows[a].start;
                      const Duration of_b = flows[b].end - flows[b].start;
                      return of_a != of_b ? of_a > of_b : a < b;
                    });
  ids.resize(shown);
  summary.slowest = std::move(ids);

  std::sort(times.begin(), times.end());
  summary.min_fct = times.front();
  summary.median_fct = times[(times.size() - 1) / 2];
  summary.p99_fct = times[(99 * times.size() + 99) / 100 - 1];  // ceil(0.99 n)-th smallest
  summary.max_fct = times.back();
  summary.last_end = last - Time{};
  if (last > first) summary.rate_gbps = gigabits_per_second(summary.bytes, last - first);
  return summary;
}

}  // namespace weft::scenario
