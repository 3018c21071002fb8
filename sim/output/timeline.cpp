#include "sim/output/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/output/trace_writer.h"
#include "sim/scenario/flow_summary.h"

namespace weft::output {
namespace {

void write_call(TraceWriter& trace, const coll::CollectiveResult& call, std::int64_t calls, Time begin, Duration duration) {
  const int tracks = call.ranks <= kMaxRankTracks ? call.ranks : 1;
  std::string name = fmt::format("{} {}", coll::name_of(call.call), call.sizes.reported.count());
  if (calls > 1) name += fmt::format(" x {}", calls);
  for (int rank = 0; rank < tracks; ++rank) {
    trace.begin_span(name, "collective", 0, static_cast<std::size_t>(rank), begin, duration)
        .field("bytes", call.sizes.reported.count())
        .field("algorithm", call.choice.algorithm)
        .field("protocol", call.choice.protocol)
        .field("channels", call.choice.channels)
        .field("ranks", call.ranks)
        .field("calls", calls);
    trace.end_span();
  }
}

}  // namespace

void write_collective_timeline(std::ostream& out, std::span<const coll::CollectiveResult> results,
                               std::span<const std::int64_t> counts, const StepTimeline* steps) {
  TraceWriter trace{out};
  int tracks = 0;
  bool has_shared = false;
  for (const coll::CollectiveResult& call : results) {
    tracks = std::max(tracks, call.ranks <= kMaxRankTracks ? call.ranks : 1);
    has_shared |= call.ranks > kMaxRankTracks;
  }
  trace.name_process(0, "ranks");
  for (int rank = 0; rank < tracks; ++rank) {
    trace.name_thread(0, static_cast<std::size_t>(rank),
                      rank == 0 && has_shared ? "rank 0, or all ranks" : fmt::format("rank {}", rank));
  }
  if (steps != nullptr) steps->name_tracks(trace, 1);
  Time at;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Duration stepped = steps == nullptr ? Duration{} : steps->write(trace, 1, i, at);
    const Time begin = at;
    const std::int64_t calls = counts.empty() ? 1 : counts[i];
    const std::int64_t single = std::min(calls, kMaxCallSpans);
    for (std::int64_t call = 0; call < single; ++call) {
      write_call(trace, results[i], 1, at, results[i].time);
      at += results[i].time;
    }
    if (calls > single) {
      const Duration rest = (calls - single) * results[i].time;
      write_call(trace, results[i], calls - single, at, rest);
      at += rest;
    }
    at = std::max(at, begin + stepped);
  }
  trace.finish();
}

void write_flow_timeline(std::ostream& out, const net::Topology& topology, std::span<const work::FlowItem> flows,
                         std::span<const work::FlowResult> results) {
  TraceWriter trace{out};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (scenario::has_ended(results[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (flows[a].from != flows[b].from) return flows[a].from < flows[b].from;
    return results[a].start != results[b].start ? results[a].start < results[b].start : a < b;
  });
  for (std::size_t begin = 0; begin < order.size();) {
    const DeviceId source = flows[order[begin]].from;
    std::multimap<Time, std::size_t> free_at;  // end of the last flow of each lane
    std::size_t lanes = 0;
    std::size_t hidden = 0;
    std::size_t end = begin;
    for (; end < order.size() && flows[order[end]].from == source; ++end) {
      const std::size_t id = order[end];
      std::size_t lane = lanes;
      if (!free_at.empty() && free_at.begin()->first <= results[id].start) {
        lane = free_at.begin()->second;
        free_at.erase(free_at.begin());
      } else if (lanes == kMaxFlowLanes) {
        ++hidden;
        continue;
      } else {
        ++lanes;
      }
      free_at.emplace(results[id].end, lane);
      JsonWriter& args = trace.begin_span(fmt::format("flow {} to {}", id, topology.name(flows[id].to)), "flow", source.index(),
                                          lane, results[id].start, results[id].end - results[id].start);
      args.field("id", id).field("bytes", results[id].bytes.count());
      if (const auto rate = scenario::rate_gbps(results[id])) args.field("rate_gbps", *rate);
      trace.end_span();
    }
    std::string name = topology.name(source);
    if (hidden > 0) name += fmt::format(" ({} more flows overlap and are not shown)", hidden);
    trace.name_process(source.index(), name);
    begin = end;
  }
  trace.finish();
}

}  // namespace weft::output
