#include "sim/apps/plan_serving.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ostream>
#include <utility>

#include "sim/apps/listener.h"
#include "sim/apps/output.h"
#include "sim/apps/search_line.h"
#include "sim/apps/table.h"
#include "sim/core/config/node.h"
#include "sim/core/error.h"
#include "sim/output/serving_plan_json.h"
#include "sim/planning/serving_search/engine_flags.h"
#include "sim/planning/serving_search/serving_search.h"
#include "sim/workloads/inference/inference_reader.h"

namespace weft::apps {
namespace {

class ServingLine final : public plan::ServingSearchObserver {
 public:
  ServingLine(bool quiet, double budget_seconds) : line_{quiet, budget_seconds} {}

  void on_state(const plan::ServingProgress& now) override {
    if (!line_.draws()) return;
    if (Listener* const hears = listener()) return hears->on_progress("plans", now.simulated, now.simulated + now.waiting);
    std::string text = fmt::format("{:.0f} s  {} plans simulated, {} wait", now.seconds, now.simulated, now.waiting);
    text += line_.end_text(now.seconds);
    if (!now.best.empty()) text += fmt::format("  best {:.0f} tokens/s a GPU  {}", now.tokens_per_second_per_gpu, now.best);
    line_.draw(text);
  }
  [[nodiscard]] bool stop() const override { return line_.stop(); }
  void wipe() { line_.wipe(); }

