// weft step: one step of a serving engine, kernel by kernel.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/print_inference.h"
#include "sim/apps/table.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/node.h"
#include "sim/core/config/shipped_file.h"
#include "sim/core/error.h"
#include "sim/core/json_writer.h"
#include "sim/core/result_header.h"
#include "sim/scenario/configuration_text.h"
#include "sim/scenario/read_scenario.h"
#include "sim/scenario/scenario_layers.h"
#include "sim/scenario/serving_step.h"

namespace weft::apps {
namespace {

struct StepOptions {
  CommonOptions common;
  std::string scenario;
  std::string model;
  std::string cluster;
  std::string phase;
  std::string library;
  std::string weights;
  std::string cache;
  std::string cuda_graph;
  int tensor = 0;
  int pipeline = 0;
  int expert = 0;
  int attention_data = 0;
  bool no_head = false;
  bool no_cache = false;
  bool full_clock = false;
  scenario::ServingStepSpec spec;
};

// The scenario that the options describe: a file's, or nothing but an engine, with what they say laid over it.
ConfigNode scenario_of(const StepOptions& options, const scenario::Overrides& overrides) {
  if (options.scenario.empty() && (options.model.empty() || options.cluster.empty()))
    throw ConfigError("expected a scenario, or --model and --cluster");
  std::vector<scenario::ScenarioChange> changes;
  const auto lay = [&](const char* option, const std::string& path, const std::string& value) {
    changes.push_back(scenario::change_of(path, value, option));
  };
  const std::string inference = "workload.inference.";
  ConfigNode base = options.scenario.empty()
                        ? ConfigNode::parse("workload: {inference: {requests: {concurrency: 1}}}", "weft step")
                        : scenario::load_scenario_file(options.scenario);
  if (!options.cluster.empty()) lay("--cluster", "cluster", yaml_scalar(file_or_shipped(options.cluster, "clusters").string()));
  if (!options.model.empty()) lay("--model", inference + "model", yaml_scalar(options.model));
  const bool is_decode = options.phase == "decode";
  const bool is_apart = !options.scenario.empty() && base.find("workload") && base.find("workload")->find("inference") &&
                        base.find("workload")->find("inference")->find("disaggregated");
  const std::string plan = inference + (is_apart ? std::string{"disaggregated."} + (is_decode ? "decode." : "prefill.")
                                                 : std::string{"parallelism."});
  const std::pair<const char*, int> sizes[] = {{"tensor", options.tensor},
                                               {"pipeline", options.pipeline},
                                               {"expert", options.expert},
                                               {"attention_data", options.attention_data}};
  for (const auto& [key, size] : sizes) {
    std::string option = fmt::format("--{}", key);
    std::ranges::replace(option, '_', '-');
    if (size > 0) lay(option.c_str(), plan + key, std::to_string(size));
  }
  if (!options.library.empty()) lay("--library", inference + "library", yaml_scalar(options.library));
  if (!options.weights.empty()) lay("--weights", inference + "precision.weights", yaml_scalar(options.weights));
  if (!options.cache.empty()) lay("--kv-cache", inference + "kv_cache.precision", yaml_scalar(options.cache));
  if (!options.cuda_graph.empty()) lay("--cuda-graph", inference + "scheduler.cuda_graph", yaml_scalar(options.cuda_graph));
  for (const scenario::ScenarioChange& change : scenario::changes_of(overrides.sets)) changes.push_back(change);
  return scenario::with_changes(base, changes);
}

std::string rate_text(double amount, Duration time, double unit) {
  return amount <= 0 || time <= Duration{} ? "-" : fmt::format("{:.2f}", amount / time.seconds() / unit);
}

constexpr double kMostlyMeasured = 0.5;  // share of measurements from which a time counts as theirs

// Which of its products a profile's own table decides; empty: it has none.
std::string products_text(const Profile& profile, const scenario::ServingStepResult& result) {
  if (profile.products() == nullptr || profile.products()->rows.empty()) return {};
  const auto is_product = [](const work::StepKernel& kernel) { return kernel.part == work::StepPart::kGemm; };
  const auto products = std::ranges::count_if(result.kernels, is_product);
  const auto measured =
      std::ranges::count_if(result.kernels, [](const work::StepKernel& kernel) { return kernel.measured >= kMostlyMeasured; });
  return fmt::format("# {} measured products in the profile: they decide {} of the {} products here, the formula the others\n",
                     profile.products()->rows.size(), measured, products);
}

std::string table_of(const scenario::ServingStepResult& result, bool has_products) {
  Table table;
  table.add_column("kernel", Table::Align::kLeft);
  table.add_column("part", Table::Align::kLeft);
  for (const char* title : {"count", "each us", "all us", "share %", "MB", "GFLOP", "TB/s", "TFLOP/s"}) table.add_column(title);
  if (has_products) table.add_column("measured %");
  for (const work::StepKernel& kernel : result.kernels) {
    const double share = kernel.total().seconds() / std::max(result.time().seconds(), 1e-12);
    std::vector<std::string> row{std::string{kernel.name},
                                 std::string{work::to_string(kernel.part)},
                                 fmt::format("{}", kernel.count),
                                 fmt::format("{:.2f}", kernel.each.us()),
                                 fmt::format("{:.1f}", kernel.total().us()),
                                 fmt::format("{:.1f}", 100 * share),
                                 fmt::format("{:.3f}", kernel.bytes / 1e6),
                                 kernel.flops > 0 ? fmt::format("{:.3f}", kernel.flops / 1e9) : "-",
                                 rate_text(kernel.bytes, kernel.each, 1e12),
                                 rate_text(kernel.flops, kernel.each, 1e12)};
    if (has_products) row.push_back(kernel.part == work::StepPart::kGemm ? fmt::format("{:.0f}", 100 * kernel.measured) : "-");
    table.add_row(std::move(row));
  }
  return table.text();
}

void write_step(std::ostream& out, const ResultHeader& header, const StepOptions& options,
                const scenario::ServingStepResult& result, bool has_products) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("phase", options.phase).field("batch", options.spec.batch).field("context", options.spec.context);
  json.field("new_tokens", result.new_tokens).field("gpus", result.gpus).field("time_us", result.time().us());
  json.key("memory_per_gpu_bytes").begin_object();
  json.field("capacity", result.capacity).field("weights", result.weights).field("kv_cache", result.cache).end_object();
  json.key("kernels").begin_array();
  for (const work::StepKernel& kernel : result.kernels) {
    json.begin_object().field("name", kernel.name).field("part", work::to_string(kernel.part)).field("count", kernel.count);
    json.field("time_us", kernel.each.us()).field("total_us", kernel.total().us());
    json.field("bytes", kernel.bytes).field("flop", kernel.flops);
    if (has_products) json.field("measured_share", kernel.measured);
    json.end_object();
  }
  json.end_array().end_object();
  json.finish();
}

int run_step(StepOptions& options) {
  const std::vector<std::string> phases{"prefill", "decode"};
  if (std::ranges::find(phases, options.phase) == phases.end())
    throw ConfigError(std::vector<Diagnostic>{{.where = {},
                                               .message = fmt::format("--phase: unknown value '{}'", options.phase),
                                               .source_line = {},
                                               .length = 1,
                                               .note = did_you_mean(options.phase, phases, "choices")}});
  if (!options.common.timeline.empty()) throw ConfigError("--timeline: one step has none; its kernels follow one another");
  options.spec.is_decode = options.phase == "decode";
  if (options.spec.is_decode && options.spec.answers > 0)
    throw ConfigError("--answers: a step of answers alone has them in --batch");
  const scenario::Overrides overrides = to_overrides(options.common);
  const Outputs outputs = outputs_of(options.common, "step_" + options.phase);
  Diagnostics diagnostics;
  scenario::Scenario scenario = scenario::read_scenario(scenario_of(options, overrides), "step", overrides, diagnostics);
  print_warnings(diagnostics, options.common);
  if (!scenario.workload.inference) throw ConfigError("expected a scenario with `inference`");
  work::InferenceSetup& setup = *scenario.workload.inference;
  setup.has_ends = !options.no_head;
  setup.kv_cache.is_written = !options.no_cache;
  setup.full_clock = options.full_clock;
  const scenario::ServingStepResult result = scenario::run_serving_step(scenario, options.spec);

  const Heading heading{"step", options.phase, scenario.simulation.seed, scenario.simulation.grain};
  const Report report{outputs};
  report.print(heading_text(heading, scenario.cluster, options.common.verbose));
  report.print(fmt::format("step  {:.3f} ms, {:.1f} tokens/s a GPU\n", result.time().us() / 1e3,
                           static_cast<double>(result.new_tokens) / result.time().seconds() / result.gpus));
  report.print(experts_text(setup, options.phase == "decode" && setup.decode ? *setup.decode : setup.plan, result.new_tokens));
  report.print(fmt::format(
      "# {}: {} x {} new tokens, context {}; {} GPUs, library {}; weights {:.1f} and cache {:.1f} of {:.0f} "
      "GB a GPU\n#\n",
      setup.model.name.empty() ? "model" : setup.model.name, options.spec.batch, result.new_tokens / options.spec.batch,
      options.spec.context, result.gpus, setup.library.name, result.weights / 1e9, result.cache / 1e9, result.capacity / 1e9));
  const std::string products = products_text(scenario.cluster.profile, result);
  report.print(table_of(result, !products.empty()));
  report.print(products);
  if (result.weights + result.cache > result.capacity) report.print("# note: weights and cache are more than a GPU's memory\n");
  report.print(provenance_text(heading, options.common.verbose));
  report.print(fmt::format("# digest {}\n", digest_text(result.digest)));
  if (!outputs.json.empty()) {
    const ResultHeader header{.command = "step",
                              .command_line = command_line(),
                              .seed = scenario.simulation.seed,
                              .configuration = scenario.resolved.to_json(),
                              .profiles = {scenario::profile_statement(scenario.cluster)},
                              .warnings = warning_texts(diagnostics),
                              .digest = result.digest};
    write_file(outputs.json, [&](std::ostream& out) { write_step(out, header, options, result, !products.empty()); });
  }
  return kOk;
}

}  // namespace

