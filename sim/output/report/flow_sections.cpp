#include "sim/output/report/flow_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "sim/output/report/chart.h"

namespace weft::output {
namespace {

constexpr std::size_t kRows = 12;
constexpr std::size_t kPointsOfCurve = 200;

std::string us(double ns) { return figure(ns / 1e3); }

// The nearest rank: of n values in order the one at ceil(share x n), from 1 on.
double at_share(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()) - 1e-9));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

void add_times(Document& document, const OrderedJson& flows) {
  std::vector<double> times;
  std::size_t aborted = 0;
  for (const OrderedJson& flow : flows) {
    if (const double time = json_number(flow, "fct_ns"); std::isfinite(time)) times.push_back(time);
    aborted += flow.value("aborted", false) ? 1 : 0;
  }
  std::ranges::sort(times);
  std::vector<std::string> row{std::to_string(flows.size()), std::to_string(times.size()), std::to_string(aborted)};
  for (const double share : {0.0, 0.5, 0.9, 0.99, 1.0}) row.push_back(times.empty() ? "-" : us(at_share(times, share)));
  add_table(document, "Flow completion times",
            {{"flows", false},
             {"ended", false},
             {"aborted", false},
             {"least (us)", false},
             {"median (us)", false},
             {"p90 (us)", false},
             {"p99 (us)", false},
             {"most (us)", false}},
            {row});
  if (times.size() < 3) return;
  ChartSeries series{.mark = times.size() > kPointsOfCurve ? Mark::kLine : Mark::kLineAndDots};
  const std::size_t points = std::min(times.size(), kPointsOfCurve);
  for (std::size_t i = 1; i <= points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(points);
    series.points.push_back({at_share(times, share) / 1e3, share, {}});
  }
  document.add(ChartBlock{to_svg(XyChart{.title = "Flows that have ended after",
                                         .x = {.text = TickText::kMicroseconds},
                                         .y = {.title = "of those that end", .text = TickText::kPercent, .min = 0, .max = 1},
                                         .series = {series}}),
                          {}});
}

void add_slowest(Document& document, const OrderedJson& flows) {
  std::vector<const OrderedJson*> slowest;
  for (const OrderedJson& flow : flows) slowest.push_back(&flow);
  // One that did not end took longest.
  const auto time = [](const OrderedJson* flow) {
    const double ns = json_number(*flow, "fct_ns");
    return std::isfinite(ns) ? ns : HUGE_VAL;
  };
  std::ranges::stable_sort(slowest, [&](const OrderedJson* a, const OrderedJson* b) { return time(a) > time(b); });
  if (slowest.size() > kRows) slowest.resize(kRows);
  const auto count = [](const OrderedJson& flow, const char* key) { return flow.contains(key) ? text_of(flow, key) : "-"; };
  std::vector<std::vector<std::string>> rows;
  for (const OrderedJson* flow : slowest) {
    rows.push_back({text_of(*flow, "id"), text_of(*flow, "bytes"), us(json_number(*flow, "start_ns")),
                    us(json_number(*flow, "fct_ns")), figure(json_number(*flow, "rate_gbps")), count(*flow, "packets_sent"),
                    count(*flow, "retransmitted"), count(*flow, "timeouts"), count(*flow, "cnps")});
  }
  add_table(document, "Slowest flows",
            {{"flow", false},
             {"bytes", false},
             {"start (us)", false},
             {"took (us)", false},
             {"rate (Gb/s)", false},
             {"packets", false},
             {"sent again", false},
             {"time-outs", false},
             {"CNPs", false}},
            std::move(rows));
}

void add_jobs(Document& document, const OrderedJson& jobs) {
  std::vector<std::vector<std::string>> rows;
  for (const OrderedJson& job : jobs) {
    double sum = 0;
    double most = 0;
    std::size_t done = 0;
    for (const OrderedJson& iteration : list(job, "iterations")) {
      const double time = json_number(iteration, "time_ns");
      if (!std::isfinite(time)) continue;
      sum += time;
      most = std::max(most, time);
      ++done;
    }
    rows.push_back({text_of(job, "name"), std::to_string(done), done > 0 ? us(sum / static_cast<double>(done)) : "-",
                    done > 0 ? us(most) : "-", job.contains("aborted_why") ? text_of(job, "aborted_why") : "-"});
  }
  add_table(document, "Jobs",
            {{"job", true}, {"iterations", false}, {"mean (us)", false}, {"longest (us)", false}, {"aborted", true}},
            std::move(rows));
}

// The ports that lost, queued, paused or carried most.
void add_ports(Document& document, const OrderedJson& result) {
  std::vector<const OrderedJson*> ports;
  double drops = 0;
  double marks = 0;
  for (const OrderedJson& port : list(result, "ports")) {
    ports.push_back(&port);
    drops += json_number(port, "drops");
    marks += json_number(port, "marks");
  }
  if (ports.empty() || !ports.front()->contains("peak_queue_bytes") || value_of(result, "pauses").is_null()) return;
  document.add(TileBlock{{{.label = "dropped", .value = fmt::format("{:.0f}", drops), .note = "packets"},
                          {.label = "marked", .value = fmt::format("{:.0f}", marks), .note = "packets"},
                          {.label = "pauses", .value = std::to_string(list(result, "pauses").size())},
                          {.label = "deadlock", .value = value_of(result, "deadlock").is_null() ? "none" : "yes"}}});
  const auto rank = [](const OrderedJson* port) {
    return std::tuple{-json_number(*port, "drops"), -json_number(*port, "peak_queue_bytes"), -json_number(*port, "paused_ns"),
                      -json_number(*port, "utilization")};
  };
  std::ranges::stable_sort(ports, [&](const OrderedJson* a, const OrderedJson* b) { return rank(a) < rank(b); });
  const std::size_t all = ports.size();
  if (all > kRows) ports.resize(kRows);
  std::vector<std::vector<std::string>> rows;
  for (const OrderedJson* port : ports) {
    rows.push_back({text_of(*port, "name"), percent_text(json_number(*port, "utilization")),
                    figure(json_number(*port, "peak_queue_bytes") / 1e3), figure(json_number(*port, "mean_queue_bytes") / 1e3),
                    us(json_number(*port, "mean_wait_ns")), us(json_number(*port, "paused_ns")), text_of(*port, "marks"),
                    text_of(*port, "drops")});
  }
  add_table(document, fmt::format("Ports, of {} in use: most lost, queued, paused, used", all),
            {{"port", true},
             {"used", false},
             {"longest queue (kB)", false},
             {"mean queue (kB)", false},
             {"mean wait (us)", false},
             {"paused (us)", false},
             {"marks", false},
             {"drops", false}},
            std::move(rows));
}

}  // namespace

void add_flow_sections(Document& document, const OrderedJson& result) {
  const OrderedJson& flows = list(result, "flows");
  if (!flows.empty()) {
    add_times(document, flows);
    if (const double index = json_number(result, "jain_index"); std::isfinite(index))
      document.add(TextBlock{fmt::format("Jain's index of the flows' rates is {:.4f}.", index)});
    if (const std::string story = text_of(result, "time_story"); !story.empty())
      document.add(TextBlock{"Where the time went: " + story + "."});
    add_slowest(document, flows);
  }
  add_jobs(document, list(result, "jobs"));
  add_ports(document, result);
}

}  // namespace weft::output