 private:
  SearchLine line_;
};

work::InferenceSetup read_setup(const ServingJob& job, const net::Topology& topology, Diagnostics& diagnostics) {
  const ServeOptions& serve = job.serve;
  std::string text = fmt::format("model: {}\nlibrary: {}\n", yaml_scalar(job.model), yaml_scalar(serve.library));
  if (!serve.weights.empty()) text += fmt::format("precision: {{weights: {}}}\n", yaml_scalar(serve.weights));
  if (!serve.cache.empty()) text += fmt::format("kv_cache: {{precision: {}}}\n", yaml_scalar(serve.cache));
  text += fmt::format("requests: {{concurrency: 1, prompt: {{median: {}, sigma: {}}}, output: {{median: {}, sigma: {}}}}}\n",
                      serve.prompt, serve.spread, serve.output, serve.spread);
  ParamReader reader{ConfigNode::parse(text, "weft plan --serve", "inference"), diagnostics};
  work::InferenceSetup setup =
      work::read_inference(reader, topology.endpoints().size(), topology.gpu(topology.endpoints().front()));
  diagnostics.throw_if_any();
  return setup;
}

std::string latency_text(const scenario::Quantiles& of) { return fmt::format("{:.1f}", of.p50_ns / 1e6); }

std::string servings_table(const plan::ServingSearchResult& result, const ServingJob& job, const plan::CostedCluster& costed) {
  Table table;
  table.add_column("engines", Table::Align::kLeft);
  for (const char* title :
       {"users", "tokens/step", "tokens/s/user", "tokens/s/GPU", "TTFT p50 (ms)", "p90", "TPOT p50 (ms)", "p90", "cache"}) {
    table.add_column(title);
  }
  if (costed.cost) table.add_column("USD/M tokens");
  if (costed.power) table.add_column("J/token");
  table.add_column("targets", Table::Align::kLeft);
  std::vector<const plan::ServingPlan*> rows;
  for (const plan::ServingPlan& plan : result.plans) {
    if (plan.is_on_front) rows.push_back(&plan);
  }
  // As many rows as were asked for, evenly over the front, and the best.
  const plan::ServingPlan* const best = result.best ? &result.plans[*result.best] : nullptr;
  std::vector<const plan::ServingPlan*> picked = rows;
  if (rows.size() > job.top) {
    picked.clear();
    const std::size_t steps = std::max<std::size_t>(2, job.top) - 1;
    for (std::size_t i = 0; i <= steps; ++i) picked.push_back(rows[i * (rows.size() - 1) / steps]);
    if (best != nullptr && std::ranges::find(picked, best) == picked.end()) picked.push_back(best);
    std::ranges::stable_sort(picked, std::ranges::greater{}, &plan::ServingPlan::tokens_per_second_per_user);
  }
  for (const plan::ServingPlan* const row_of : picked) {
    const plan::ServingPlan& plan = *row_of;
    const plan::ServingCandidate& of = plan.candidate;
    std::vector<std::string> row{plan::engines_text(of),
                                 fmt::format("{}", of.users * of.copies),
                                 fmt::format("{}", of.token_budget),
                                 fmt::format("{:.1f}", plan.tokens_per_second_per_user),
                                 fmt::format("{:.1f}", plan.tokens_per_second_per_gpu),
                                 latency_text(plan.ttft),
                                 fmt::format("{:.1f}", plan.ttft.p90_ns / 1e6),
                                 latency_text(plan.tpot),
                                 fmt::format("{:.1f}", plan.tpot.p90_ns / 1e6),
                                 fmt::format("{:.0f} %", 100 * plan.cache_share)};
    if (costed.cost) row.push_back(fmt::format("{:.4f}", plan.cost.usd_per_million_tokens().value_or(0)));
    if (costed.power) row.push_back(fmt::format("{:.3g}", plan.cost.joules_per_token().value_or(0)));
    row.emplace_back(&plan == best ? "best" : plan.meets() ? "met" : "missed");
    table.add_row(std::move(row));
  }
  return table.text();
}

std::string targets_text(const plan::ServingTargets& targets) {
  std::string text;
  if (targets.ttft > Duration{}) text += fmt::format("TTFT {:g} ms", targets.ttft.ns() / 1e6);
  if (targets.tpot > Duration{}) text += fmt::format("{}TPOT {:g} ms", text.empty() ? "" : ", ", targets.tpot.ns() / 1e6);
  if (text.empty()) return "no targets";
  const char* const share = targets.at == plan::ServingPercentile::kP50   ? "half"
                            : targets.at == plan::ServingPercentile::kP90 ? "90 %"
                                                                          : "99 %";
  return fmt::format("{} for {} of requests", text, share);
}

std::string serving_verdict(const plan::ServingSearchResult& result, const plan::ServingTargets& targets,
                            const work::InferenceSetup& setup) {
  std::string text;
  if (result.interrupted) text += "# interrupted\n";
  text += result.left == 0 ? fmt::format("# complete: all {} plans were simulated or do not fit\n", result.candidates)
                           : fmt::format("# not complete: {} of {} plans were left, of which some may belong here\n",
                                         result.left, result.candidates);
  if (!result.best) return text + fmt::format("# no plan meets the targets: {}\n", targets_text(targets));
  const plan::ServingPlan& best = result.plans[*result.best];
  text += fmt::format("#\n# best: {}, {} users each, {} tokens a step: {:.0f} tokens/s, {:.2f} requests/s\n",
                      plan::engines_text(best.candidate), best.candidate.users, best.candidate.token_budget,
                      best.tokens_per_second, best.requests_per_second);
  for (const plan::EngineCommand& command : plan::engine_commands(setup, best.candidate)) {
    const bool is_apart = command.lines.size() == 2;
    for (std::size_t i = 0; i < command.lines.size(); ++i) {
      const std::string name = command.engine + std::string{!is_apart ? "" : i == 0 ? " prefill" : " decode"};
      text += fmt::format("#   {:<{}} {}\n", name, is_apart ? 20 : 13, command.lines[i]);
    }
  }
  if (setup.precision.weights != work::Precision::kBf16) {
    text += fmt::format("#   MODEL is a checkpoint with weights in {}\n", work::to_string(setup.precision.weights));
  }
  return text;
}

}  // namespace

void add_serve_options(CLI::App& command, ServeOptions& options) {
  CLI::Option* const serve =
      command.add_flag("--serve", options.on, "Plans serving: engines, users at once, tokens a step; the Pareto front");
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    return command.add_option(name, value, help)->type_name(type)->needs(serve)->group("Serving");
  };
  add("--slo", options.targets, "Targets of latency: ttft=500ms,tpot=30ms,at=p90 (p50, p90, p99)", "TARGETS");
  add("--prompt", options.prompt, "Tokens of a prompt, the median (1024)", "N")->check(CLI::Range(1, 1'000'000));
  add("--output", options.output, "Tokens of an answer, the median (1024)", "N")->check(CLI::Range(2, 1'000'000));
  add("--spread", options.spread, "Sigma of both, lognormal (0.2)", "X")->check(CLI::Range(0.0, 3.0));
  add("--weights", options.weights, "Precision of weights: bf16, fp8, fp4, int8, w8a16, w4a16 (the model's)", "NAME");
  add("--kv-cache", options.cache, "Precision of the cache (that of activations)", "NAME");
  add("--library", options.library, "Kernels and all-reduces: vllm, sglang, tensorrt_llm, ... (vllm)", "NAME");
  add("--token-budgets", options.token_budgets, "Tokens of a step at most, each is tried (2048 8192)", "N...")
      ->check(CLI::Range(16, 1'000'000));
  command.add_flag("--aggregated", options.aggregated, "No engines that prefill or decode alone")
      ->needs(serve)
      ->group("Serving");
}

