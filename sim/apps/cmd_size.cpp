// weft size: how much of which cluster a training job takes, by when, at what price and power.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/interrupt.h"
#include "sim/apps/option_checks.h"
#include "sim/apps/output.h"
#include "sim/apps/print_cost.h"
#include "sim/apps/table.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/output/size_json.h"
#include "sim/planning/error_range.h"
#include "sim/planning/sizing/size.h"
#include "sim/workloads/model/model_reader.h"

namespace weft::apps {
namespace {

struct SizeOptions {
  CommonOptions common;
  CostOptions cost{.prices = "list_2026", .power = "datasheets"};
  std::string failures;  // none: the shipped book of the size
  std::string model;
  std::vector<std::string> clusters;
  double tokens = 0;
  std::string within;
  std::int64_t gpus = 0;
  double money = 0;
  double megawatts = 0;
  std::int64_t batch = 2048;
  std::int64_t sequence = 4096;
  std::string blocking = "5 s";
  std::string restart = "10 min";
  double budget = 45;
  std::uint64_t budget_plans = 0;
  int threads = 1;
};

class SizeWatch final : public plan::PlanSearchObserver {
 public:
  void on_state(const plan::PlanProgress&) override {}
  [[nodiscard]] bool stop() const override { return flag_.load(); }

