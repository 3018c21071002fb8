// weft schema [KIND]: the JSON Schema of a kind of file or of a result.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/program.h"
#include "sim/core/config/find_config.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/output_file.h"
#include "sim/core/output_folder.h"
#include "sim/core/used_files.h"
#include "sim/output/schema/explore.h"
#include "sim/output/schema/json_schema.h"

namespace weft::apps {
namespace {

// A result is what the command writes for --json. Its schema is made of small examples, which are run for it. In their words
// configs/... is a shipped file, and DIR/... one in a folder of their own.
struct ResultKind {
  std::string_view name;
  std::string_view what;
  std::vector<std::vector<std::string>> examples;  // words behind `weft`
  std::vector<std::string> first = {};             // a command that writes what the examples read
};

const std::vector<ResultKind>& result_kinds() {
  static const std::vector<ResultKind> kKinds{
      {"run_result",
       "what `weft run --json` writes",
       {{"run", "configs/scenarios/known_answers/k01_single_flow.yaml"},
        {"run", "configs/scenarios/known_answers/k31_jobs_fair.yaml"},
        {"run", "configs/scenarios/known_answers/k23_ring_all_reduce.yaml"},
        {"run", "configs/scenarios/known_answers/k13_dynamic_threshold_1.yaml"},
        {"run", "configs/scenarios/training/gpt_1f1b.yaml"},
        {"run", "configs/scenarios/inference/llama2_70b_batch_1.yaml"},
        {"run", "configs/scenarios/inference/llama3_8b_chat.yaml"}}},
      {"collective_result",
       "what `weft collective --json` writes",
       {{"collective", "all_reduce", "--cluster", "h200x4", "-b", "1M", "-e", "2M", "-f", "2"},
        {"collective", "alltoall", "--cluster", "h100x2", "-b", "1M", "-e", "1M"}}},
      {"step_result",
       "what `weft step --json` writes",
       {{"step", "--model", "llama3_8b", "--cluster", "dgx_h100", "--phase", "decode", "--context", "512"},
        {"step", "--model", "llama3_8b", "--cluster", "dgx_h100", "--phase", "prefill", "--context", "512", "--tensor", "2"}}},
      {"experts_result",
       "what `weft experts --json` writes",
       {{"experts", "dispatch", "--cluster", "dgx_h100", "--tokens", "128", "--mode", "low_latency"},
        {"experts", "combine", "--cluster", "dgx_h100", "--tokens", "512"}}},
      {"replay_result",
       "what `weft replay --json` writes",
       {{"replay", "DIR/step.goal", "--cluster", "h200x4"}, {"replay", "DIR/chakra", "--cluster", "dgx_h100"}},
       {"run", "configs/scenarios/training/gpt_1f1b.yaml", "--write-goal", "DIR/step.goal", "--write-chakra", "DIR/chakra"}},
      {"plan_result",
       "what `weft plan --json` writes",
       {{"plan", "--model", "llama3_8b", "--cluster", "h200x4", "--gpus", "2", "--batch", "4", "--budget-plans", "1", "--power",
         "datasheets"},
        {"plan", "--model", "qwen3_30b_a3b", "--cluster", "h200x4", "--budget-plans", "2", "--prices", "list_2024", "--power",
         "datasheets"}}},
      {"serving_plan_result",
       "what `weft plan --serve --json` writes",
       {{"plan", "--serve", "--model", "llama3_8b", "--cluster", "h100x2", "--prompt", "64", "--output", "8", "--token-budgets",
         "2048"},
        {"plan", "--serve", "--model", "llama3_8b", "--cluster", "h200x4", "--prompt", "64", "--output", "8", "--token-budgets",
         "2048", "--aggregated", "--slo", "ttft=1s,tpot=50ms", "--prices", "list_2024", "--power", "datasheets"}}},
      {"compare_result",
       "what `weft compare --json` writes",
       {{"compare", "configs/scenarios/known_answers/k01_single_flow.yaml", "--clusters", "leaf_spine_64_hosts", "fat_tree_k8"},
        {"compare", "configs/scenarios/known_answers/k23_ring_all_reduce.yaml", "--clusters", "h200x4", "h100x2"},
        {"compare", "configs/scenarios/training/gpt_1f1b.yaml", "--clusters", "h200x4", "dgx_h100", "--prices", "list_2024",
         "--power", "datasheets", "--sensitivity"}}},
      {"sweep_result",
       "what `weft sweep --export json` writes",
       {{"sweep", "DIR/sizes.yaml", "--db", "DIR/sizes.sqlite", "--export", "json", "--to", "-"},
        {"sweep", "DIR/ranks.yaml", "--db", "DIR/ranks.sqlite", "--export", "json", "--to", "-"}}},
      {"validate_result",
       "what `weft validate --json` and --report write",
       {{"validate", "--cluster", "h200x4", "DIR/all_reduce.txt"},
        {"validate", "--cluster", "h200x4", "DIR/all_reduce.txt", "--uncertainty"}}},
      {"goodput_result", "what `weft goodput --json` writes", {{"goodput", "configs/goodput/young_k32.yaml"}}},
      {"topo_result", "what `weft topo --json` writes", {{"topo", "h200x4"}, {"topo", "leaf_spine_64_hosts"}}},
  };
  return kKinds;
}

// Files that examples read and that nothing ships. The second point of `ranks` is refused: there is no GPU 9.
constexpr std::array<std::pair<const char*, std::string_view>, 3> kExampleFiles{
    {{"sizes.yaml", R"(kind: sweep
scenario: {cluster: h200x4, workload: {collectives: [{kind: all_reduce, bytes: 1 MiB}]}}
grid: {"workload.collectives[0].bytes": [1 MiB, 2 MiB]}
metrics: [time_us]
)"},
     {"ranks.yaml", R"(kind: sweep
scenario:
  cluster: h200x4
  workload: {collectives: [{kind: all_reduce, bytes: 1 MiB}]}
grid: {"workload.collectives[0].ranks": [[0, 1], [0, 9]]}
metrics: [busbw_GBps]
objective: {maximize: busbw_GBps}
)"},
     {"all_reduce.txt", R"(# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 1048576 maxBytes 1048576
#  Rank  0 Group  0 Pid    1 on  node device  0 [0000:00:06] NVIDIA H200
#  Rank  1 Group  0 Pid    1 on  node device  1 [0000:00:07] NVIDIA H200
     1048576        262144     float     sum      -1    20.00   52.43   52.43      0    20.00   52.43   52.43      0
)"}}};

// The files of the examples, and the examples run.
class ExampleFolder {
 public:
  ExampleFolder() {
    for (const auto& [file, text] : kExampleFiles) {
      write_file(folder_.in(file), [&text](std::ostream& out) { out << text; });
    }
  }

  [[nodiscard]] std::string text_of(std::vector<std::string> words) const {
    for (std::string& word : words) {
      constexpr std::string_view kConfigs = "configs/";
      constexpr std::string_view kOwn = "DIR/";
      if (word.starts_with(kOwn)) word = folder_.in(word.substr(kOwn.size()));
      if (!word.starts_with(kConfigs)) continue;
      const auto file = find_config(word.substr(kConfigs.size()));
      if (!file) throw ConfigError(fmt::format("'{}' is not among the shipped files, and this schema is made from it", word));
      word = file->string();
    }
    if (words.front() != "sweep") words.insert(words.end(), {"--json", "-"});
    if (words.front() != "topo") words.emplace_back("--quiet");
    return text_of_command(words);
  }

 private:
  TemporaryFolder folder_;
};

std::string schema_of_result(const ResultKind& kind) {
  const ExampleFolder folder;
  if (!kind.first.empty()) static_cast<void>(folder.text_of(kind.first));
  std::vector<std::string> examples;
  for (const std::vector<std::string>& words : kind.examples) examples.push_back(folder.text_of(words));
  return output::result_schema(fmt::format("Weft: {}", kind.what), examples);
}

// As the installation has it, beside the shipped files.
std::optional<std::string> installed_schema(const std::string& name) {
  for (const std::filesystem::path& configs : config_folders()) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(configs, ignored)) continue;
    std::ifstream in = open_input(configs.parent_path() / "schema" / (name + ".json"));
    std::ostringstream text;
    if (in && text << in.rdbuf() && output::is_schema_of_this_version(text.str())) return text.str();
    return std::nullopt;  // the folder whose files are used
  }
  return std::nullopt;
}

std::string schema_text(const std::string& name) {
  if (std::ranges::find(output::schema_kinds(), name) != output::schema_kinds().end()) return output::yaml_schema(name);
  for (const ResultKind& kind : result_kinds()) {
    if (kind.name == name) return schema_of_result(kind);
  }
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("unknown kind of file '{}'", name),
                                .source_line = {},
                                .length = 1,
                                .note = did_you_mean(name, printed_schemas(), "kinds")}});
}

