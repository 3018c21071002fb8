// weft plan: searches the parallel plans of a model on a cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/listener.h"
#include "sim/apps/option_checks.h"
#include "sim/apps/output.h"
#include "sim/apps/plan_serving.h"
#include "sim/apps/print_cost.h"
#include "sim/apps/search_line.h"
#include "sim/apps/table.h"
#include "sim/core/error.h"
#include "sim/output/search_json.h"
#include "sim/planning/error_range.h"
#include "sim/planning/plan_search/plan_scenario.h"
#include "sim/planning/plan_search/search.h"
#include "sim/workloads/model/model_reader.h"

namespace weft::apps {
namespace {

struct PlanOptions {
  CommonOptions common;
  CostOptions cost;
  std::string model;
  std::string cluster;
  int gpus = 0;
  std::int64_t batch = 0;
  std::int64_t sequence = 4096;
  std::string objective = "time";
  std::string write;
  double budget = 45;
  std::uint64_t budget_plans = 0;
  double plan_limit = 30;
  std::size_t top = 10;
  std::size_t certain = 1;
  int threads = 1;
  bool all = false;
  ServeOptions serve;
};

class Watch final : public plan::PlanSearchObserver {
 public:
  Watch(bool quiet, double budget_seconds) : line_{quiet, budget_seconds} {}

  void on_state(const plan::PlanProgress& now) override {
    if (!line_.draws()) return;
    if (Listener* const hears = listener()) return hears->on_progress("plans", now.simulated, now.simulated + now.waiting);
    std::string text = fmt::format("{:.0f} s  {} plans simulated, {} wait", now.seconds, now.simulated, now.waiting);
    if (now.seconds > 0) text += fmt::format("  {:.1f}/s", static_cast<double>(now.simulated) / now.seconds);
    text += line_.end_text(now.seconds);
    if (const std::optional<double> gap = now.gap()) {
      text += fmt::format("  best {}  bound {:.1f} % below it  {}", short_time(now.iteration), 100 * *gap, now.best);
    }
    line_.draw(text);
  }
  [[nodiscard]] bool stop() const override { return line_.stop(); }
  void wipe() { line_.wipe(); }

