// weft run: simulates a scenario and prints what a person wants first.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/progress.h"
#include "sim/apps/table.h"
#include "sim/planning/collective_sweep.h"
#include "sim/planning/flow_summary.h"
#include "sim/planning/result_json.h"
#include "sim/planning/run_scenario.h"
#include "sim/planning/timeline.h"

namespace weft::apps {
namespace {

std::string plural(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

void print_collectives(const Report& report, const plan::RunResult& result) {
  report.print("#\n" + mixed_columns());
  for (std::size_t i = 0; i < result.collectives.size(); ++i) {
    const coll::CollectiveResult& point = result.collectives[i];
    report.print(mixed_row(point, plan::type_name_of(point.call.element_size), result.counts[i]));
  }
}

void print_flows(const Report& report, const plan::Scenario& scenario, const plan::RunResult& result) {
  const plan::FlowSummary summary = plan::summarize_flows(result.flows);
  report.print(fmt::format("#\n# flows {} finished of {}{}, {}\n", summary.finished, summary.flows,
                           summary.aborted > 0 ? fmt::format(" ({} aborted)", summary.aborted) : "",
                           short_bytes(static_cast<double>(summary.bytes.count()))));
  if (summary.finished == 0) return;
  report.print(
      fmt::format("# last end {} us  aggregate rate {:.2f} Gb/s\n", plan::us_text(summary.last_end), summary.rate_gbps));
  report.print(fmt::format("# FCT (us): min {}  median {}  p99 {}  max {}\n", plan::us_text(summary.min_fct),
                           plan::us_text(summary.median_fct), plan::us_text(summary.p99_fct), plan::us_text(summary.max_fct)));
  report.print("#\n# slowest flows\n");
  Table table;
  table.add_column("id");
  table.add_column("from", Table::Align::kLeft);
  table.add_column("to", Table::Align::kLeft);
  for (const char* title : {"bytes", "start (us)", "FCT (us)", "rate (Gb/s)"}) table.add_column(title);
  const net::Topology& topology = scenario.cluster.topology;
  for (const std::size_t id : summary.slowest) {
    const work::FlowItem& item = scenario.workload.flows[id];
    const work::FlowResult& flow = result.flows[id];
    table.add_row({std::to_string(id), topology.name(item.from), topology.name(item.to), std::to_string(flow.bytes.count()),
                   fmt::format("{:.2f}", flow.start.since_start().us()), fmt::format("{:.2f}", (flow.end - flow.start).us()),
                   fmt::format("{:.2f}", plan::rate_gbps(flow).value_or(0))});
  }
  report.print(table.text());
}

void print_links(const Report& report, const plan::RunResult& result) {
  if (result.hottest.empty()) return;
  report.print("#\n# hottest links\n");
  Table table;
  table.add_column("link", Table::Align::kLeft);
  for (const char* title : {"bytes", "utilization", "busy (us)"}) table.add_column(title);
  for (const plan::LinkUse& link : result.hottest) {
    table.add_row({link.name, fmt::format("{:.0f}", link.bytes), fmt::format("{:.1f} %", 100 * link.utilization),
                   fmt::format("{:.2f}", link.busy.us())});
  }
  report.print(table.text());
}

std::string what_ran(const work::Workload& workload) {
  if (workload.collectives.empty()) return plural(workload.flows.size(), "flow");
  std::int64_t calls = 0;
  for (const work::CollectiveItem& item : workload.collectives) calls += item.count;
  return fmt::format("{}, {}", plural(workload.collectives.size(), "collective"),
                     plural(static_cast<std::size_t>(calls), "call"));
}

int run_run(const std::string& file, const CommonOptions& options) {
  const plan::Overrides overrides = to_overrides(options);
  const Outputs outputs = outputs_of(options, fmt::format("run_{}", std::filesystem::path{file}.stem().string()));
  Diagnostics diagnostics;
  const plan::Scenario scenario = plan::load_scenario(file, overrides, diagnostics);
  print_warnings(diagnostics, options);

  const Report report{outputs};
  report.print(head_line("run", file, scenario.simulation.seed, scenario.simulation.grain));
  report.print(cluster_line(scenario.cluster));
  ProgressBar progress{scenario.workload.flows.empty() ? "collectives" : "flows", options.quiet};
  const plan::RunResult result = plan::run_scenario(scenario, &progress);
  for (const std::string& note : result.notes) report.print(fmt::format("# note: {}\n", note));
  if (result.interrupted) report.print("# interrupted: what follows is what was finished\n");
  report.print(fmt::format("# {}  makespan {} ({} us)\n", what_ran(scenario.workload), short_time(result.makespan),
                           plan::us_text(result.makespan)));
  if (!result.collectives.empty()) print_collectives(report, result);
  if (!result.flows.empty()) print_flows(report, scenario, result);
  print_links(report, result);
  report.print(fmt::format("#\n# digest {}\n", plan::digest_text(result.digest)));
  report.print(fmt::format("# {}\n", cost_text(result.events, result.transfers, result.wall_seconds)));
  if (options.verbose) report.print(solver_line(result.solves, result.peak_live));

  if (!outputs.json.empty()) {
    std::vector<std::string> warnings = warning_texts(diagnostics);
    warnings.insert(warnings.end(), result.notes.begin(), result.notes.end());
    const plan::ResultHeader header{.command = "run",
                                    .command_line = command_line(),
                                    .seed = scenario.simulation.seed,
                                    .configuration = plan::run_configuration(scenario),
                                    .profiles = {plan::profile_statement(scenario.cluster)},
                                    .warnings = std::move(warnings),
                                    .digest = result.digest,
                                    .interrupted = result.interrupted};
    write_file(outputs.json, [&](std::ostream& out) { plan::write_run_result(out, header, result); });
  }
  if (!outputs.timeline.empty()) {
    write_file(outputs.timeline, [&](std::ostream& out) {
      if (scenario.workload.flows.empty()) {
        plan::write_collective_timeline(out, result.collectives, result.counts);
      } else {
        plan::write_flow_timeline(out, scenario.cluster.topology, scenario.workload.flows, result.flows);
      }
    });
  }
  return result.interrupted ? kInterrupted : kOk;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("run", "Simulates a scenario");
  const auto file = std::make_shared<std::string>();
  const auto options = std::make_shared<CommonOptions>();
  command->add_option("SCENARIO", *file, "Scenario file")->required();
  add_common_options(*command, *options);
  command->callback([file, options, &exit_code] { exit_code = run_run(*file, *options); });
}

}  // namespace weft::apps