int plan_serving(const ServingJob& job) {
  const scenario::Overrides overrides = to_overrides(job.common);
  const Outputs outputs = outputs_of(job.common, "plan_serving");
  plan::ServingSettings settings;
  settings.budget_seconds = job.budget_seconds;
  settings.budget_plans = job.budget_plans;
  settings.threads = job.threads;
  if (!job.serve.targets.empty()) settings.targets = plan::parse_targets(job.serve.targets, "--slo");
  const plan::CostBooks books = load_books(job.cost);

  Diagnostics diagnostics;
  net::Cluster cluster = scenario::load_cluster(job.cluster, overrides, diagnostics);
  diagnostics.throw_if_any();
  scenario::Scenario scenario{"plan", std::move(cluster), {}, {}, {}, {}, {}, {}};
  scenario.nccl = scenario::nccl_settings(scenario.cluster, overrides);
  if (overrides.seed) scenario.simulation.seed = *overrides.seed;
  if (overrides.grain) scenario.simulation.grain = *overrides.grain;
  if (overrides.shuffle_ties) scenario.simulation.shuffle_ties = *overrides.shuffle_ties;
  const net::Topology& topology = scenario.cluster.topology;
  scenario.workload.inference = read_setup(job, topology, diagnostics);
  const work::InferenceSetup& setup = *scenario.workload.inference;
  print_warnings(diagnostics, job.common);
  plan::ServingSpace space{.gpus = static_cast<std::int64_t>(topology.endpoints().size()),
                           .node_gpus = static_cast<std::int64_t>(topology.endpoints().size() / topology.host_count()),
                           .token_budgets = job.serve.token_budgets,
                           .disaggregates = !job.serve.aggregated};
  std::ranges::sort(space.token_budgets);
  const plan::CostedCluster costed = plan::cost_of(topology, books, &scenario.cluster.profile);

  const Report report{outputs};
  const Heading heading{"plan", job.model, scenario.simulation.seed, scenario.simulation.grain};
  report.print(heading_text(heading, scenario.cluster, job.common.verbose));
  ServingLine line{job.common.quiet, job.budget_seconds};
  const plan::ServingSearchResult result = plan::search_servings(scenario, space, settings, costed, line);
  line.wipe();

  report.print(fmt::format("# {} on {} GPUs, {} weights, library {}; about {} tokens in, {} out; {}\n#\n", setup.model.name,
                           space.gpus, work::to_string(setup.precision.weights), setup.library.name, job.serve.prompt,
                           job.serve.output, targets_text(settings.targets)));
  report.print(servings_table(result, job, costed));
  report.print("#\n" + serving_verdict(result, settings.targets, setup));
  report.print(
      "# t tensor  a attention's replicas  e expert  p pipeline  x engines; tokens/s/GPU over all GPUs, idle ones too\n#\n");
  report.print(fmt::format("engines     {} looked at, {} too big\nplans       {}: {} simulated, {} too big, {} left\n",
                           result.engines, result.engines_too_big, result.candidates, result.simulated, result.too_big,
                           result.left));
  report.print(provenance_text(heading, job.common.verbose));
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
               [&](std::ostream& out) { output::write_serving_plan(out, header, setup, space, settings, costed, result); });
  }
  if (result.plans.empty()) {
    std::fputs("error: no plan was simulated to its end\nnote: --budget SECONDS gives it longer\n", stderr);
  }
  if (result.interrupted) return kInterrupted;
  return result.best ? kOk : kCheckFailed;
}

}  // namespace weft::apps
