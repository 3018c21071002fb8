// weft explain THING: what a model assumes and leaves out, what a parameter means, what a profile says.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/core/error.h"
#include "sim/core/profile.h"
#include "sim/planning/explain.h"

namespace weft::apps {
namespace {

struct ExplainOptions {
  std::vector<std::string> words;
  std::string profile;
  std::string cluster;
};

std::string text_for(const ExplainOptions& options) {
  const std::string& thing = options.words.front();
  if (thing == "profile" && options.words.size() == 2) return plan::explain_profile(plan::find_profile(options.words[1]));
  if (options.words.size() > 1) {
    throw ConfigError(fmt::format("expected one thing to explain, got {}; `weft explain profile FILE` takes two words",
                                  options.words.size()));
  }
  if (thing == "channels" && !options.cluster.empty()) return plan::explain_channels(options.cluster);
  if (!options.cluster.empty()) throw ConfigError("--cluster goes with `weft explain channels`");
  if (options.profile.empty()) return plan::explain(thing);
  const Profile profile = plan::find_profile(options.profile);
  return plan::explain(thing, &profile);
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "Say what a model assumes and leaves out, with sources");
  command
      ->add_option("thing", options->words,
                   "A name of `weft list`, the key of a parameter or of a group of them, flow, nccl, channels, simplifications "
                   "(all), or "
                   "`profile FILE`")
      ->required()
      ->type_name("THING");
  command->add_option("--profile", options->profile, "Show a parameter's value in this profile")->type_name("FILE");
  command
      ->add_option("--cluster", options->cluster, "With `channels`: print the rings of this cluster as NCCL_DEBUG=INFO would")
      ->type_name("FILE");
  command->callback([options, &exit_code] {
    fmt::print("{}", text_for(*options));
    exit_code = kOk;
  });
}

}  // namespace weft::apps
