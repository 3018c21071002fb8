#include "sim/output/replay_json.h"

#include <algorithm>
#include <ostream>

#include "sim/output/training_json.h"
#include "sim/scenario/run_scenario.h"

namespace weft::output {
namespace {

void write_categories(JsonWriter& json, std::string_view name, const std::array<Duration, work::kCategories>& times,
                      std::string_view prefix = "") {
  if (!name.empty()) json.key(name).begin_object();
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    if (times[c] > Duration{}) json.key(std::string{prefix} + category_key(c)).raw(ns_text(times[c]));
  }
  if (!name.empty()) json.end_object();
}

void write_trace(JsonWriter& json, const work::Trace& trace, const work::TraceSummary& summary) {
  json.field("format", trace.format).field("traced_ranks", summary.ranks.size()).field("ranks", trace.program.ranks.size());
  json.field("recorded_iterations", trace.recorded_iterations).field("recorded_gpu", trace.recorded_gpu);
  json.field("operations", summary.operations);
  if (trace.recorded_step) {
    json.key("traced_step_ns").raw(ns_text(*trace.recorded_step));
  } else {
    json.null_field("traced_step_ns");
  }
  if (trace.host_held) json.key("traced_host_held_ns").raw(ns_text(*trace.host_held));
}

}  // namespace

void write_replay_result(std::ostream& out, const ResultHeader& header, const work::Trace& trace,
                         const scenario::ReplayRunResult& result, double wall_seconds) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("events", result.run.events).field("transfers", result.run.transfers).field("packet_hops", 0);
  json.field("wall_s", wall_seconds).field("peak_memory_bytes", scenario::peak_memory_bytes());
  json.key("makespan_ns").raw(ns_text(result.run.makespan));
  write_trace(json, trace, result.traced);
  json.field("simulated_ranks", result.simulated);
  json.key("iteration_time_ns").raw(ns_text(result.iteration));
  json.key("iterations_ns").begin_array();
  for (const Duration iteration : result.run.replay.iterations) json.raw(ns_text(iteration));
  json.end_array();
  json.field("iterations_skipped", result.run.replay.skipped);
  if (result.traced_step && *result.traced_step > Duration{}) {
    json.field("relative_error", result.iteration.seconds() / result.traced_step->seconds() - 1);
  }
  json.key("categories").begin_array();
  for (const scenario::ReplayFigure& figure : result.figures) {
    json.begin_object().field("name", figure.name);
    json.key("traced_ns").raw(ns_text(figure.traced)).key("predicted_ns").raw(ns_text(figure.predicted)).end_object();
  }
  json.end_array();
  json.key("collectives").begin_array();
  for (const scenario::ReplayCalls& call : result.calls) {
    json.begin_object()
        .field("collective", call.kind)
        .field("bytes", call.bytes)
        .field("ranks", call.ranks)
        .field("calls", call.count);
    json.key("traced_ns").raw(ns_text(call.traced)).key("predicted_ns").raw(ns_text(call.predicted)).end_object();
  }
  json.end_array();
  json.key("ranks_breakdown").begin_array();
  for (const work::RankResult& rank : result.run.replay.ranks) {
    json.begin_object().field("rank", rank.rank).key("breakdown_ns").begin_object();
    write_categories(json, "", rank.last.busy);
    write_categories(json, "", rank.last.exposed, "exposed_");
    json.key("compute").raw(ns_text(rank.last.compute)).key("bubble").raw(ns_text(rank.last.bubble));
    json.key("skew").raw(ns_text(rank.last.skew)).key("idle").raw(ns_text(rank.last.idle));
    json.end_object().end_object();
  }
  json.end_array();
  write_categories(json, "critical_path_ns", result.critical);
  json.field("host_bound", result.host_bound);
  json.end_object();
  json.finish();
}

void write_trace_summary(std::ostream& out, const work::Trace& trace, const work::TraceSummary& summary) {
  JsonWriter json{out};
  json.begin_object();
  write_trace(json, trace, summary);
  json.key("findings").begin_array();
  for (const Diagnostic& finding : trace.findings) json.value(finding.message);
  json.end_array();
  json.key("collectives").begin_array();
  for (const work::RecordedCalls& call : summary.calls) {
    json.begin_object()
        .field("collective", call.kind)
        .field("bytes", call.bytes)
        .field("ranks", call.ranks)
        .field("calls", call.count);
    json.key("shortest_ns").raw(ns_text(call.shortest)).key("median_ns").raw(ns_text(call.median));
    json.key("longest_ns").raw(ns_text(call.longest)).end_object();
  }
  json.end_array();
  json.key("by_rank").begin_array();
  for (const work::RecordedRank& rank : summary.ranks) {
    json.begin_object().field("rank", rank.rank).field("operations", rank.operations).key("span_ns").raw(ns_text(rank.span));
    json.key("compute_ns").raw(ns_text(rank.compute)).key("communication_ns").raw(ns_text(rank.communication));
    json.key("exposed_ns").raw(ns_text(rank.exposed));
    write_categories(json, "busy_ns", rank.busy);
    json.end_object();
  }
  json.end_array().end_object();
  json.finish();
}

}  // namespace weft::output
