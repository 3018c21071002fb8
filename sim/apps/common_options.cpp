#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"

namespace weft::apps {
namespace {

// The same words of several files or places are said once, with the others' names.
std::vector<Diagnostic> told_once(const std::vector<Diagnostic>& warnings) {
  constexpr std::size_t kNamed = 3;
  struct Group {
    Diagnostic first;
    std::size_t count = 0;
    std::vector<std::string> places;  // of the others
  };
  std::vector<Group> groups;
  for (const Diagnostic& warning : warnings) {
    const auto same = std::ranges::find_if(
        groups, [&](const Group& group) { return group.first.message == warning.message && group.first.note == warning.note; });
    Group& group = same != groups.end() ? *same : groups.emplace_back(Group{warning, 0, {}});
    if (++group.count == 1) continue;
    const std::string place =
        warning.where.line > 0 ? fmt::format("{}:{}", warning.where.file, warning.where.line) : warning.where.file;
    const bool is_first = warning.where.file == group.first.where.file && warning.where.line == group.first.where.line;
    if (!is_first && std::ranges::find(group.places, place) == group.places.end()) group.places.push_back(place);
  }
  std::vector<Diagnostic> once;
  for (Group& group : groups) {
    if (!group.places.empty()) {
      std::string others;
      for (std::size_t i = 0; i < std::min(kNamed, group.places.size()); ++i)
        others += fmt::format("{}{}", i == 0 ? "" : ", ", group.places[i]);
      if (group.places.size() > kNamed) others += fmt::format(" and {} more", group.places.size() - kNamed);
      group.first.note += fmt::format("{}the same of {}", group.first.note.empty() ? "" : "; ", others);
    }
    if (group.count > 1) group.first.message += fmt::format(" ({} times)", group.count);
    once.push_back(std::move(group.first));
  }
  return once;
}

std::pair<std::string, std::string> assignment(const std::string& text, const char* option, const char* form) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw ConfigError(fmt::format("{}: expected {}, got '{}'", option, form, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::uint64_t whole_number(const std::string& text, const char* option) {
  const auto number = parse_integer(text);
  if (!number || *number < 0)
    throw ConfigError(fmt::format("{}: expected a whole number of 0 or more, got '{}'", option, text));
  return static_cast<std::uint64_t>(*number);
}

void check_choice(const std::string& text, const char* option, const std::vector<std::string>& choices) {
  for (const std::string& choice : choices) {
    if (choice == text) return;
  }
  throw ConfigError(std::vector<Diagnostic>{{.where = {},
                                             .message = fmt::format("{}: unknown value '{}'", option, text),
                                             .source_line = {},
                                             .length = 1,
                                             .note = did_you_mean(text, choices, "choices")}});
}

}  // namespace

void add_topology_hints(CLI::App& command, scenario::TopologyHints& hints) {
  const auto text = [&](const char* name, std::string& value, const char* help, const char* form) {
    command.add_option(name, value, help)->type_name(form)->group("What a topology file leaves open");
  };
  text("--gpu", hints.gpu, "Which GPU a matrix is of, or a file of places without GPUs: h100, b200, ...", "NAME");
  text("--cpu", hints.cpu, "Which CPUs a matrix or a file without their vendor has: sapphire_rapids, amd, ...", "NAME");
  text("--nic-rate", hints.nic_rate, "The rate of NICs without a speed", "RATE");
  command
      .add_option("--nvlinks", hints.nvlinks,
                  "How many NVLinks every GPU has into NVSwitches, of a file of places without GPUs")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->group("What a topology file leaves open");
}

void add_jobs_option(CLI::App& command, int& threads) {
  threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  command
      .add_option(
          "--jobs,-j", threads,
          "Threads: for collectives of large groups, each on one, and for the parts of a fabric of packets; else as many as "
          "there are processors")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

void add_common_options(CLI::App& command, CommonOptions& options) {
  const auto repeatable = [&](const char* name, std::vector<std::string>& value, const char* help, const char* form) {
    // One value each time, so that a file behind it is not taken for another.
    command.add_option(name, value, help)->allow_extra_args(false)->type_name(form)->group("Common options");
  };
  const auto text = [&](const char* name, std::string& value, const char* help, const char* form) {
    command.add_option(name, value, help)->type_name(form)->group("Common options");
  };
  repeatable("--set", options.sets, "Replace a value of the file, by its key path", "KEY.PATH=VALUE");
  repeatable("--nccl", options.nccl, "Set an environment variable of NCCL", "KEY=VALUE");
  text("--profile", options.profile, "Profile in place of the one the cluster names", "FILE");
  text("--fidelity", options.fidelity, "Network model: shares of links, packets in queues, or each where chosen",
       "flow|packet|hybrid");
  text("--grain", options.grain, "What a collective is simulated as", "auto|chunk|fluid|closed_form");
  text("--seed", options.seed, "Seed of every random choice", "N");
  text("--shuffle-ties", options.shuffle_ties, "Permute events of the same instant; 0: do not", "N");
  text("--json", options.json, "Write results as JSON; - is standard output, which then carries no table", "FILE");
  text("--timeline", options.timeline, "Write a timeline for Perfetto; - is standard output", "FILE");
  text("--out", options.out, "Folder for result files that are not named or have no folder of their own", "DIR");
  command.add_flag("--quiet,-q", options.quiet, "No progress, no warnings")->group("Common options");
  command.add_flag("--verbose,-v", options.verbose, "Say more")->group("Common options");
}

scenario::Overrides to_overrides(const CommonOptions& options, bool runs_packets) {
  scenario::Overrides overrides;
  for (const std::string& text : options.sets) overrides.sets.push_back(assignment(text, "--set", "key.path=value"));
  for (const std::string& text : options.nccl) overrides.nccl.push_back(assignment(text, "--nccl", "KEY=VALUE"));
  if (!options.profile.empty()) overrides.profile = options.profile;
  if (!options.fidelity.empty()) {
    check_choice(options.fidelity, "--fidelity", net::fidelity_names());
    overrides.fidelity = net::fidelity_from(options.fidelity);
    if (net::has_packets(*overrides.fidelity) && !runs_packets) {
      throw ConfigError(
          "--fidelity: this command simulates flows; `weft run`, `weft collective` and `weft compare` simulate packets");
    }
  }
  if (!options.grain.empty()) {
    check_choice(options.grain, "--grain", {"auto", "chunk", "fluid", "closed_form"});
    overrides.grain = coll::grain_from(options.grain);
  }
  if (!options.seed.empty()) overrides.seed = whole_number(options.seed, "--seed");
  if (!options.shuffle_ties.empty()) overrides.shuffle_ties = whole_number(options.shuffle_ties, "--shuffle-ties");
  return overrides;
}

void print_warnings(const Diagnostics& diagnostics, const CommonOptions& options) {
  if (options.quiet) return;
  for (const Diagnostic& warning : told_once(diagnostics.warnings())) std::fputs(format(warning, "warning").c_str(), stderr);
}

}  // namespace weft::apps
