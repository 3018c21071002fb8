#include "sim/output/report/result_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/used_files.h"
#include "sim/core/version.h"
#include "sim/output/explain/explain.h"
#include "sim/output/report/chart.h"
#include "sim/output/report/flow_sections.h"
#include "sim/output/report/planning_sections.h"
#include "sim/output/report/report_parts.h"
#include "sim/planning/cost/amount.h"
#include "sim/workloads/trace/shallow_json.h"

namespace weft::output {
namespace {

constexpr std::size_t kEnginesOfPage = 64;
constexpr std::size_t kErrorsInALine = 2;  // of a profile; more of them are folded
constexpr double kTokensTold = 1e6;
constexpr double kJoulesOfKwh = 3.6e6;

// The statements of a profile's error: "median 1 %, max 9 % over 21 points of all_reduce of 2, FILE; median ...".
std::vector<std::string> errors_of(const std::string& stated) {
  constexpr std::string_view kBetween = "; median ";
  std::vector<std::string> errors;
  std::size_t at = 0;
  for (std::size_t end = stated.find(kBetween); end != std::string::npos; end = stated.find(kBetween, at)) {
    errors.push_back(stated.substr(at, end - at));
    at = end + 2;
  }
  errors.push_back(stated.substr(at));
  return errors;
}

// "off by 1.1 to 5.1 % in the median of 18 sets of measurements"
std::string range_text(const std::vector<std::string>& errors) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const std::string& error : errors) {
    const double median = std::strtod(error.c_str() + std::min(error.size(), std::string_view{"median "}.size()), nullptr);
    least = std::min(least, median);
    most = std::max(most, median);
  }
  return fmt::format("off by {:.1f} to {:.1f} % in the median of {} sets of measurements", least, most, errors.size());
}

class Report {
 public:
  explicit Report(Document& document) : document_{document} {}

  void add(const std::string& file, const OrderedJson& result) {
    const std::string command = text_of(result, "command");
    document_.add(SectionBlock{fmt::format("{}: {}", command, file)});
    if (result.value("interrupted", false)) document_.add(NoteBlock{"Interrupted: what follows is what was finished."});
    if (command == "run") add_run(result);
    if (command == "collective") add_points(result);
    if (command == "compare") add_compare(result);
    if (command == "goodput") add_goodput(result);
    if (command == "size") add_size(document_, result);
    if (command == "plan" && result.contains("plans")) add_plan(document_, result);
    if (command == "plan" && result.contains("servings")) add_serving_plan(document_, result);
    if (command == "topo") add_bill(result);
    add_cost(result);
    add_basis(result, command);
  }

 private:
  void table(std::string caption, const std::vector<ReportColumn>& columns, std::vector<std::vector<std::string>> rows) {
    add_table(document_, std::move(caption), columns, std::move(rows));
  }
  void bars(const std::string& title, const std::string& unit, const std::vector<std::pair<std::string, double>>& values) {
    add_bars(document_, title, unit, values);
  }

  void add_run(const OrderedJson& result) {
    if (result.contains("iteration_time_ns")) {
      add_training(result);
    } else if (result.contains("ttft_ns")) {
      add_serving(result);
    } else if (result.contains("points")) {
      add_points(result);
    } else {
      document_.add(TileBlock{{{.label = "makespan", .value = figure(json_number(result, "makespan_ns") / 1e3) + " us"},
                               {.label = "transfers", .value = text_of(result, "transfers")}}});
      add_flow_sections(document_, result);
    }
    add_links(result);
  }

