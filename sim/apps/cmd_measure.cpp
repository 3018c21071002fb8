// weft measure: measures this node. The work is done by the program weft-measure (validate/measure, built where CUDA is), which
// this command finds and becomes.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/apps/command.h"
#include "sim/core/used_files.h"

namespace weft::apps {
namespace {

constexpr const char* kRunner = "weft-measure";

struct MeasureOptions {
  bool quick = false;
  bool full = false;
  bool fine = false;
  bool resume = false;
  bool force = false;
  bool hostname = false;
  std::string output = "measurements.jsonl";
  std::string budget;
  std::string seed;
  std::string plan;
  std::vector<std::string> perftest;
};

// Folders that may hold the runner: beside this program, where validate/measure is built on its own, and those of PATH.
std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> folders;
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) {
    const std::filesystem::path bin = program.parent_path();
    folders = {bin, bin.parent_path().parent_path() / "measure"};  // build/release/bin and build/measure
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (!folder.empty()) folders.emplace_back(folder);
    rest.remove_prefix(folder.size() == rest.size() ? rest.size() : folder.size() + 1);
  }
  return folders;
}

std::optional<std::string> find_runner() {
  for (const std::filesystem::path& folder : places()) {
    std::string file = (folder / kRunner).string();
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

std::vector<std::string> words_of(const MeasureOptions& options) {
  std::vector<std::string> words{kRunner};
  const auto flag = [&words](bool set, const char* name) {
    if (set) words.emplace_back(name);
  };
  const auto value = [&words](const std::string& text, const char* name) {
    if (!text.empty()) words.insert(words.end(), {name, text});
  };
  flag(options.quick, "--quick");
  flag(options.full, "--full");
  flag(options.fine, "--fine");
  flag(options.resume, "--resume");
  flag(options.force, "--force");
  flag(options.hostname, "--hostname");
  value(options.output, "--output");
  value(options.budget, "--budget");
  value(options.seed, "--seed");
  value(options.plan, "--plan");
  for (const std::string& log : options.perftest) value(log, "--perftest");
  return words;
}

// Returns only if the runner cannot be started.
int become_runner(const MeasureOptions& options) {
  if (options.plan.empty()) claim_output("--output", options.output);
  for (const std::string& log : options.perftest) note_input(log);
  const std::optional<std::string> runner = find_runner();
  if (!runner) {
    std::fputs(fmt::format("error: weft measure: the CUDA runner '{}' is not built\n"
                           "note: where nvcc and NCCL are, 'cmake -S validate/measure -B build/measure && cmake --build "
                           "build/measure' builds it; it needs nothing else of weft\n",
                           kRunner)
                   .c_str(),
               stderr);
    return kBadInput;
  }
  std::vector<std::string> words = words_of(options);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(runner->c_str(), arguments.data());
  std::fputs(fmt::format("error: weft measure: cannot start {}: {}\n", *runner, std::strerror(errno)).c_str(), stderr);
  return kBadInput;
}

}  // namespace

void add_measure(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MeasureOptions>();
  CLI::App* command =
      app.add_subcommand("measure", "Measures this node's GPUs and their network, for calibrate and validate (needs CUDA)");
  CLI::Option* full = command->add_flag("--full", options->full, "about 8 minutes on 4 GPUs; holds every point of --quick");
  CLI::Option* quick = command->add_flag("--quick", options->quick, "about 2 minutes (the default)")->excludes(full);
  command->add_flag("--fine", options->fine, "about 1 minute: collectives of one and eight channels at many sizes")
      ->excludes(full)
      ->excludes(quick);
  CLI::Option* resume =
      command->add_flag("--resume", options->resume, "goes on with the file: what it holds is not measured again");
  command->add_flag("--force", options->force, "overwrites the file")->excludes(resume);
  command->add_option("-o,--output", options->output, "measurement file (docs/measurement_format.md)")->capture_default_str();
  command->add_option("--budget", options->budget, "seconds after which it stops (120, 480); --resume does the rest");
  command->add_option("--seed", options->seed, "of the random order (1)");
  command->add_option("--perftest", options->perftest, "takes over what ib_write_bw, ib_write_lat... printed; repeatable");
  command->add_flag("--hostname", options->hostname, "writes the host's name into the file");
  command->add_option("--plan", options->plan, "prints the points for so many GPUs, and measures nothing");
  command->callback([options, &exit_code] { exit_code = become_runner(*options); });
}

}  // namespace weft::apps