void add_step(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("step", "Lists the kernels of one step of a serving engine, with their times");
  const auto options = std::make_shared<StepOptions>();
  scenario::ServingStepSpec& spec = options->spec;
  command->add_option("SCENARIO", options->scenario, "Scenario with `inference`, whose engine takes the step")
      ->type_name("FILE");
  command->add_option("--model", options->model, "Model: a file, ours or of Hugging Face, or a shipped name (weft list models)")
      ->type_name("FILE");
  command->add_option("--cluster,-c", options->cluster, "Cluster file")->type_name("FILE");
  command->add_option("--phase", options->phase, "Phase: prefill, decode")->type_name("NAME")->required();
  command->add_option("--batch", spec.batch, "Sequences of the step")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option("--context", spec.context, "Tokens that the last new one of a sequence meets, itself among them")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}))
      ->required();
  command->add_option("--tokens", spec.tokens, "New tokens of a sequence; absent: 1 of an answer, the context of a prompt")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  command->add_option("--answers", spec.answers, "Prefill: answers that get a token in the same step")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command->add_option("--answers-context", spec.answers_context, "Tokens that each of these meets, its new one among them")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  const auto size = [&](const char* name, int& value, const char* help) {
    command->add_option(name, value, help)->type_name("N")->check(CLI::Range(1, 65'536));
  };
  size("--tensor", options->tensor, "Tensor parallelism");
  size("--pipeline", options->pipeline, "Pipeline stages");
  size("--expert", options->expert, "Parts that a stage's experts are spread over");
  size("--attention-data", options->attention_data, "Replicas of attention in a stage, each with sequences of its own");
  command->add_option("--kv-cache", options->cache, "Precision of the cache (that of activations)")->type_name("NAME");
  command->add_option("--layers", spec.layers, "The model's first layers only")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
  command->add_flag("--no-head", options->no_head, "Layers alone, without embedding and head");
  command->add_flag("--no-cache", options->no_cache, "A prompt's keys and values are not written to a cache");
  command->add_flag("--full-clock", options->full_clock,
                    "A step after a pause, which the limit of power does not slow yet; else one of many in a row");
  command
      ->add_option("--library", options->library,
                   "Kernels and all-reduces: vllm, sglang, tensorrt_llm, ...; nccl: with NCCL's; torch: PyTorch's operators")
      ->type_name("NAME");
  command->add_option("--weights", options->weights, "Precision of weights: bf16, fp8, fp4, int8, w8a16, w4a16 (the model's)")
      ->type_name("NAME");
  command->add_option("--cuda-graph", options->cuda_graph, "Steps that run as CUDA graphs: decode, all, none")
      ->type_name("NAME");
  add_common_options(*command, options->common);
  command->callback([options, &exit_code] { exit_code = run_step(*options); });
}

}  // namespace weft::apps
