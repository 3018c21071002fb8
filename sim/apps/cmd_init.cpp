// weft init DIR: a small project to begin with, checked before it is handed over. Never writes over a file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/core/config/find_config.h"
#include "sim/core/error.h"
#include "sim/core/output_file.h"
#include "sim/core/used_files.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kClusterText =
    R"(# Four DGX H100 on one rail-optimised fabric. `weft list nodes` and `weft list fabrics` say what else there is.
kind: cluster
name: my cluster
profile: profile.yaml       # calibrated parameters; `weft list profiles`
nodes: 4
node: {type: dgx_h100}
fabric:
  type: rail_optimized_fat_tree
  link: {type: infiniband, rate: 400 Gb/s, latency: 150 ns}
  leaf_ports: 64
)";

constexpr std::string_view kModelText =
    R"(# A transformer of 1.8 x 10^9 parameters. A config.json of Hugging Face is read as well.
kind: model
name: my model
layers: 24
hidden: 2048
heads: 16
ffn: 8192
vocab: 50304
)";

constexpr std::string_view kScenarioText =
    R"(# A training step of the model on the cluster: 32 replicas that share the optimizer's states.
cluster: cluster.yaml
workload:
  model: model.yaml
  parallelism: {tensor: 1, pipeline: 1, data: 32, zero: 1}
  batch: {global: 128, micro: 2, sequence: 2048}
simulation: {iterations: 2, seed: 1}
)";

constexpr std::string_view kReadmeText = R"(# A project of Weft

`cluster.yaml` is the machine, `model.yaml` what it trains, `scenario.yaml` how. `profile.yaml` has calibrated parameters of H100.

    weft check .                                # is all of it well-formed?
    weft run scenario.yaml                      # how long is a step, and where does it go?
    weft collective all_reduce --cluster cluster.yaml -b 1M -e 64M -f 4
    weft plan --model model.yaml --cluster cluster.yaml --batch 128 --sequence 2048
    weft run scenario.yaml --set cluster.nodes=2 --set workload.parallelism.data=16

An editor with the YAML language server knows the keys: run `weft schema --out schema`, then begin scenario.yaml with

    # yaml-language-server: $schema=schema/scenario.json

`weft explain NAME` says what a model assumes and leaves out.
)";

std::string shipped_text(const fs::path& relative) {
  const auto file = find_config(relative);
  if (!file) throw ConfigError(fmt::format("no shipped file '{}': WEFT_CONFIG_DIR says where they are", relative.string()));
  std::ifstream in = open_input(*file);
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write_project(const std::string& folder) {
  const std::vector<std::pair<std::string, std::string>> files{{"cluster.yaml", std::string{kClusterText}},
                                                               {"profile.yaml", shipped_text("profiles/h100_sxm.yaml")},
                                                               {"model.yaml", std::string{kModelText}},
                                                               {"scenario.yaml", std::string{kScenarioText}},
                                                               {"README.md", std::string{kReadmeText}}};
  for (const auto& [name, text] : files) {
    const fs::path path = fs::path{folder} / name;
    std::error_code ignored;
    if (fs::symlink_status(path, ignored).type() != fs::file_type::not_found) {
      if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored)) break;  // which make_output_folder tells
      throw ConfigError(fmt::format("'{}' is there already, and weft init writes over nothing", path.string()));
    }
  }
  make_output_folder("init", folder);
  for (const auto& [name, text] : files) {
    const fs::path path = fs::path{folder} / name;
    write_file(path.string(), [&content = text](std::ostream& out) { out << content; });
    say("{}\n", path.string());
  }
}

}  // namespace

void add_init(CLI::App& app, int& exit_code) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("init", "Write a small project to begin with: cluster, model, scenario, README");
  command->add_option("dir", *folder, "Made if it is not there; files in it are never written over")
      ->required()
      ->type_name("DIR");
  command->callback([folder, &exit_code] {
    write_project(*folder);
    const std::string scenario = (fs::path{*folder} / "scenario.yaml").string();
    say("\nNext:  weft run {}\n", shell_word(scenario));
    exit_code = kOk;
  });
}

}  // namespace weft::apps
