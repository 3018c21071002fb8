// weft schema [KIND]: the JSON Schema of a kind of file or of a result.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/program.h"
#include "sim/core/config/find_config.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/output_file.h"
#include "sim/core/output_folder.h"
#include "sim/output/schema/explore.h"
#include "sim/output/schema/json_schema.h"

namespace weft::apps {
namespace {

// A result is what the command writes for --json. Its schema is made of small examples, which are run for it.
struct ResultKind {
  std::string_view name;
  std::string_view what;
  std::vector<std::vector<std::string>> examples;  // words behind `weft`; configs/... is a shipped file
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
        {"run", "configs/scenarios/inference/llama2_70b_batch_1.yaml"}}},
      {"collective_result",
       "what `weft collective --json` writes",
       {{"collective", "all_reduce", "--cluster", "h200x4", "-b", "1M", "-e", "2M", "-f", "2"},
        {"collective", "alltoall", "--cluster", "h100x2", "-b", "1M", "-e", "1M"}}},
      {"goodput_result", "what `weft goodput --json` writes", {{"goodput", "configs/goodput/young_k32.yaml"}}},
      {"topo_result", "what `weft topo --json` writes", {{"topo", "h200x4"}, {"topo", "leaf_spine_64_hosts"}}},
  };
  return kKinds;
}

std::string schema_of_result(const ResultKind& kind) {
  std::vector<std::string> examples;
  for (std::vector<std::string> words : kind.examples) {
    for (std::string& word : words) {
      constexpr std::string_view kConfigs = "configs/";
      if (!word.starts_with(kConfigs)) continue;
      const auto file = find_config(word.substr(kConfigs.size()));
      if (!file) throw ConfigError(fmt::format("'{}' is not among the shipped files, and this schema is made from it", word));
      word = file->string();
    }
    words.insert(words.end(), {"--json", "-"});
    if (words.front() != "topo") words.emplace_back("--quiet");
    examples.push_back(text_of_command(words));
  }
  return output::result_schema(fmt::format("Weft: {}", kind.what), examples);
}

std::vector<std::string> all_kinds() {
  std::vector<std::string> names = output::schema_kinds();
  for (const ResultKind& kind : result_kinds()) names.emplace_back(kind.name);
  return names;
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
                                .note = did_you_mean(name, all_kinds(), "kinds")}});
}

void print_kinds() {
  say("Files, as `weft check` knows them:\n");
  for (const std::string& kind : output::schema_kinds()) say("  {}\n", kind);
  say("Results:\n");
  for (const ResultKind& kind : result_kinds()) say("  {:<18}  {}\n", kind.name, kind.what);
  say("\nweft schema KIND prints one; weft schema --out DIR writes each as DIR/KIND.json.\n"
      "An editor with the YAML language server takes one from a file's first line:\n"
      "# yaml-language-server: $schema=DIR/scenario.json\n");
}

void write_all(const std::string& folder) {
  make_output_folder("--out", folder);
  for (const std::string& name : all_kinds()) {
    const std::string file = folder + "/" + name + ".json";
    const std::string text = schema_text(name);
    write_file(file, [&text](std::ostream& out) { out << text; });
    say("{}\n", file);
  }
}

}  // namespace

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
      print_text(schema_text(options->kind));
    }
    exit_code = kOk;
  });
}

}  // namespace weft::apps