  void add_training(const OrderedJson& result) {
    document_.add(
        TileBlock{{{.label = "iteration", .value = figure(json_number(result, "iteration_time_ns") / 1e6) + " ms"},
                   {.label = "tokens/s", .value = fmt::format("{:.0f}", json_number(result, "tokens_per_second"))},
                   {.label = "MFU", .value = percent_text(json_number(result, "mfu")), .note = text_of(result, "peak")},
                   {.label = "GPUs", .value = text_of(result, "gpus")}}});
    add_breakdown(result);
    std::vector<std::vector<std::string>> rows;
    for (const auto& [part, bytes] : member(result, "memory_per_gpu_bytes").items()) {
      if (part != "rank" && bytes.is_number()) rows.push_back({part, figure(bytes.get<double>() / 1e9)});
    }
    table("Memory of the fullest GPU", {{"part", true}, {"GB", false}}, std::move(rows));
  }

  // As the terminal has it: shares add up to the iteration, and communication counts where nothing hides it.
  void add_breakdown(const OrderedJson& result) {
    std::vector<std::pair<std::string, double>> shares;
    std::vector<std::vector<std::string>> rows;
    const OrderedJson& breakdown = member(result, "breakdown_ns");
    const double step = json_number(result, "iteration_time_ns");
    for (const auto& [key, time] : breakdown.items()) {
      if (!time.is_number() || key == "compute" || key.starts_with("exposed_")) continue;  // `compute` is a sum of others
      const bool waits = key == "bubble" || key == "skew" || key == "idle";
      const bool communicates = key.ends_with("_comm");
      const double exposed = communicates ? json_number(breakdown, ("exposed_" + key).c_str()) : time.get<double>();
      std::string name = key == "bubble" ? "pipeline bubble" : key == "skew" ? "waiting for slower ranks" : key;
      std::ranges::replace(name, '_', ' ');
      rows.push_back({name, waits ? "" : figure(time.get<double>() / 1e6), waits || communicates ? figure(exposed / 1e6) : "",
                      percent_text(exposed / step)});
      if (exposed > 0) shares.emplace_back(communicates ? "exposed " + name : name, exposed / 1e6);
    }
    bars("Where an iteration goes", "ms, mean over GPUs", shares);
    table("Where an iteration goes, mean over GPUs; exposed is what computing does not hide",
          {{"what", true}, {"busy (ms)", false}, {"exposed (ms)", false}, {"share", false}}, std::move(rows));
  }

