#include "sim/apps/print_inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/apps/table.h"
#include "sim/core/printable.h"
#include "sim/measured/validation_report.h"
#include "sim/workloads/inference/layer_kernels.h"
#include "sim/workloads/model/parameters.h"

namespace weft::apps {
namespace {

constexpr std::size_t kEnginesShown = 16;

std::string plan_text(const work::EnginePlan& plan) {
  std::string text = fmt::format("{} {} of {} {}", plan.data, plan.data == 1 ? "engine" : "engines", plan.engine_gpus(),
                                 plan.engine_gpus() == 1 ? "GPU" : "GPUs");
  const auto add = [&](std::string_view name, int size) {
    if (size > 1) text += fmt::format(", {} {}", name, size);
  };
  add("tensor", plan.tensor);
  add("attention_data", plan.attention_data);
  add("expert", plan.expert);
  add("pipeline", plan.pipeline);
  return text;
}

std::string length_text(const work::LengthSpec& length) {
  return length.sigma > 0 ? fmt::format("about {}", length.median) : std::to_string(length.median);
}

std::string requests_text(const work::RequestSpec& spec) {
  const auto lengths = [&] {
    std::string text = fmt::format("{} tokens in, {} out", length_text(spec.prompt), length_text(spec.output));
    if (spec.shared_prefix > 0) text += fmt::format(", {} in common", spec.shared_prefix);
    return text;
  };
  const std::string what =
      spec.sessions.turns > 1 ? fmt::format("sessions of {} turns", spec.sessions.turns) : std::string{"requests"};
  switch (spec.arrivals) {
    case work::Arrivals::kTrace:
      return fmt::format("{} requests from a trace", spec.count);
    case work::Arrivals::kClosed:
      return fmt::format("{} {}, {} at a time, {}", spec.count, what, spec.concurrency, lengths());
    case work::Arrivals::kFixed:
      return fmt::format("{} {}, evenly {} a second, {}", spec.count, what, spec.rate, lengths());
    case work::Arrivals::kPoisson:
      break;
  }
  return fmt::format("{} {}, Poisson {} a second, {}", spec.count, what, spec.rate, lengths());
}

void print_latencies(const Report& report, const scenario::InferenceResult& result) {
  Table table;
  table.add_column("latency", Table::Align::kLeft);
  for (const char* title : {"p50 (ms)", "p90 (ms)", "p99 (ms)", "mean (ms)"}) table.add_column(title);
  const auto row = [&](const char* name, const scenario::Quantiles& of) {
    const auto ms = [](double ns) { return fmt::format("{:.3f}", ns / 1e6); };
    table.add_row({name, ms(of.p50_ns), ms(of.p90_ns), ms(of.p99_ns), ms(of.mean_ns)});
  };
  row("time to first token", result.ttft);
  row("time per output token", result.tpot);
  row("between tokens", result.itl);
  row("end to end", result.e2e);
  row("queue", result.queue);
  if (result.cache_bytes_moved > 0) row("exposed transfer", result.transfer);
  report.print("#\n" + table.text());
}

void print_memory(const Report& report, const char* what, const work::EngineMemory& memory, const work::InferenceSetup& setup) {
  report.print(fmt::format(
      "{:<11} {:.1f} of {:.0f} GB per GPU  (weights {:.1f}, activations {:.1f}, runtime {:.1f}, cache {:.1f}: {} tokens per "
      "engine)\n",
      what, (memory.weights + memory.activations + memory.runtime + memory.cache) / 1e9, memory.capacity / 1e9,
      memory.weights / 1e9, memory.activations / 1e9, memory.runtime / 1e9, memory.cache / 1e9, memory.tokens(setup.kv_cache)));
}

void print_engines(const Report& report, const scenario::InferenceResult& result) {
  report.print(fmt::format("#\n# engines{}\n", result.engines.size() > kEnginesShown ? ", the first ones" : ""));
  Table table;
  table.add_column("engine");
  table.add_column("does", Table::Align::kLeft);
  for (const char* title : {"steps", "prefilled", "decoded", "preempted", "busy", "running", "waiting", "cache", "peak"}) {
    table.add_column(title);
  }
  if (result.caches_prefixes) table.add_column("hits");
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  for (std::size_t i = 0; i < std::min(result.engines.size(), kEnginesShown); ++i) {
    const work::EngineReport& engine = result.engines[i];
    std::vector<std::string> row{std::to_string(i),
                                 std::string{work::to_string(engine.role)},
                                 std::to_string(engine.totals.steps),
                                 std::to_string(engine.totals.prefill_tokens),
                                 std::to_string(engine.totals.decode_tokens),
                                 std::to_string(engine.totals.preemptions),
                                 percent(engine.busy_share),
                                 fmt::format("{:.1f}", engine.mean_running),
                                 fmt::format("{:.1f}", engine.mean_waiting),
                                 percent(engine.mean_block_share),
                                 percent(engine.peak_block_share)};
    if (result.caches_prefixes) row.push_back(percent(engine.totals.hit_rate()));
    table.add_row(std::move(row));
  }
  report.print(table.text());
}

void print_parts(const Report& report, const scenario::InferenceResult& result) {
  Duration sum;
  for (const Duration part : result.parts) sum += part;
  if (sum == Duration{}) return;
  std::string text;
  for (std::size_t part = 0; part < work::kStepParts; ++part) {
    if (result.parts[part] == Duration{}) continue;
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", work::to_string(static_cast<work::StepPart>(part)),
                        100 * result.parts[part].seconds() / sum.seconds());
  }
  report.print(fmt::format("#\n# where steps go: {}\n", text));
}

// Says what ran: model, engines, requests and scheduler.
void print_service(const Report& report, const work::InferenceSetup& setup) {
  const double total = static_cast<double>(work::total_parameters(setup.model));
  const std::string engines = setup.decode
                                  ? fmt::format("prefill: {}; decode: {}", plan_text(setup.plan), plan_text(*setup.decode))
                                  : plan_text(setup.plan);
  report.print(fmt::format("# {}: {:.2f} B parameters{}, {} weights, {} cache; {}\n",
                           setup.model.name.empty() ? "model" : setup.model.name, total / 1e9,
                           setup.redundant_experts > 0 ? " with copies of experts" : "",
                           work::to_string(setup.precision.weights), work::to_string(setup.kv_cache.precision), engines));
  report.print(fmt::format("# {}; {} tokens a step, batch {}{}\n", requests_text(setup.requests), setup.scheduler.token_budget,
                           setup.scheduler.max_batch, setup.scheduler.chunked_prefill ? ", chunked prefill" : ""));
}

}  // namespace