void print_kinds() {
  say("Files, as `weft check` knows them, and lists of measured logs:\n");
  for (const std::string& kind : output::schema_kinds()) say("  {}\n", kind);
  say("Results:\n");
  for (const ResultKind& kind : result_kinds()) say("  {:<18}  {}\n", kind.name, kind.what);
  say("\nweft schema KIND prints one; weft schema --out DIR writes each as DIR/KIND.json.\n"
      "An editor with the YAML language server takes one from a file's first line:\n"
      "# yaml-language-server: $schema=DIR/scenario.json\n");
}

void write_all(const std::string& folder) {
  make_output_folder("--out", folder);
  for (const std::string& name : printed_schemas()) {
    const std::string file = fmt::format("{}/{}.json", folder, name);
    const std::string text = schema_text(name);
    write_file(file, [&text](std::ostream& out) { out << text; });
    say("{}\n", file);
  }
}

}  // namespace

std::vector<std::string> printed_schemas() {
  std::vector<std::string> names = output::schema_kinds();
  for (const ResultKind& kind : result_kinds()) names.emplace_back(kind.name);
  return names;
}

void add_schema(CLI::App& app, int& exit_code) {
  struct Options {
    std::string kind;
    std::string out;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("schema", "Print the JSON Schema of a kind of file or result, for editors and other programs");
  command->add_option("kind", options->kind, "scenario, cluster, ..., run_result, ...; absent: the kinds there are")
      ->type_name("KIND");
  command->add_option("--out", options->out, "Write the schemas of all kinds to this folder")->type_name("DIR");
  command->footer("In an editor, the first line of a file: # yaml-language-server: $schema=DIR/scenario.json");
  command->callback([options, &exit_code] {
    if (!options->out.empty()) {
      write_all(options->out);
    } else if (options->kind.empty()) {
      print_kinds();
    } else {
      const std::optional<std::string> installed = installed_schema(options->kind);
      print_text(installed ? *installed : schema_text(options->kind));
    }
    exit_code = kOk;
  });
}

}  // namespace weft::apps