  void add_serving(const OrderedJson& result) {
    const auto ms = [](double ns) { return figure(ns / 1e6); };
    const double rate = json_number(result, "throughput_tokens_per_second_per_gpu");
    std::vector<HtmlTile> tiles{
        {.label = "TTFT, median", .value = ms(json_number(member(result, "ttft_ns"), "p50")) + " ms"},
        {.label = "TPOT, median", .value = ms(json_number(member(result, "tpot_ns"), "p50")) + " ms"},
        {.label = "tokens/s", .value = figure(json_number(result, "throughput_tokens_per_second")), .note = "of answers"},
        {.label = "tokens/s a GPU", .value = figure(rate), .note = text_of(result, "gpus") + " GPUs"},
        {.label = "requests", .value = text_of(result, "finished_requests"), .note = "of " + text_of(result, "requests")}};
    const OrderedJson& inference = member(member(member(member(result, "configuration"), "scenario"), "workload"), "inference");
    if (inference.is_object() && inference.contains("targets")) {
      tiles.push_back({.label = "goodput",
                       .value = figure(json_number(result, "goodput_requests_per_second")) + " /s",
                       .note = percent_text(json_number(result, "share_within_targets")) + " within targets"});
    }
    if (const double hits = json_number(result, "prefix_hit_rate"); std::isfinite(hits)) {
      tiles.push_back({.label = "prefix hits", .value = percent_text(hits), .note = "of prompts' tokens"});
    }
    document_.add(TileBlock{std::move(tiles)});
    std::vector<std::vector<std::string>> rows;
    constexpr std::pair<const char*, const char*> kLatencies[] = {{"ttft_ns", "time to first token"},
                                                                  {"tpot_ns", "time per output token"},
                                                                  {"itl_ns", "between tokens"},
                                                                  {"e2e_ns", "end to end"},
                                                                  {"queue_ns", "queue"},
                                                                  {"exposed_transfer_ns", "exposed transfer"}};
    for (const auto& [key, name] : kLatencies) {
      const OrderedJson& of = member(result, key);
      if (!of.is_object() || !(json_number(of, "mean") > 0)) continue;
      rows.push_back({name, ms(json_number(of, "p50")), ms(json_number(of, "p90")), ms(json_number(of, "p99")),
                      ms(json_number(of, "mean"))});
    }
    table("Latencies of requests",
          {{"what", true}, {"median (ms)", false}, {"p90 (ms)", false}, {"p99 (ms)", false}, {"mean (ms)", false}},
          std::move(rows));
    rows.clear();
    std::vector<std::pair<std::string, double>> shares;
    const OrderedJson& parts = member(result, "step_time_ns");
    double all = 0;
    for (const auto& [name, time] : parts.items()) all += time.is_number() ? time.get<double>() : 0;
    for (const auto& [name, time] : parts.items()) {
      if (!time.is_number() || time.get<double>() <= 0) continue;
      shares.emplace_back(name, 100 * time.get<double>() / all);
      rows.push_back({name, figure(time.get<double>() / 1e9), percent_text(time.get<double>() / all)});
    }
    bars("Where steps go", "% of their time", shares);
    table("Time of all engines' steps", {{"part", true}, {"s", false}, {"share", false}}, std::move(rows));
    rows.clear();
    for (const OrderedJson& engine : list(result, "engines")) {
      rows.push_back({std::to_string(rows.size()), text_of(engine, "role"), text_of(engine, "steps"),
                      text_of(engine, "preemptions"), percent_text(json_number(engine, "utilization")),
                      figure(json_number(engine, "mean_running")), figure(json_number(engine, "mean_waiting")),
                      percent_text(json_number(engine, "mean_kv_utilization")),
                      percent_text(json_number(engine, "peak_kv_utilization"))});
      if (rows.size() == kEnginesOfPage) break;
    }
    table("Engines, the first ones",
          {{"engine", false},
           {"does", true},
           {"steps", false},
           {"preempted", false},
           {"busy", false},
           {"running", false},
           {"waiting", false},
           {"cache", false},
           {"its peak", false}},
          std::move(rows));
    add_servers(result);
    const double token = json_number(member(result, "tpot_ns"), "p50");
    if (std::isfinite(rate) && std::isfinite(token) && token > 0) {
      served_.push_back({token / 1e6, rate, figure(json_number(result, "throughput_requests_per_second")) + " requests/s"});
    }
  }

  // Shows what benchmarks of servers measured beside the prediction.
  void add_servers(const OrderedJson& result) {
    for (const OrderedJson& server : list(result, "measured")) {
      std::vector<std::vector<std::string>> rows;
      for (const OrderedJson& point : list(server, "points")) {
        rows.push_back({text_of(point, "name"), figure(json_number(point, "measured")), figure(json_number(point, "predicted")),
                        percent_text(json_number(point, "relative_error"))});
      }
      table(fmt::format("Beside {}, by {}", text_of(server, "file"), text_of(server, "format")),
            {{"figure", true}, {"measured", false}, {"predicted", false}, {"error", false}}, std::move(rows));
      for (const OrderedJson& note : value_of(server, "notes"))
        document_.add(TextBlock{"Note: " + note.get<std::string>() + "."});
    }
  }