 private:
  SearchLine line_;
};

plan::PlanObjective objective_of(const std::string& name, const plan::CostBooks& books) {
  using plan::PlanObjective;
  for (const PlanObjective objective :
       {PlanObjective::kTime, PlanObjective::kTokensPerDollar, PlanObjective::kTokensPerJoule, PlanObjective::kLargestModel}) {
    if (name != plan::to_string(objective)) continue;
    if (objective == PlanObjective::kTokensPerDollar && !books.prices) {
      throw ConfigError("--objective tokens_per_dollar needs a price book: --prices list_2026");
    }
    if (objective == PlanObjective::kTokensPerJoule && !books.power) {
      throw ConfigError("--objective tokens_per_joule needs a power book: --power datasheets");
    }
    return objective;
  }
  throw ConfigError("--objective: unknown objective '" + name +
                    "'\n  note: choices: largest_model, time, tokens_per_dollar, tokens_per_joule");
}

plan::PlanSpace space_of(const PlanOptions& options, const net::Cluster& cluster, Diagnostics& diagnostics) {
  plan::PlanSpace space;
  space.setup.model = work::read_model(work::load_model_file(options.model), diagnostics);
  diagnostics.throw_if_any();
  const auto endpoints = static_cast<int>(cluster.topology.endpoints().size());
  space.gpus = options.gpus > 0 ? options.gpus : endpoints;
  if (space.gpus > endpoints) {
    throw ConfigError(fmt::format("--gpus {}: the cluster has {}\n  note: --set nodes=N gives it more", space.gpus, endpoints));
  }
  space.nodes = static_cast<int>(cluster.topology.host_count());
  space.may_idle = options.gpus == 0;
  space.node_gpus = std::max(1, endpoints / static_cast<int>(cluster.topology.host_count()));
  space.setup.batch.sequence = options.sequence;
  space.setup.batch.global = options.batch > 0 ? options.batch : 2 * std::int64_t{space.gpus};
  return space;
}

std::string counts_text(const plan::PlanSearchResult& result, const plan::PlanSearchSettings& settings) {
  std::string text = fmt::format("plans       {} enumerated\n", result.enumerated);
  text += fmt::format("refused     {}\n", result.refused);
  std::vector<std::pair<std::uint64_t, std::string>> reasons;
  for (const auto& [reason, count] : result.refusals) reasons.emplace_back(count, reason);
  std::ranges::stable_sort(reasons, std::ranges::greater{}, &std::pair<std::uint64_t, std::string>::first);
  constexpr std::size_t kShown = 6;
  for (std::size_t i = 0; i < std::min(kShown, reasons.size()); ++i) {
    text += fmt::format("#   {:>8}  {}\n", reasons[i].first, reasons[i].second);
  }
  if (reasons.size() > kShown)
    text += fmt::format("#             and {} other reasons (--json has all)\n", reasons.size() - kShown);
  text += fmt::format("too big     {} for memory", result.too_big);
  if (result.too_big_simulated > 0) text += fmt::format(", {} of them found by simulation", result.too_big_simulated);
  text += fmt::format("\npruned      {} whose bound is above the {}\n", result.pruned,
                      settings.certain == 1 ? std::string{"best time"} : fmt::format("time of the first {}", settings.certain));
  if (result.too_long > 0) text += fmt::format("too long    {} over a plan's limits (--plan-limit)\n", result.too_long);
  if (result.left > 0) text += fmt::format("left        {} not simulated\n", result.left);
  text += fmt::format("simulated   {}\n", result.simulated);
  return text;
}

std::string verdict(const plan::PlanSearchResult& result, const plan::PlanSearchSettings& settings) {
  std::string text;
  if (result.interrupted)
    text += fmt::format(
        "# interrupted: what was simulated until then: {} plans, {} more were to come; a later search starts anew\n",
        result.simulated, result.left);
  if (result.out_of_budget) {
    text += fmt::format("# the budget ended the search ({}); more: --budget SECONDS, 0 for none\n",
                        settings.budget_plans > 0 && result.simulated >= settings.budget_plans
                            ? fmt::format("{} plans", settings.budget_plans)
                            : fmt::format("{:.0f} s", settings.budget_seconds));
  }
  if (result.plans.empty()) return text + "# no plan was simulated to its end\n";
  const std::string assuming =
      "#   assumed: the plans, placements and schedules that are looked at, the simulator's times (weft explain plan_search)\n";
  const std::size_t rows = std::min(result.proven(), std::min(settings.top, result.plans.size()));
  if (rows == 1) return text + "# proven: no plan that was not simulated can be better than the first\n" + assuming;
  if (rows > 1)
    return text + fmt::format("# proven: no plan that was not simulated can be among the first {}\n", rows) + assuming;
  if (!result.bounds_all) return text + "# not proven: not every plan was looked at\n";
  const double best = result.plans.front().score;
  return text +
         fmt::format("# not proven: what was not simulated could be better by at most {:.1f} % (the gap to its bound)\n",
                     100 * std::max(0.0, 1 - result.least().value_or(best) / best)) +
         assuming;
}

std::string plans_table(const plan::PlanSearchResult& result, const plan::PlanSearchSettings& settings,
                        const plan::CostedCluster& costed) {
  Table table;
  table.add_column("plan", Table::Align::kLeft);
  for (const char* title : {"time (ms)", "bound (ms)", "tokens/s", "MFU", "memory (GB)", "exposed comm"})
    table.add_column(title);
  table.add_column("most time", Table::Align::kLeft);
  if (costed.cost) table.add_column("USD/M tokens");
  if (costed.power) table.add_column("J/token");
  for (std::size_t i = 0; i < std::min(settings.top, result.plans.size()); ++i) {
    const plan::RankedPlan& plan = result.plans[i];
    std::vector<std::string> row{plan::plan_text(plan.candidate),
                                 fmt::format("{:.2f}", plan.iteration.us() / 1e3),
                                 fmt::format("{:.2f}", plan.bound_seconds * 1e3),
                                 fmt::format("{:.0f}", plan.tokens_per_second),
                                 fmt::format("{:.1f} %", 100 * plan.mfu),
                                 fmt::format("{:.1f}", plan.memory.total() / 1e9),
                                 fmt::format("{:.1f} %", 100 * plan.exposed_share),
                                 fmt::format("{} {:.0f} %", plan.bottleneck, 100 * plan.bottleneck_share)};
    if (costed.cost) row.push_back(fmt::format("{:.4f}", plan.cost.usd_per_million_tokens().value_or(0)));
    if (costed.power) row.push_back(fmt::format("{:.3g}", plan.cost.joules_per_token().value_or(0)));
    table.add_row(std::move(row));
  }
  return table.text();
}

// How far off the first time may be, and how many rows are too near to it to be told apart.
std::string error_text(const plan::PlanSearchResult& result, std::size_t rows) {
  if (result.plans.empty()) return {};
  const plan::RankedPlan& best = result.plans.front();
  if (!best.error) return "# times: of no known error, as no measurement tested this profile\n";
  const auto shown = static_cast<std::ptrdiff_t>(std::min(rows, result.plans.size()));
  const auto near = std::count_if(result.plans.begin() + 1, result.plans.begin() + shown, [&](const plan::RankedPlan& plan) {
    return plan::is_within_error(best.iteration.seconds(), plan.iteration.seconds(), *best.error);
  });
  const double milliseconds = best.iteration.us() / 1e3;
  return fmt::format("# times: the first is {:.0f} to {:.0f} ms, +- {:.0f} %; {} of the other rows differ from it by less\n",
                     milliseconds * (1 - *best.error), milliseconds * (1 + *best.error), 100 * *best.error, near);
}

int run_plan(const PlanOptions& options) {
  if (options.serve.on) {
    if (!options.write.empty() || options.gpus > 0 || options.batch > 0 || options.objective != "time" || options.all)
      throw ConfigError(
          "--serve: --gpus, --batch, --objective, --all and --write are of training plans\n  note: --set nodes=N");
    return plan_serving({.common = options.common,
                         .cost = options.cost,
                         .serve = options.serve,
                         .model = options.model,
                         .cluster = options.cluster,
                         .budget_seconds = options.budget,
                         .budget_plans = options.budget_plans,
                         .top = options.top,
                         .threads = options.threads});
  }
  const scenario::Overrides overrides = to_overrides(options.common);
  const Outputs outputs = outputs_of(options.common, "plan");
  if (!outputs.timeline.empty() && !options.common.timeline.empty()) {
    throw ConfigError("--timeline: a search has no one timeline; use 'weft run' on one plan");
  }
  if (!options.write.empty() && options.objective == plan::to_string(plan::PlanObjective::kLargestModel)) {
    throw ConfigError("--write: the largest model has more layers than its file says, which no scenario can name");
  }
  claim_output("--write", options.write);
  const plan::CostBooks books = load_books(options.cost);
  plan::PlanSearchSettings settings;
  settings.objective = objective_of(options.objective, books);
  settings.budget_seconds = options.budget;
  settings.budget_plans = options.budget_plans;
  settings.plan_seconds = options.plan_limit;
  settings.prunes = !options.all;
  settings.top = options.top;
  settings.certain = options.certain;
  settings.threads = options.threads;

  Diagnostics diagnostics;
  net::Cluster cluster = scenario::load_cluster(options.cluster, overrides, diagnostics);
  diagnostics.throw_if_any();
  scenario::Scenario scenario{"plan", std::move(cluster), {}, {}, {}, {}, {}, {}};
  scenario.nccl = scenario::nccl_settings(scenario.cluster, overrides);
  if (overrides.seed) scenario.simulation.seed = *overrides.seed;
  if (overrides.grain) scenario.simulation.grain = *overrides.grain;
  if (overrides.shuffle_ties) scenario.simulation.shuffle_ties = *overrides.shuffle_ties;
  plan::PlanSpace space = space_of(options, scenario.cluster, diagnostics);
  print_warnings(diagnostics, options.common);
  const plan::CostedCluster costed = plan::cost_of(scenario.cluster.topology, books, &scenario.cluster.profile);

  const Report report{outputs};
  const Heading heading{"plan", options.model, scenario.simulation.seed, scenario.simulation.grain};
  report.print(heading_text(heading, scenario.cluster, options.common.verbose));
  Watch watch{options.common.quiet, options.budget};
  const plan::PlanSearchResult result = plan::search_plans(scenario, space, settings, costed, watch);
  watch.wipe();
  space.setup.model.layers = result.layers;

  report.print(fmt::format("# {}: {} layers on {} GPUs, batch {} x {} tokens, objective {}\n#\n", space.setup.model.name,
                           result.layers, space.gpus, space.setup.batch.global, space.setup.batch.sequence, options.objective));
  report.print(plans_table(result, settings, costed));
  report.print("#\n" + error_text(result, settings.top) + verdict(result, settings));
  report.print(
      "# t tensor  p pipeline  v virtual stages  c context  d data  e expert  et expert_tensor  z zero  mb micro batch\n#\n");
  report.print(counts_text(result, settings));
  report.print(provenance_text(heading, options.common.verbose));
  report.print(fmt::format("# digest {}  wall {:.1f} s\n", digest_text(result.digest), result.wall_seconds));

  if (!outputs.json.empty()) {
    const ResultHeader header{.command = "plan",
                              .command_line = command_line(),
                              .seed = scenario.simulation.seed,
                              .configuration = scenario.cluster.resolved.to_json(),
                              .profiles = {scenario::profile_statement(scenario.cluster)},
                              .warnings = warning_texts(diagnostics),
                              .digest = result.digest,
                              .interrupted = result.interrupted};
    write_file(outputs.json,
               [&](std::ostream& out) { output::write_plan_result(out, header, space, settings, costed, result); });
  }
  if (!options.write.empty() && !result.plans.empty()) {
    const plan::PlanFiles files{.model = options.model, .cluster = options.cluster, .written = options.write};
    const std::string text = plan::plan_scenario(space, result.plans.front().candidate, files, overrides, scenario.simulation);
    write_file(options.write, [&](std::ostream& out) { out << text; });
  }
  if (result.plans.empty()) {
    std::fputs(fmt::format("error: no plan was simulated to its end: the search ended after {:.0f} s of {}\n"
                           "note: {}; --gpus N or a cluster of fewer nodes has its first plan sooner\n",
                           result.wall_seconds, result.bounds_all ? "bounds and simulations" : "listing plans",
                           result.interrupted ? "let it run until the line on the terminal names a best plan"
                                              : "--budget SECONDS and --plan-limit SECONDS give it longer")
                   .c_str(),
               stderr);
  }
  if (result.interrupted) return kInterrupted;
  return result.plans.empty() ? kCheckFailed : kOk;
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("plan", "Searches the parallel plans of a model on a cluster");
  const auto options = std::make_shared<PlanOptions>();
  command->add_option("--model", options->model, "Model: a file, ours or of Hugging Face, or a shipped name (weft list models)")
      ->required()
      ->type_name("FILE");
  command->add_option("--cluster", options->cluster, "Cluster: a file, or a shipped name (weft list clusters)")
      ->required()
      ->type_name("FILE");
  command->add_option("--gpus", options->gpus, "GPUs of a plan; all of the cluster if not given")
      ->check(positive_number())
      ->type_name("N");
  command->add_option("--batch", options->batch, "Sequences per step; two per GPU if not given")
      ->check(positive_number())
      ->type_name("N");
  command->add_option("--sequence", options->sequence, "Tokens per sequence (4096)")->check(positive_number())->type_name("N");
  command->add_option("--objective", options->objective, "time, tokens_per_dollar, tokens_per_joule or largest_model")
      ->type_name("NAME");
  command->add_option("--budget", options->budget, "Seconds after which the search ends with the best so far (45; 0: none)")
      ->check(number_from_zero())
      ->type_name("SECONDS");
  command->add_option("--budget-plans", options->budget_plans, "Plans to simulate at most, the same on every machine")
      ->type_name("N");
  command->add_option("--plan-limit", options->plan_limit, "Seconds one plan may take to simulate (30)")
      ->check(positive_number())
      ->type_name("SECONDS");
  command->add_option("--write", options->write, "Writes the best plan as a scenario for 'weft run'")->type_name("FILE");
  command->add_option("--top", options->top, "Rows of the table (10)")->check(positive_number())->type_name("N");
  command->add_option("--certain", options->certain, "Rows that no plan left out may belong in; more take longer (1)")
      ->check(positive_number())
      ->type_name("N");
  command->add_option("--jobs,-j", options->threads, "Threads (1)")->check(CLI::Range(1, 1024))->type_name("N");
  command->add_flag("--all", options->all, "Simulate every plan that fits: brute force");
  add_serve_options(*command, options->serve);
  add_cost_options(*command, options->cost);
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_plan(*options); });
}

}  // namespace weft::apps