 private:
  const std::atomic<bool>& flag_ = interrupt_flag();
};

plan::LongTime time_of(const std::string& option, const std::string& text) {
  const auto time = plan::parse_long_time(text);
  if (!time || time->us() <= 0) {
    throw ConfigError(fmt::format("{}: expected a time such as '30 d' or '10 min', got '{}'", option, text));
  }
  return *time;
}

std::string days_text(double seconds) {
  const double days = seconds / 86'400;
  return days >= 1 ? fmt::format("{:.1f} d", days) : fmt::format("{:.1f} h", seconds / 3'600);
}

std::string range_text(const plan::Ranged& range, const auto& text) {
  return fmt::format("{}  ({} to {})", text(range.value), text(range.least), text(range.most));
}

std::string cluster_letter(std::size_t index) { return std::string(1, static_cast<char>('A' + index % 26)); }

// One column a cluster.
std::string size_table(const std::vector<plan::SizedCluster>& sized) {
  Table table;
  table.add_column("", Table::Align::kLeft);
  for (std::size_t i = 0; i < sized.size(); ++i) table.add_column(cluster_letter(i), Table::Align::kLeft);
  const auto row = [&](const std::string& name, const auto& text) {
    std::vector<std::string> cells{name};
    for (const plan::SizedCluster& each : sized) cells.push_back(text(each));
    table.add_row(std::move(cells));
  };
  using Sized = const plan::SizedCluster&;
  const auto usd = [](double amount) { return plan::short_usd(amount); };
  row("size", [](Sized s) { return fmt::format("{} node{}, {} GPUs", s.nodes, s.nodes == 1 ? "" : "s", s.gpus); });
  row("set by", [](Sized s) { return s.limit + (s.meets ? "" : ", misses the deadline"); });
  row("time", [](Sized s) { return range_text(s.seconds, days_text); });
  row("cost of it (USD)", [&](Sized s) { return range_text(s.usd, usd); });
  row("capital (USD)", [&](Sized s) { return usd(s.capital_usd); });
  row("USD an hour", [&](Sized s) { return usd(s.plan.cost.usd_per_hour()); });
  row("power", [](Sized s) { return fmt::format("{:.2f} MW  (at most {:.2f})", s.megawatts, s.most_megawatts); });
  row("energy", [](Sized s) { return fmt::format("{:.0f} MWh", s.megawatt_hours); });
  row("useful time", [](Sized s) { return range_text(s.useful, [](double v) { return fmt::format("{:.1f} %", 100 * v); }); });
  row("fails every", [](Sized s) {
    return fmt::format("{} ({}), checkpoint every {}", to_string(s.time_to_failure), s.failures,
                       to_string(s.checkpoint_interval));
  });
  row("tokens/s", [](Sized s) { return fmt::format("{:.0f}, MFU {:.1f} %", s.plan.tokens_per_second, 100 * s.plan.mfu); });
  row("error of a step",
      [](Sized s) { return fmt::format("{}+- {:.0f} %", s.error ? "" : "not validated, taken as ", 100 * s.range_error()); });
  row("a better plan", [](Sized s) {
    if (!s.gap) return std::string{"none: proven"};
    return *s.gap < 1 ? fmt::format("at most {:.0f} % faster", 100 * *s.gap / (1 - *s.gap)) : std::string{"not bounded"};
  });
  row("plan", [](Sized s) { return plan::plan_text(s.plan.candidate); });
  row("prices", [](Sized s) {
    return fmt::format("of {} to {}, {:.0f} % of capital assumed", s.oldest_price, s.newest_price, 100 * s.assumed_share);
  });
  return table.text();
}

std::string changes_table(const std::vector<plan::SizedCluster>& sized) {
  Table table;
  table.add_column("if", Table::Align::kLeft);
  for (std::size_t i = 0; i < sized.size(); ++i) {
    table.add_column(cluster_letter(i) + " time");
    table.add_column(cluster_letter(i) + " cost (USD)");
  }
  for (const plan::SizeChange& change : sized.front().changes) {
    std::vector<std::string> cells{change.what};
    for (const plan::SizedCluster& each : sized) {
      const auto same = std::ranges::find(each.changes, change.what, &plan::SizeChange::what);
      const bool has = same != each.changes.end();
      cells.push_back(has ? days_text(same->seconds) : "-");
      cells.push_back(has ? plan::short_usd(same->usd) : "-");
    }
    table.add_row(std::move(cells));
  }
  return "# what would change it\n" + table.text();
}

// Compares each with the cheapest.
std::string verdict_text(const std::vector<plan::SizedCluster>& sized) {
  std::string text;
  const auto cheapest = std::ranges::min_element(sized, {}, [](const auto& s) { return s.usd.value; });
  const std::size_t best = static_cast<std::size_t>(cheapest - sized.begin());
  for (std::size_t i = 0; i < sized.size(); ++i) {
    if (i == best) continue;
    const plan::SizedCluster& other = sized[i];
    const double error = std::max(cheapest->range_error(), other.range_error());
    const auto compared = [&](const char* what, double a, double b) {
      return fmt::format("{} {:.2f} times {}'s{}", what, b / a, cluster_letter(best),
                         plan::is_within_error(a, b, error) ? ", within the error" : "");
    };
    text += fmt::format("# {}: {}; {}", cluster_letter(i), compared("costs", cheapest->usd.value, other.usd.value),
                        compared("takes", cheapest->seconds.value, other.seconds.value));
    if (const auto even = plan::even_capital(other, *cheapest)) {
      text += fmt::format("; costs the same at {:.0f} % of its capital", 100 * *even);
    }
    text += "\n";
  }
  return text;
}

// Which batch suits a cluster better: where its GPUs do not divide the one given, no plan has all of them in data parallelism.
std::string batch_notes(const std::vector<plan::SizedCluster>& sized, std::int64_t batch) {
  std::string text;
  for (std::size_t i = 0; i < sized.size(); ++i) {
    const std::int64_t gpus = sized[i].gpus;
    if (gpus < 1 || batch < gpus || batch % gpus == 0) continue;
    text += fmt::format("# note: {}: {} sequences do not divide into {} GPUs, which leaves out plans; --batch {} has them\n",
                        cluster_letter(i), batch, gpus, (batch + gpus / 2) / gpus * gpus);
  }
  return text;
}

// How much more often or seldom than its book says a cluster may fail.
std::string failures_text(const std::vector<plan::SizedCluster>& sized) {
  std::vector<std::string> texts;
  for (const plan::SizedCluster& each : sized) {
    const std::string text = fmt::format("of {} or {} times as often or seldom", each.failures, each.failures_within);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

int run_size(const SizeOptions& options) {
  const scenario::Overrides overrides = to_overrides(options.common);
  const Outputs outputs = outputs_of(options.common, "size");
  if (!outputs.timeline.empty() && !options.common.timeline.empty()) {
    throw ConfigError("--timeline: a size has no timeline; use 'weft run' on one plan");
  }
  plan::SizeQuestion question;
  question.failures =
      options.failures.empty() ? plan::FailureBooks::shipped() : plan::FailureBooks{plan::load_failure_rates(options.failures)};
  question.books = load_books(options.cost);
  question.tokens = options.tokens;
  question.gpus = options.gpus;
  if (!options.within.empty()) question.deadline = time_of("--within", options.within);
  if (options.money > 0) question.capital_usd = options.money;
  if (options.megawatts > 0) question.megawatts = options.megawatts;
  question.restart = time_of("--restart", options.restart);
  question.checkpoint.blocking = time_of("--checkpoint", options.blocking);
  question.search.top = 1;
  question.search.threads = options.threads;
  question.search.budget_seconds = options.budget;
  question.search.budget_plans = options.budget_plans;
  Diagnostics diagnostics;
  question.setup.model = work::read_model(work::load_model_file(options.model), diagnostics);
  diagnostics.throw_if_any();
  question.setup.batch.sequence = options.sequence;
  question.setup.batch.global = options.batch;

  std::vector<plan::SizedCluster> sized;
  std::vector<std::string> warnings;
  SizeWatch watch;
  Digest digest;
  scenario::Scenario settings{
      "size", scenario::load_cluster(options.clusters.front(), overrides, diagnostics), {}, {}, {}, {}, {}, {}};
  if (overrides.seed) settings.simulation.seed = *overrides.seed;
  if (overrides.grain) settings.simulation.grain = *overrides.grain;
  for (const std::string& file : options.clusters) {
    const plan::LoadNodes load = [&](std::int64_t nodes) {
      scenario::Overrides counted = overrides;
      if (nodes > 0) counted.sets.emplace_back("nodes", std::to_string(nodes));
      Diagnostics found;
      net::Cluster cluster = scenario::load_cluster(file, counted, found);
      found.throw_if_any();
      return cluster;
    };
    sized.push_back(plan::size_cluster(load, file, question, settings, watch));
    digest.add(sized.back().digest);
    if (watch.stop()) break;
  }

  const Report report{outputs};
  report.print(fmt::format("# size {}: {:.3g} tokens, batch {} x {} tokens{}\n", question.setup.model.name, question.tokens,
                           question.setup.batch.global, question.setup.batch.sequence,
                           question.deadline ? ", within " + to_string(*question.deadline) : std::string{}));
  for (std::size_t i = 0; i < sized.size(); ++i) {
    report.print(fmt::format("# {}: {} ({})  profile {}: {}\n", cluster_letter(i), sized[i].name, sized[i].file,
                             sized[i].profile, sized[i].profile_error));
  }
  if (watch.stop()) {
    report.print(fmt::format("# interrupted: sizes and plans are the best until then, and {} of {} clusters were begun\n",
                             sized.size(), options.clusters.size()));
  }
  const std::string verdict = verdict_text(sized);
  report.print("#\n" + size_table(sized) + "#\n" + verdict + (verdict.empty() ? "" : "#\n") + changes_table(sized));
  report.print(batch_notes(sized, question.setup.batch.global));
  report.print(
      fmt::format("# ranges: error of a step, a better plan, failures {}; prices have none but their age\n# digest {}\n",
                  failures_text(sized), digest_text(digest.value())));
  if (!outputs.json.empty()) {
    const ResultHeader header{.command = "size",
                              .command_line = command_line(),
                              .seed = settings.simulation.seed,
                              .configuration = settings.cluster.resolved.to_json(),
                              .profiles = {scenario::profile_statement(settings.cluster)},
                              .warnings = warning_texts(diagnostics),
                              .digest = digest.value(),
                              .interrupted = watch.stop()};
    write_file(outputs.json, [&](std::ostream& out) { output::write_size_result(out, header, question, sized); });
  }
  if (watch.stop()) return kInterrupted;
  return std::ranges::all_of(sized, &plan::SizedCluster::meets) ? kOk : kCheckFailed;
}

}  // namespace

void add_size(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("size", "How much of which cluster a job takes: time, price, power");
  const auto options = std::make_shared<SizeOptions>();
  command->add_option("--model", options->model, "Model: a file, ours or of Hugging Face, or a shipped name (weft list models)")
      ->required()
      ->type_name("FILE");
  command->add_option("--cluster", options->clusters, "Cluster: a file, or a shipped name; once for each that is compared")
      ->required()
      ->allow_extra_args(false)
      ->type_name("FILE");
  command->add_option("--tokens", options->tokens, "Tokens to train on: 15e12")
      ->required()
      ->check(positive_number())
      ->type_name("N");
  command->add_option("--within", options->within, "Deadline: '30 d'; the fewest nodes that meet it are looked for")
      ->type_name("TIME");
  command->add_option("--gpus", options->gpus, "GPUs, rounded up to whole nodes; as many as the file has if not given")
      ->check(positive_number())
      ->type_name("N");
  command->add_option("--money", options->money, "Capital at most, in USD: 50e6")->check(positive_number())->type_name("USD");
  command->add_option("--megawatts", options->megawatts, "Power at most, all busy and with PUE")
      ->check(positive_number())
      ->type_name("MW");
  command->add_option("--batch", options->batch, "Sequences per step (2048)")->check(positive_number())->type_name("N");
  command->add_option("--sequence", options->sequence, "Tokens per sequence (4096)")->check(positive_number())->type_name("N");
  command
      ->add_option("--failures", options->failures,
                   "Failure rates: a file or a shipped name (meta_research_2024 under 1,024 GPUs, else llama3_2024)")
      ->type_name("FILE");
  command->add_option("--checkpoint", options->blocking, "What a checkpoint blocks (5 s)")->type_name("TIME");
  command->add_option("--restart", options->restart, "Time from a failure until steps run again (10 min)")->type_name("TIME");
  command->add_option("--budget", options->budget, "Seconds of one search for a plan (45; 0: none)")
      ->check(number_from_zero())
      ->type_name("SECONDS");
  command->add_option("--budget-plans", options->budget_plans, "Plans to simulate at most in one search")->type_name("N");
  command->add_option("--jobs,-j", options->threads, "Threads (1)")->check(CLI::Range(1, 1024))->type_name("N");
  add_cost_options(*command, options->cost);
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_size(*options); });
}

}  // namespace weft::apps