  void add_points(const OrderedJson& result) {
    std::vector<std::vector<std::string>> rows;
    std::vector<ChartSeries> kinds;  // a bus bandwidth of one is no measure of another
    for (const OrderedJson& point : list(result, "points")) {
      rows.push_back({text_of(point, "collective"), text_of(point, "ranks"), text_of(point, "bytes"),
                      text_of(point, "algorithm") + " " + text_of(point, "protocol"), text_of(point, "channels"),
                      figure(json_number(point, "time_us")), figure(json_number(point, "algbw_GBps")),
                      figure(json_number(point, "busbw_GBps"))});
      auto kind = std::ranges::find(kinds, rows.back()[0], &ChartSeries::name);
      if (kind == kinds.end())
        kind = kinds.insert(
            kind, ChartSeries{.name = rows.back()[0], .mark = Mark::kLineAndDots, .colour = kinds.size() % kChartColours});
      kind->points.push_back({json_number(point, "bytes"), json_number(point, "busbw_GBps"), rows.back()[3]});
    }
    for (ChartSeries& kind : kinds) std::ranges::stable_sort(kind.points, {}, &ChartPoint::x);
    if (rows.size() > 2) {
      if (kinds.size() == 1) kinds.front().name = "bus bandwidth";
      const std::string title = "Bus bandwidth by size";
      document_.add(ChartBlock{to_svg(XyChart{.title = title,
                                              .x = {.title = "size", .logarithmic = true, .text = TickText::kBytes},
                                              .y = {.title = "GB/s"},
                                              .series = std::move(kinds)}),
                               {}});
    }
    table("Collectives",
          {{"collective", true},
           {"ranks", false},
           {"bytes", false},
           {"choice", true},
           {"channels", false},
           {"time (us)", false},
           {"algbw (GB/s)", false},
           {"busbw (GB/s)", false}},
          std::move(rows));
  }

  void add_links(const OrderedJson& result) {
    std::vector<std::vector<std::string>> rows;
    for (const OrderedJson& link : list(result, "hottest_links")) {
      rows.push_back(
          {text_of(link, "name"), figure(json_number(link, "bytes") / 1e6), percent_text(json_number(link, "utilization"))});
    }
    table("Hottest links", {{"link", true}, {"MB", false}, {"used", false}}, std::move(rows));
  }

  void add_compare(const OrderedJson& result) {
    std::vector<std::vector<std::string>> rows;
    for (const OrderedJson& workload : list(result, "workloads")) {
      std::vector<std::pair<std::string, double>> times;
      std::vector<std::vector<std::string>> gains;
      for (const OrderedJson& run : list(workload, "runs")) {
        if (run.is_null()) continue;
        const OrderedJson& cost = member(run, "cost");
        rows.push_back({text_of(workload, "scenario"), text_of(workload, "collective"), text_of(run, "cluster"),
                        figure(json_number(run, "time_us") / 1e3), figure(json_number(run, "ratio")),
                        figure(json_number(run, "tokens_per_second")), text_of(member(run, "bottleneck"), "link"),
                        figure(json_number(cost, "facility_W") / 1e3), figure(json_number(cost, "usd_per_hour")),
                        figure(json_number(cost, "usd_per_million_tokens"))});
        times.emplace_back(text_of(run, "cluster"), json_number(run, "time_us") / 1e3);
        for (const OrderedJson& point : list(run, "sensitivity")) {
          gains.push_back({text_of(run, "cluster"), text_of(point, "parameter"), percent_text(json_number(point, "gain"))});
        }
      }
      const std::string name = fmt::format("{}, {} of {} B", text_of(workload, "scenario"), text_of(workload, "collective"),
                                           text_of(workload, "bytes"));
      bars(name, "ms", times);
      table(name + ": time saved with one thing 10 % better", {{"cluster", true}, {"better", true}, {"saved", false}},
            std::move(gains));
    }
    table("Every run",
          {{"scenario", true},
           {"workload", true},
           {"cluster", true},
           {"time (ms)", false},
           {"ratio", false},
           {"tokens/s", false},
           {"hottest link", true},
           {"kW", false},
           {"USD/h", false},
           {"USD/M tokens", false}},
          std::move(rows));
  }

