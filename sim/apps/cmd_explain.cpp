// weft explain THING: what a model assumes and leaves out, what a parameter means, what a profile says, and which channels NCCL
// makes of a cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/core/error.h"
#include "sim/core/profile.h"
#include "sim/output/explain/explain.h"
#include "sim/output/explain/explain_channels.h"
#include "sim/scenario/catalog.h"

namespace weft::apps {
namespace {

struct ExplainOptions {
  std::vector<std::string> words;
  std::string cluster;
  std::string topology_xml;
  scenario::TopologyHints hints;
  std::optional<int> nodes;
  std::optional<int> gpus;
  std::string graph_xml;
  CommonOptions common;

  [[nodiscard]] bool about_channels() const {
    return !cluster.empty() || !topology_xml.empty() || nodes || gpus || !graph_xml.empty() || !common.nccl.empty() ||
           !common.json.empty() || hints.any();
  }
};

void explain_channels(const ExplainOptions& options) {
  if (options.cluster.empty() == options.topology_xml.empty()) {
    throw ConfigError("explain channels: expected either --cluster FILE or --topo-xml FILE");
  }
  if (options.topology_xml.empty() && options.hints.any())
    throw ConfigError("--gpu, --cpu, --nic-rate and --nvlinks go with --topo-xml; a cluster says these itself");
  claim_output("--xml", options.graph_xml);
  claim_output("--json", options.common.json);
  if (options.gpus && *options.gpus < 1) throw ConfigError(fmt::format("-g: expected 1 GPU or more, got {}", *options.gpus));
  const output::ChannelQuestion question{
      .nodes = options.nodes, .gpus = options.gpus, .hints = options.hints, .overrides = to_overrides(options.common)};
  Diagnostics diagnostics;
  const output::ChannelReport report = options.cluster.empty()
                                           ? output::explain_channels_of_xml(options.topology_xml, question, diagnostics)
                                           : output::explain_channels(options.cluster, question, diagnostics);
  print_warnings(diagnostics, options.common);
  if (!is_standard_output(options.graph_xml) && !is_standard_output(options.common.json))
    say("{}", output::channels_text(report));
  if (!options.graph_xml.empty()) {
    write_file(options.graph_xml, [&](std::ostream& out) { out << output::channels_graph_xml(report); });
  }
  if (!options.common.json.empty()) {
    ResultHeader header;
    header.command = "explain channels";
    header.command_line = command_line();
    header.warnings = warning_texts(diagnostics);
    write_file(options.common.json, [&](std::ostream& out) { output::write_channels(out, header, report); });
  }
}

std::string text_for(const ExplainOptions& options) {
  if (options.words.empty() && !options.about_channels()) return output::explained_topics();
  const std::string thing = options.words.empty() ? "" : options.words.front();
  if (thing == "profile" && options.words.size() == 2) return output::explain_profile(scenario::find_profile(options.words[1]));
  if (thing == "gpu" && options.words.size() == 2) return output::explain_gpu(net::gpu_spec(options.words[1]));
  if (options.words.size() > 1) {
    throw ConfigError(fmt::format(
        "expected one thing to explain, got {}; `weft explain profile FILE` and `weft explain gpu NAME` take two words",
        options.words.size()));
  }
  if (options.about_channels()) {
    throw ConfigError("--cluster, --topo-xml, --nodes, -g, --nccl, --xml and --json go with `weft explain channels`");
  }
  if (options.common.profile.empty()) return output::explain(thing);
  const Profile profile = scenario::find_profile(options.common.profile);
  return output::explain(thing, &profile);
}

void run_explain(const ExplainOptions& options) {
  const bool channels = options.words.size() == 1 && options.words.front() == "channels";
  if (channels && options.about_channels()) {
    explain_channels(options);
  } else {
    say("{}", text_for(options));
  }
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "Say what a model assumes and leaves out, with sources");
  command
      ->add_option("thing", options->words,
                   "A name of `weft list`, the key of a parameter or of a group of them, a word such as busbw, mfu or pfc, "
                   "flow, nccl, channels, simplifications "
                   "(all), or `profile FILE`, or `gpu NAME`; absent: topics and words, a line each")
      ->type_name("THING");
  const auto text = [&](const char* name, std::string& value, const char* help) {
    command->add_option(name, value, help)->type_name("FILE");
  };
  text("--profile", options->common.profile, "Show a parameter's value in this profile");
  text("--cluster", options->cluster, "With `channels`: print this cluster's rings and trees as NCCL_DEBUG=INFO would");
  text("--topo-xml", options->topology_xml, "With `channels`: the same of nodes like the one of this NCCL topology file");
  add_topology_hints(*command, options->hints);
  command->add_option("--nodes", options->nodes, "With `channels`: so many nodes")->type_name("N");
  command->add_option("-g,--ngpus", options->gpus, "With `channels`: the first GPUs of every node only")->type_name("N");
  command->add_option("--nccl", options->common.nccl, "With `channels`: set an environment variable of NCCL, or version=2.30")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  text("--xml", options->graph_xml, "With `channels`: write NCCL's graph file; - is standard output");
  text("--json", options->common.json, "With `channels`: write the result as JSON; - is standard output");
  command->callback([options, &exit_code] {
    run_explain(*options);
    exit_code = kOk;
  });
}

}  // namespace weft::apps
