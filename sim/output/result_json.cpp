#include "sim/output/result_json.h"

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <sstream>

#include "sim/output/cost_json.h"
#include "sim/output/inference_json.h"
#include "sim/output/network_json.h"
#include "sim/output/training_json.h"
#include "sim/planning/compare.h"

namespace weft::output {
namespace {

// One point, as `collective` and `run` give it; the object stays open for more members.
void begin_point(JsonWriter& json, const coll::CollectiveResult& point, std::string_view type) {
  json.begin_object();
  json.field("collective", coll::name_of(point.call)).field("ranks", point.ranks).field("nodes", point.nodes);
  json.field("bytes", point.sizes.reported.count()).field("count", point.sizes.count).field("type", type);
  json.field("redop", scenario::redop_of(point.call)).field("root", scenario::has_root(point.call.kind) ? point.call.root : -1);
  json.field("algorithm", point.choice.algorithm)
      .field("protocol", point.choice.protocol)
      .field("channels", point.choice.channels)
      .field("chunk_bytes", point.choice.chunk.count())
      .field("warps", point.choice.warps);
  json.key("time_us").raw(us_text(point.time));
  json.field("algbw_GBps", point.algorithm_bandwidth_gbps()).field("busbw_GBps", point.bus_bandwidth_gbps());
  json.key("device_us").raw(us_text(point.device));
  json.key("launch_us").raw(us_text(point.launch));
  json.field("grain", coll::to_string(point.grain)).field("messages", point.messages);
}

void write_hybrid(JsonWriter& json, const net::HybridTotals& totals) {
  json.key("hybrid").begin_object();
  json.field("packet_transfers", totals.packet_transfers).field("packet_bytes", totals.packet_bytes);
  json.field("flow_transfers", totals.flow_transfers).field("flow_bytes", totals.flow_bytes);
  json.field("packet_share", totals.packet_share()).field("shared_links", totals.shared_links);
  json.end_object();
}

void write_links(JsonWriter& json, const std::vector<scenario::LinkUse>& links) {
  json.key("hottest_links").begin_array();
  for (const scenario::LinkUse& link : links) {
    json.begin_object().field("name", link.name).field("bytes", link.bytes).field("utilization", link.utilization);
    json.key("busy_ns").raw(ns_text(link.busy));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_collective_result(std::ostream& out, const ResultHeader& header, const scenario::SweepResult& result,
                             std::string_view type) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("events", result.events).field("transfers", result.transfers).field("wall_s", result.wall_seconds);
  json.field("peak_memory_bytes", scenario::peak_memory_bytes());
  if (result.hybrid) write_hybrid(json, *result.hybrid);
  json.field("avg_busbw_GBps", result.mean_bus_bandwidth_gbps());
  json.key("points").begin_array();
  for (const coll::CollectiveResult& point : result.points) {
    begin_point(json, point, type);
    json.end_object();
  }
  json.end_array().end_object();
  json.finish();
}

void write_run_result(std::ostream& out, const ResultHeader& header, const scenario::Scenario& scenario,
                      const scenario::RunResult& result) {
  write_run_result(out, header, scenario, result, nullptr, {});
}

void write_run_result(std::ostream& out, const ResultHeader& header, const scenario::Scenario& scenario,
                      const scenario::RunResult& result, const plan::CostedCluster* costed, const plan::RunCost& cost,
                      std::span<const measured::ServerComparison> measured) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("events", result.events).field("transfers", result.transfers);
  json.field("packet_hops", result.network.packet_hops);
  if (result.network.is_packet) json.field("parts", result.parts);
  if (result.hybrid) write_hybrid(json, *result.hybrid);
  json.field("wall_s", result.wall_seconds).field("peak_memory_bytes", scenario::peak_memory_bytes());
  json.key("makespan_ns").raw(ns_text(result.makespan));
  json.field("solves", result.solves).field("peak_live_transfers", result.peak_live);
  if (!result.collectives.empty()) {
    json.key("points").begin_array();
    for (std::size_t i = 0; i < result.collectives.size(); ++i) {
      const coll::CollectiveResult& point = result.collectives[i];
      begin_point(json, point, scenario::type_name_of(point.call.element_size));
      json.field("calls", result.counts[i]).end_object();
    }
    json.end_array();
  }
  if (result.training) write_training(json, *result.training);
  if (!result.training_jobs.empty()) write_training_jobs(json, result.training_jobs);
  if (result.inference) write_inference(json, *result.inference);
  write_server_comparisons(json, measured);
  if (!result.flows.empty()) write_flows(json, result);
  if (!result.jobs.empty()) write_jobs(json, scenario.workload, result);
  if (!result.flows.empty() || result.network.is_packet || scenario.measure.stated) {
    write_network(json, scenario.cluster.topology, result.network);
  }
  if (!result.time_story.empty()) json.field("time_story", result.time_story);
  write_links(json, result.hottest);
  if (costed != nullptr) write_costs(json, *costed, cost);
  json.end_object();
  json.finish();
}

void write_compare_result(std::ostream& out, const ResultHeader& header, const plan::Comparison& comparison) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("events", comparison.events).field("transfers", comparison.transfers).field("wall_s", comparison.wall_seconds);
  json.field("peak_memory_bytes", scenario::peak_memory_bytes());
  json.key("clusters").begin_array();
  for (const plan::ComparedCluster& cluster : comparison.clusters) {
    json.begin_object().field("name", cluster.name).field("file", cluster.file).field("nodes", cluster.nodes);
    json.field("endpoints", cluster.endpoints).key("profile");
    write_profile(json, cluster.profile);
    if (cluster.costed.cost) write_capital(json, *cluster.costed.cost);
    if (cluster.costed.power) write_power(json, *cluster.costed.power);
    json.key("configuration").raw(cluster.configuration).end_object();
  }
  json.end_array();
  json.key("workloads").begin_array();
  for (const plan::ComparedWorkload& workload : comparison.workloads) {
    json.begin_object()
        .field("scenario", workload.scenario)
        .field("collective", workload.kind)
        .field("bytes", workload.bytes.count());
    json.key("runs").begin_array();
    for (std::size_t i = 0; i < workload.runs.size(); ++i) {
      const std::optional<plan::ComparedRun>& run = workload.runs[i];
      if (!run) {
        json.null();
        continue;
      }
      json.begin_object().field("cluster", comparison.clusters[i].name).key("time_us").raw(us_text(run->time));
      if (const auto ratio = workload.ratio(i)) {
        json.field("ratio", *ratio);
      } else {
        json.null_field("ratio");
      }
      if (run->error) json.field("time_error", *run->error).field("within_error", workload.is_within_error(i));
      const bool has_tokens = run->tokens_per_second > 0;
      if (has_tokens) json.field("tokens_per_second", run->tokens_per_second);
      if (run->mfu > 0) json.field("mfu", run->mfu);
      if (run->idle_gpus > 0) json.field("idle_gpus", run->idle_gpus);
      json.key("exposed_ns").begin_object();
      for (std::size_t l = 0; l < scenario::kLinkClasses; ++l) {
        if (run->exposed[l] > Duration{})
          json.key(to_string(static_cast<scenario::LinkClass>(l))).raw(ns_text(run->exposed[l]));
      }
      json.end_object();
      const plan::CostedCluster& costed = comparison.clusters[i].costed;
      if (costed.cost || costed.power) write_run_cost(json, run->cost, costed.cost.has_value(), costed.power.has_value());
      if (!run->sensitivity.empty()) {
        json.key("sensitivity").begin_array();
        for (const plan::SensitivityPoint& point : run->sensitivity) {
          json.begin_object().field("parameter", point.parameter).key("time_us").raw(us_text(point.time));
          json.field("gain", point.gain).end_object();
        }
        json.end_array();
      }
      if (run->ranks > 0 && !has_tokens) {
        json.field("busbw_GBps", run->busbw_gigabytes_per_second).field("algorithm", run->algorithm);
        json.field("protocol", run->protocol).field("channels", run->channels);
        json.field("ranks", run->ranks).field("nodes", run->nodes);
      }
      json.key("bottleneck");
      if (run->busiest_link.empty()) {
        json.null();
      } else {
        json.begin_object().field("link", run->busiest_link).field("utilization", run->busiest_utilization).end_object();
      }
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  json.finish();
}

}  // namespace weft::output