  void add_goodput(const OrderedJson& result) {
    const OrderedJson& goodput = member(result, "goodput");
    document_.add(
        TileBlock{{{.label = "time to failure", .value = figure(json_number(result, "time_to_failure_s") / 3'600) + " h"},
                   {.label = "useful", .value = percent_text(json_number(goodput, "useful")), .note = "simulated"},
                   {.label = "Daly", .value = percent_text(json_number(result, "useful_daly")), .note = "closed form"},
                   {.label = "best interval",
                    .value = figure(json_number(result, "best_interval_simulated_s")) + " s",
                    .note = "simulated"}}});
    ChartSeries simulated{.name = "simulated", .mark = Mark::kDots, .colour = 0};
    ChartSeries daly{.name = "Daly", .mark = Mark::kLine, .colour = 1};
    ChartSeries young{.name = "Young", .mark = Mark::kLine, .colour = 2, .dashed = true};
    std::vector<std::vector<std::string>> rows;
    for (const OrderedJson& point : list(result, "intervals")) {
      const double interval = json_number(point, "interval_s");
      simulated.points.push_back({interval, json_number(point, "useful"), {}});
      daly.points.push_back({interval, json_number(point, "useful_daly"), {}});
      young.points.push_back({interval, json_number(point, "useful_young"), {}});
      rows.push_back({figure(interval), percent_text(json_number(point, "useful")),
                      percent_text(json_number(point, "useful_daly")), percent_text(json_number(point, "useful_young")),
                      percent_text(json_number(point, "checkpoints")), percent_text(json_number(point, "redone")),
                      percent_text(json_number(point, "restarts"))});
    }
    document_.add(ChartBlock{to_svg(XyChart{.title = "Useful share by checkpoint interval",
                                            .x = {.title = "interval (s)", .logarithmic = true},
                                            .y = {.title = "of wall-clock time", .text = TickText::kPercent},
                                            .series = {simulated, daly, young}}),
                             {}});
    table("Useful share by checkpoint interval",
          {{"interval (s)", false},
           {"simulated", false},
           {"Daly", false},
           {"Young", false},
           {"checkpoints", false},
           {"redone", false},
           {"restarts", false}},
          std::move(rows));
    rows.clear();
    for (const OrderedJson& cause : list(result, "causes")) {
      rows.push_back({text_of(cause, "cause"), text_of(cause, "per"), figure(json_number(cause, "per_day"))});
    }
    table("What fails: " + text_of(result, "rates_source"), {{"cause", true}, {"per", true}, {"a day", false}},
          std::move(rows));
  }

  void add_bill(const OrderedJson& result) {
    const OrderedJson& bill = member(result, "bill_of_materials");
    std::vector<std::vector<std::string>> rows;
    for (const OrderedJson& line : list(bill, "servers")) {
      rows.push_back({text_of(line, "count"), "server " + text_of(line, "node")});
      rows.push_back({text_of(line, "gpus"), "GPU " + text_of(line, "gpu")});
    }
    for (const OrderedJson& line : list(bill, "switches")) {
      rows.push_back({text_of(line, "count"), text_of(line, "tier") + " switch, " + text_of(line, "type")});
    }
    for (const OrderedJson& line : list(bill, "cables")) {
      rows.push_back({text_of(line, "count"), "cable " + text_of(line, "tiers") + ", " + text_of(line, "medium")});
    }
    table("Bill of materials", {{"count", false}, {"item", true}}, std::move(rows));
  }

  void add_cost(const OrderedJson& result) {
    std::vector<std::vector<std::string>> rows;
    const OrderedJson& capital = member(result, "capital");
    for (const OrderedJson& line : list(capital, "lines")) {
      rows.push_back({text_of(line, "count"), text_of(line, "what"), figure(json_number(line, "each_usd")),
                      plan::short_usd(json_number(line, "usd")), text_of(line, "source"), text_of(line, "date")});
    }
    if (!rows.empty()) {
      table(fmt::format("Capital {} USD (book {})", plan::short_usd(json_number(capital, "usd")), text_of(capital, "book")),
            {{"count", false}, {"item", true}, {"each (USD)", false}, {"all (USD)", false}, {"source", true}, {"date", true}},
            std::move(rows));
    }
    rows.clear();
    const OrderedJson& power = member(result, "power");
    for (const OrderedJson& line : list(power, "lines")) {
      rows.push_back({text_of(line, "count"), text_of(line, "what"), figure(json_number(line, "max_W")),
                      figure(json_number(line, "idle_W")), text_of(line, "source"), text_of(line, "date")});
    }
    if (!rows.empty()) {
      table(fmt::format("Power {} busy, {} idle, PUE {} (book {})", plan::short_watts(json_number(power, "busy_W")),
                        plan::short_watts(json_number(power, "idle_W")), text_of(power, "pue"), text_of(power, "book")),
            {{"count", false}, {"item", true}, {"busy (W)", false}, {"idle (W)", false}, {"source", true}, {"date", true}},
            std::move(rows));
    }
    const OrderedJson& cost = member(result, "cost");
    if (cost.is_object() && cost.contains("usd")) {
      std::string text = fmt::format("The run costs {} USD an hour", figure(json_number(cost, "usd_per_hour")));
      if (cost.contains("usd_per_million_tokens")) {
        text += fmt::format(", {} USD a million tokens", figure(json_number(cost, "usd_per_million_tokens")));
      }
      document_.add(TextBlock{text + "."});
    }
    if (cost.is_object() && cost.contains("joules_per_token")) {
      document_.add(
          TextBlock{fmt::format("A token takes {} J, a million of them {} kWh.", figure(json_number(cost, "joules_per_token")),
                                figure(json_number(cost, "joules_per_token") * kTokensTold / kJoulesOfKwh))});
    }
  }

  // Adds the items that a reader must know before believing any of it.
  void add_basis(const OrderedJson& result, const std::string& command) {
    std::vector<std::string> items;
    std::vector<FoldedBlock> folded;
    const auto add_profile = [&](const OrderedJson& profile) {
      if (profile.is_object()) {
        const std::string name = text_of(profile, "name");
        const std::vector<std::string> errors = errors_of(text_of(profile, "stated_error"));
        const bool is_short = errors.size() <= kErrorsInALine;
        const std::string item =
            fmt::format("profile {}: {}", name, is_short ? text_of(profile, "stated_error") : range_text(errors));
        if (std::ranges::find(items, item) != items.end()) return;
        items.push_back(item);
        if (!is_short) folded.push_back({"errors of profile " + name, fmt::format("{}", fmt::join(errors, "\n"))});
      }
    };
    add_profile(member(result, "profile"));
    for (const OrderedJson& profile : list(result, "profiles")) add_profile(profile);
    for (const OrderedJson& warning : value_of(result, "warnings")) items.push_back("warning: " + warning.get<std::string>());
    if (!items.empty()) document_.add(TextBlock{"What it rests on:"}).add(ListBlock{std::move(items)});
    for (FoldedBlock& block : folded) document_.add(std::move(block));
    document_.add(TextBlock{"To have it again:"});
    document_.add(CodeBlock{fmt::format("{}\n# weft {} ({}), seed {}, digest {}", text_of(result, "command_line"),
                                        text_of(result, "version"), text_of(result, "commit"), text_of(result, "seed"),
                                        text_of(result, "digest"))});
    if (const OrderedJson& configuration = value_of(result, "configuration"); !configuration.is_null()) {
      document_.add(FoldedBlock{"resolved configuration", configuration.dump(1)});
    }
    if (command == "goodput" || command == "size") used_.emplace_back("goodput");
    if (command == "size") used_.insert(used_.end(), {"plan_search", "cost"});
    if (result.contains("plans")) used_.insert(used_.end(), {"plan_search", "training", "megatron"});
    if (result.contains("servings")) used_.emplace_back("inference");
    if (command != "goodput" && command != "topo") use_fidelity(result);
    if (result.contains("iteration_time_ns")) used_.insert(used_.end(), {"training", "megatron"});
    if (result.contains("ttft_ns")) used_.emplace_back("inference");
    if (result.contains("capital") || result.contains("power") || result.contains("cost")) used_.emplace_back("cost");
  }

  // The models of the fidelity that ran: where packets did, of their congestion control and transport too.
  void use_fidelity(const OrderedJson& result) {
    const OrderedJson& stated = value_of(result, "configuration");
    const OrderedJson& configuration = stated.is_array() && !stated.empty() ? stated.front() : stated;
    const std::string fidelity = text_of(configuration, "fidelity");
    if (fidelity != "packet") used_.emplace_back("flow");
    if (fidelity != "packet" && fidelity != "hybrid") return;
    if (fidelity == "hybrid") used_.emplace_back("hybrid");
    used_.emplace_back("packet");
    const OrderedJson& fabric = value_of(value_of(configuration, "cluster"), "fabric");
    const OrderedJson& transport = value_of(fabric, "transport");
    const OrderedJson& control = value_of(transport, "congestion_control");
    const OrderedJson& type = value_of(transport, "type");
    const OrderedJson& name = control.is_object() ? value_of(control, "type") : control;
    if (type == "uec") used_.emplace_back("uec");
    if (type == "uec" && control.is_null()) used_.emplace_back("nscc");
    if (name.is_string()) used_.push_back(name.get<std::string>());
    if (fabric.contains("pfc")) used_.emplace_back("pfc");
  }

  Document& document_;

 public:
  // Draws, of several results of serving, what users pay in latency for what GPUs give.
  void add_serving_curve() {
    if (served_.size() < 2) return;
    ChartSeries series{.name = "results of this page", .mark = Mark::kLineAndDots, .points = served_};
    std::ranges::sort(series.points, {}, &ChartPoint::y);
    document_.add(SectionBlock{"Latency and throughput"});
    document_.add(ChartBlock{to_svg(XyChart{.title = "Time per output token by throughput",
                                            .x = {.title = "median time per output token (ms)"},
                                            .y = {.title = "tokens/s a GPU"},
                                            .series = {series}}),
                             {}});
  }

  // The texts of what was used say what they leave out.
  void add_assumptions() {
    std::vector<std::string> items = simplifications_of(used_);
    if (items.empty()) return;
    document_.add(SectionBlock{"Assumptions"});
    document_.add(TextBlock{"What the models behind these results leave out (weft explain simplifications has all):"});
    document_.add(ListBlock{std::move(items)});
  }

 private:
  std::vector<std::string> used_;
  std::vector<ChartPoint> served_;
};

}  // namespace

Document result_report(const std::vector<std::filesystem::path>& results, const std::string& title) {
  Document document;
  document.title = title.empty() ? (results.size() == 1 ? results.front().stem().string() : "Results") : title;
  document.subtitle = fmt::format("weft {} ({})", version(), commit());
  Report report{document};
  for (const std::filesystem::path& file : results) {
    std::ifstream in = open_input(file);
    if (!in) throw ConfigError(fmt::format("cannot read '{}'", file.string()));
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const auto json = work::shallow_json<OrderedJson>(text);
    if (!json.is_object() || !value_of(json, "command").is_string() || !value_of(json, "digest").is_string()) {
      throw ConfigError(fmt::format("'{}' is no result of weft: run a command with --json {}", file.string(), file.string()));
    }
    const auto refuse = [&](const std::exception& error) {
      throw ConfigError(fmt::format("'{}' is no result of weft: {}", file.string(), error.what()));
    };
    try {
      report.add(file.filename().string(), json);
    } catch (const OrderedJson::exception& error) {
      refuse(error);
    } catch (const NotOurs& error) {
      refuse(error);
    }
  }
  report.add_serving_curve();
  report.add_assumptions();
  return document;
}

}  // namespace weft::output
