// weft compare: the same workloads on several clusters, side by side.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/print_cost.h"
#include "sim/apps/progress.h"
#include "sim/apps/table.h"
#include "sim/core/error.h"
#include "sim/core/printable.h"
#include "sim/core/result_header.h"
#include "sim/output/result_json.h"
#include "sim/planning/compare.h"

namespace weft::apps {
namespace {

// "A" to "Z", then "27": short enough to head a column.
std::string letter(std::size_t cluster) {
  return cluster < 26 ? std::string(1, static_cast<char>('A' + cluster)) : std::to_string(cluster + 1);
}

std::string choice_text(const plan::ComparedRun& run) {
  if (run.algorithm.empty()) return "-";
  return fmt::format("{}{}{} x{}", run.algorithm, run.protocol.empty() ? "" : " ", run.protocol, run.channels);
}

std::string comparison_table(const plan::Comparison& comparison, bool with_scenario) {
  Table table;
  if (with_scenario) table.add_column("scenario", Table::Align::kLeft);
  table.add_column("workload", Table::Align::kLeft);
  table.add_column("ranks");
  table.add_column("size (B)");
  const std::size_t clusters = comparison.clusters.size();
  for (std::size_t c = 0; c < clusters; ++c) table.add_column(fmt::format("{} (us)", letter(c)));
  for (std::size_t c = 1; c < clusters; ++c) table.add_column(fmt::format("{}/A", letter(c)));
  for (std::size_t c = 0; c < clusters; ++c) table.add_column(fmt::format("{} +-", letter(c)));
  for (std::size_t c = 0; c < clusters; ++c) table.add_column(fmt::format("{} busbw (GB/s)", letter(c)));
  for (std::size_t c = 0; c < clusters; ++c) table.add_column(fmt::format("{} choice", letter(c)), Table::Align::kLeft);
  for (std::size_t c = 0; c < clusters; ++c) table.add_column(fmt::format("{} busiest link", letter(c)), Table::Align::kLeft);

  for (const plan::ComparedWorkload& workload : comparison.workloads) {
    std::vector<std::string> cells;
    if (with_scenario) cells.push_back(workload.scenario);
    const auto& first = workload.runs.front();
    cells.insert(cells.end(), {workload.kind, first && first->ranks > 0 ? std::to_string(first->ranks) : "-",
                               std::to_string(workload.bytes.count())});
    const auto add = [&](std::size_t from, const auto& text) {
      for (std::size_t c = from; c < clusters; ++c) cells.push_back(workload.runs[c] ? text(c, *workload.runs[c]) : "-");
    };
    add(0, [](std::size_t, const plan::ComparedRun& run) { return fmt::format("{:.2f}", run.time.us()); });
    add(1, [&](std::size_t c, const plan::ComparedRun&) {
      const auto ratio = workload.ratio(c);
      return ratio ? fmt::format("{:.3f}{}", *ratio, workload.is_within_error(c) ? "~" : "") : "-";
    });
    add(0, [](std::size_t, const plan::ComparedRun& run) {
      return run.error ? fmt::format("{:.1f} %", 100 * *run.error) : std::string{"-"};
    });
    add(0, [](std::size_t, const plan::ComparedRun& run) {
      return run.busbw_gigabytes_per_second > 0 ? fmt::format("{:.2f}", run.busbw_gigabytes_per_second) : "-";
    });
    add(0, [](std::size_t, const plan::ComparedRun& run) { return choice_text(run); });
    add(0, [](std::size_t, const plan::ComparedRun& run) {
      return run.busiest_link.empty() ? "-" : fmt::format("{} {:.1f} %", run.busiest_link, 100 * run.busiest_utilization);
    });
    table.add_row(std::move(cells));
  }
  return table.text();
}

// Calls fn(workload, cluster, run) of every run there is.
template <class Fn>
void for_each_run(const plan::Comparison& comparison, Fn&& fn) {
  for (const plan::ComparedWorkload& workload : comparison.workloads) {
    for (std::size_t c = 0; c < workload.runs.size(); ++c) {
      if (workload.runs[c]) fn(workload, c, *workload.runs[c]);
    }
  }
}

// Shows figures beside the times: tokens, exposed communication by link class, dollars and watts. One line a run.
std::string figures_table(const plan::Comparison& comparison) {
  const bool has_prices = comparison.clusters.front().costed.cost.has_value();
  const bool has_power = comparison.clusters.front().costed.power.has_value();
  bool has_tokens = false;
  for_each_run(comparison,
               [&](const auto&, std::size_t, const plan::ComparedRun& run) { has_tokens |= run.tokens_per_second > 0; });
  bool has_idle = false;
  for_each_run(comparison, [&](const auto&, std::size_t, const plan::ComparedRun& run) { has_idle |= run.idle_gpus > 0; });
  if (!has_tokens && !has_prices && !has_power && !has_idle) return {};
  Table table;
  for (const char* title : {"scenario", "workload", "on"}) table.add_column(title, Table::Align::kLeft);
  table.add_column("time (ms)");
  if (has_tokens) {
    for (const char* title : {"tokens/s", "MFU"}) table.add_column(title);
  }
  for (std::size_t l = 0; l < scenario::kLinkClasses; ++l) {
    table.add_column(fmt::format("exposed {} (ms)", to_string(static_cast<scenario::LinkClass>(l))));
  }
  if (has_idle) table.add_column("idle GPUs");
  if (has_power) table.add_column("power");
  if (has_prices) {
    for (const char* title : {"capital (USD)", "USD/h"}) table.add_column(title);
    if (has_idle) table.add_column("of it idle");
    table.add_column("USD/M tokens");
  }
  if (has_power) table.add_column("J/token");
  for_each_run(comparison, [&](const plan::ComparedWorkload& workload, std::size_t c, const plan::ComparedRun& run) {
    const plan::CostedCluster& costed = comparison.clusters[c].costed;
    std::vector<std::string> row{workload.scenario, workload.kind, letter(c), fmt::format("{:.3f}", run.time.us() / 1e3)};
    if (has_tokens) {
      row.push_back(run.tokens_per_second > 0 ? fmt::format("{:.0f}", run.tokens_per_second) : "-");
      row.push_back(run.mfu > 0 ? fmt::format("{:.1f} %", 100 * run.mfu) : "-");
    }
    for (const Duration exposed : run.exposed) {
      row.push_back(exposed > Duration{} ? fmt::format("{:.3f}", exposed.us() / 1e3) : "-");
    }
    if (has_idle) row.push_back(run.idle_gpus > 0 ? std::to_string(run.idle_gpus) : "-");
    if (has_power) row.push_back(plan::short_watts(run.cost.facility_watts));
    if (has_prices) {
      const auto tokens = run.cost.usd_per_million_tokens();
      row.insert(row.end(), {plan::short_usd(costed.cost->capital_usd), plan::short_usd(run.cost.usd_per_hour())});
      if (has_idle) row.push_back(run.idle_gpus > 0 ? plan::short_usd(run.cost.idle_usd_per_hour()) : "-");
      row.push_back(tokens ? plan::short_usd(*tokens) : "-");
    }
    if (has_power) {
      const auto joules = run.cost.joules_per_token();
      row.push_back(joules ? fmt::format("{:.3g}", *joules) : "-");
    }
    table.add_row(std::move(row));
  });
  return table.text();
}

std::string sensitivity_table(const plan::Comparison& comparison, double better) {
  Table table;
  for (const char* title : {"scenario", "workload", "on", "better by itself"}) table.add_column(title, Table::Align::kLeft);
  for (const char* title : {"time (us)", "saved"}) table.add_column(title);
  for_each_run(comparison, [&](const plan::ComparedWorkload& workload, std::size_t c, const plan::ComparedRun& run) {
    for (const plan::SensitivityPoint& point : run.sensitivity) {
      table.add_row({workload.scenario, workload.kind, letter(c), point.parameter, fmt::format("{:.2f}", point.time.us()),
                     fmt::format("{:.2f} %", 100 * point.gain)});
    }
  });
  return fmt::format("#\n# sensitivity: each thing {:.0f} % better by itself, the one that buys most first\n{}", 100 * better,
                     table.text());
}

struct CompareOptions {
  CommonOptions common;
  CostOptions cost;
  bool sensitivity = false;
  std::vector<std::string> scenarios;
  std::vector<std::string> clusters;
};

int run_compare(const CompareOptions& options) {
  const scenario::Overrides overrides = to_overrides(options.common, true);
  const Outputs outputs = outputs_of(options.common, "compare");
  if (!outputs.timeline.empty() && !options.common.timeline.empty()) {
    throw ConfigError("--timeline: a comparison has no one timeline; use 'weft run' on one cluster");
  }
  Diagnostics diagnostics;
  const plan::CompareSettings settings{.books = load_books(options.cost), .sensitivity = options.sensitivity};
  ProgressBar progress{"runs", options.common.quiet};
  const plan::Comparison result =
      plan::compare(options.scenarios, options.clusters, overrides, settings, diagnostics, &progress);
  progress.wipe();
  print_warnings(diagnostics, options.common);

  std::string scenarios;
  for (const std::string& scenario : options.scenarios) scenarios += (scenarios.empty() ? "" : " ") + scenario;
  const Report report{outputs};
  const Heading heading{"compare", scenarios, result.seed, overrides.grain.value_or(coll::Grain::kAuto), result.fidelity};
  report.print(fmt::format("# compare {}\n", printable(scenarios)));
  for (std::size_t c = 0; c < result.clusters.size(); ++c) {
    const plan::ComparedCluster& cluster = result.clusters[c];
    report.print(fmt::format("# {}: {} ({})  {} node{}, {} endpoint{}  profile {}: {}\n", letter(c), cluster.name, cluster.file,
                             cluster.nodes, cluster.nodes == 1 ? "" : "s", cluster.endpoints, cluster.endpoints == 1 ? "" : "s",
                             cluster.profile.name, cluster.profile.stated_error));
  }
  if (result.interrupted) report.print("# interrupted: what has no number was not run\n");
  report.print("#\n" + comparison_table(result, options.scenarios.size() > 1));
  const auto is_close = [&](const plan::ComparedWorkload& workload) {
    for (std::size_t c = 1; c < workload.runs.size(); ++c) {
      if (workload.is_within_error(c)) return true;
    }
    return false;
  };
  if (std::ranges::any_of(result.workloads, is_close)) {
    report.print("# ~: the two times differ by less than either may be off (+-)\n");
  }
  if (const std::string figures = figures_table(result); !figures.empty()) report.print("#\n" + figures);
  if (settings.sensitivity) report.print(sensitivity_table(result, settings.better));
  for (const std::string& note : result.notes) report.print(fmt::format("# note: {}\n", printable(note)));
  report.print(provenance_text(heading, false));
  report.print(fmt::format("# digest {}  {}\n", digest_text(result.digest),
                           cost_text(result.events, result.transfers, result.wall_seconds)));

  if (!outputs.json.empty()) {
    std::vector<std::string> warnings = warning_texts(diagnostics);
    warnings.insert(warnings.end(), result.notes.begin(), result.notes.end());
    ResultHeader header{.command = "compare",
                        .command_line = command_line(),
                        .seed = result.seed,
                        .configuration = result.configuration,
                        .profiles = {},
                        .warnings = std::move(warnings),
                        .digest = result.digest,
                        .interrupted = result.interrupted};
    for (const plan::ComparedCluster& cluster : result.clusters) header.profiles.push_back(cluster.profile);
    write_file(outputs.json, [&](std::ostream& out) { output::write_compare_result(out, header, result); });
  }
  return result.interrupted ? kInterrupted : result.cut_short ? kCheckFailed : kOk;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("compare", "Runs the same workloads on several clusters, side by side");
  const auto options = std::make_shared<CompareOptions>();
  command
      ->add_option("SCENARIO", options->scenarios, "Scenario files; the clusters they name are not used, nor their overrides")
      ->required();
  command->add_option("--clusters", options->clusters, "Cluster files; ratios are to the first")->required()->type_name("FILE");
  command->add_flag("--sensitivity", options->sensitivity,
                    "Run each again with one thing 10 % better at a time: what buys most");
  add_cost_options(*command, options->cost);
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_compare(*options); });
}

}  // namespace weft::apps
