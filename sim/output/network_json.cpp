#include "sim/output/network_json.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <ostream>
#include <string>

#include "sim/core/config/quantity.h"
#include "sim/core/csv_field.h"
#include "sim/scenario/flow_summary.h"

namespace weft::output {
namespace {

void write_time(JsonWriter& json, std::string_view key, Time time) {
  json.key(key).raw(time == Time::max() ? "null" : ns_text(time - Time{}));
}

void write_rate(JsonWriter& json, const scenario::RunResult& result, std::size_t flow) {
  const std::vector<scenario::FlowMeasure>& measured = result.network.flow_rates;
  if (!measured.empty()) {
    json.field("rate_gbps", measured[flow].rate_gbps).field("wire_rate_gbps", measured[flow].wire_rate_gbps);
  } else if (const std::optional<double> rate = scenario::rate_gbps(result.flows[flow])) {
    json.field("rate_gbps", *rate);
  } else {
    json.null_field("rate_gbps");
  }
}

void write_messages(JsonWriter& json, const work::MessageCounts& counts) {
  json.field("messages", counts.posted).field("messages_delivered", counts.delivered);
  if (counts.delivered == 0) return;
  json.field("mean_message_ns", counts.latency_ps / static_cast<double>(counts.delivered) / 1e3);
  json.key("max_message_ns").raw(ns_text(counts.max_latency));
}

void write_port(JsonWriter& json, const scenario::PortResult& port) {
  json.begin_object().field("name", port.name).field("utilization", port.utilization).field("packets", port.packets);
  json.field("peak_queue_bytes", port.peak_queue_bytes).field("mean_queue_bytes", port.mean_queue_bytes);
  json.field("mean_wait_ns", port.mean_wait_ns).field("peak_ingress_bytes", port.peak_ingress_bytes);
  json.field("marks", port.marks).field("drops", port.drops);
  json.field("total_marks", port.total_marks).field("total_drops", port.total_drops);
  json.key("paused_ns").raw(ns_text(port.paused));
  json.key("xmit_wait_ns").raw(ns_text(port.xmit_wait));
  json.end_object();
}

void write_series(JsonWriter& json, const scenario::NetworkReport& report) {
  json.key("series").begin_array();
  for (const scenario::Series& series : report.series) {
    json.begin_object().field("quantity", series.quantity).field("of", series.of).key("time_ns").begin_array();
    for (const Time time : report.sample_times) json.raw(ns_text(time - Time{}));
    json.end_array().key("value").begin_array();
    for (const double value : series.values) json.value(value);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

void write_flows(JsonWriter& json, const scenario::RunResult& result) {
  json.key("flows").begin_array();
  for (std::size_t i = 0; i < result.flows.size(); ++i) {
    const work::FlowResult& flow = result.flows[i];
    json.begin_object().field("id", i).field("bytes", flow.bytes.count());
    write_time(json, "start_ns", flow.start);
    const bool ended = scenario::has_ended(flow);
    write_time(json, "end_ns", ended ? flow.end : Time::max());
    json.key("fct_ns").raw(ended ? ns_text(flow.end - flow.start) : "null");
    write_rate(json, result, i);
    if (!result.network.flow_counters.empty()) {
      const net::FlowCounters& counters = result.network.flow_counters[i];
      json.field("packets_sent", counters.packets_sent).field("retransmitted", counters.retransmitted);
      json.field("cnps", counters.cnps)
          .field("timeouts", counters.timeouts)
          .field("delivered_wire_bytes", counters.delivered_wire_bytes);
    }
    if (!result.messages.empty() && result.messages[i]) write_messages(json, *result.messages[i]);
    if (flow.aborted) json.field("aborted", true);
    json.end_object();
  }
  json.end_array();
}

void write_jobs(JsonWriter& json, const work::Workload& workload, const scenario::RunResult& result) {
  json.key("jobs").begin_array();
  for (std::size_t j = 0; j < result.jobs.size(); ++j) {
    json.begin_object().field("name", workload.jobs[j].name);
    if (const std::optional<work::JobAbort>& aborted = result.jobs[j].aborted) {
      json.field("aborted", true);
      write_time(json, "aborted_ns", aborted->at);
      json.field("aborted_why", aborted->why);
    }
    json.key("iterations").begin_array();
    for (const work::JobIteration& iteration : result.jobs[j].iterations) {
      json.begin_object();
      write_time(json, "start_ns", iteration.start);
      write_time(json, "sent_ns", iteration.sent);
      write_time(json, "end_ns", iteration.end);
      json.key("time_ns").raw(iteration.end == Time::max() ? "null" : ns_text(iteration.end - iteration.start));
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_network(JsonWriter& json, const net::Topology& topology, const scenario::NetworkReport& report) {
  json.key("measured_from_ns").raw(ns_text(report.from - Time{})).key("measured_to_ns").raw(ns_text(report.to - Time{}));
  if (report.jain_index) {
    json.field("jain_index", *report.jain_index);
  } else {
    json.null_field("jain_index");
  }
  if (!report.ports.empty()) {
    json.key("ports").begin_array();
    for (const scenario::PortResult& port : report.ports) write_port(json, port);
    json.end_array();
  }
  if (!report.series.empty()) write_series(json, report);
  if (!report.is_packet) return;
  json.key("pauses").begin_array();
  for (const net::PauseRecord& pause : report.pauses) {
    json.begin_object().field("link", topology.name(pause.link)).field("priority", pause.priority);
    write_time(json, "start_ns", pause.start);
    write_time(json, "end_ns", pause.end);
    json.end_object();
  }
  json.end_array().key("storms").begin_array();
  for (const net::StormRecord& storm : report.storms) {
    json.begin_object().field("link", topology.name(storm.link)).field("priority", storm.priority);
    write_time(json, "detected_ns", storm.detected);
    write_time(json, "restored_ns", storm.restored);
    json.field("dropped_packets", storm.dropped).end_object();
  }
  json.end_array().key("deadlock");
  if (!report.deadlock) {
    json.null();
    return;
  }
  json.begin_object().key("time_ns").raw(ns_text(report.deadlock->at - Time{})).key("links").begin_array();
  for (const LinkId link : report.deadlock->links) json.value(topology.name(link));
  json.end_array().end_object();
}

void write_series_csv(std::ostream& out, const scenario::NetworkReport& report) {
  out << "time_ns";
  for (const scenario::Series& series : report.series)
    out << ',' << csv_field(fmt::format("{} {}", series.quantity, series.of));
  out << '\n';
  for (std::size_t i = 0; i < report.sample_times.size(); ++i) {
    out << ns_text(report.sample_times[i] - Time{});
    for (const scenario::Series& series : report.series) {
      out << ',' << (std::isnan(series.values[i]) ? std::string{} : number_text(series.values[i]));
    }
    out << '\n';
  }
}

}  // namespace weft::output