std::string experts_text(const work::InferenceSetup& setup, const work::EnginePlan& plan, std::int64_t tokens) {
  const work::MixtureOfExperts& moe = setup.model.moe;
  if (moe.experts == 0 || plan.expert == 1) return {};
  const double mean = static_cast<double>(tokens * moe.experts_per_token) / plan.expert;
  const double busiest = work::expert_load(setup, plan, moe, tokens).rows / mean;
  std::string why = "expert_imbalance";
  if (setup.expert_power_law > 0) why = fmt::format("expert_power_law {}", setup.expert_power_law);
  why += setup.redundant_experts > 0 ? fmt::format(", balanced by {} redundant_experts", setup.redundant_experts)
                                     : std::string{"; redundant_experts balances"};
  return fmt::format("experts     the busiest of {} GPUs has {:.2f} times the mean in a step of {} tokens ({})\n", plan.expert,
                     busiest, tokens, why);
}

void print_inference(const Report& report, const work::InferenceSetup& setup, const scenario::InferenceResult& result) {
  print_latencies(report, result);
  report.print("#\n");
  report.print(fmt::format("throughput  {:.1f} tokens/s  ({:.1f} per GPU), {:.3f} requests/s\n", result.tokens_per_second,
                           result.tokens_per_second_per_gpu, result.requests_per_second));
  if (setup.targets.ttft > Duration{} || setup.targets.tpot > Duration{}) {
    report.print(
        fmt::format("goodput     {:.3f} requests/s  ({:.1f} % within targets)\n", result.goodput, 100 * result.within_targets));
  }
  if (result.caches_prefixes) {
    report.print(fmt::format("prefixes    {:.1f} % of {} prompt tokens were in the cache\n", 100 * result.prefix_hit_rate(),
                             result.prompt_tokens));
  }
  print_memory(report, setup.decode ? "prefill" : "memory", result.memory.prefill, setup);
  if (setup.decode) print_memory(report, "decode", result.memory.decode, setup);
  report.print(experts_text(setup, setup.plan, setup.scheduler.token_budget));
  print_engines(report, result);
  print_parts(report, result);
  report.print("#\n");
  print_service(report, setup);
}

void print_server_comparison(const Report& report, const measured::ServerComparison& comparison) {
  const measured::ServerRun& run = comparison.run;
  const std::string place = run.line > 1 ? fmt::format("{}:{}", run.file, run.line) : run.file;
  report.print(fmt::format("#\n# beside {}: {}{}, {} requests\n", printable(place), run.format,
                           run.model.empty() ? "" : ", " + printable(run.model), run.requests));
  Table table;
  table.add_column("figure", Table::Align::kLeft);
  for (const char* title : {"measured", "predicted", "error"}) table.add_column(title);
  std::vector<double> errors;
  for (const measured::ServerPoint& point : comparison.points) {
    errors.push_back(std::abs(point.relative_error()));
    table.add_row({point.what, fmt::format("{:.3f}", point.measured), fmt::format("{:.3f}", point.predicted),
                   fmt::format("{:+.1f} %", 100 * point.relative_error())});
  }
  report.print(table.text());
  const measured::ErrorSummary summary = measured::summarize(std::move(errors));
  report.print(fmt::format("# error  median {:.1f} %, largest {:.1f} %, of {} figures\n", 100 * summary.median,
                           100 * summary.max, summary.points));
  for (const std::string& note : comparison.notes) report.print(fmt::format("# note: {}\n", printable(note)));
}

}  // namespace weft::apps
