// weft check FILE...: every error of every file; nothing is run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/core/error.h"
#include "sim/core/printable.h"
#include "sim/output/check_file.h"

namespace weft::apps {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  bool quiet = false;
};

int run(const CheckOptions& options) {
  const std::vector<std::filesystem::path> files = output::files_to_check(options.files);
  std::size_t bad = 0;
  std::size_t errors = 0;
  for (const std::filesystem::path& file : files) {
    try {
      const output::CheckedFile checked = output::check_file(file);
      for (const Diagnostic& warning : checked.warnings) {
        if (!options.quiet) std::fputs(format(warning, "warning").c_str(), stderr);
      }
      if (!options.quiet) say("ok  {}: {}: {}\n", printable(file.string()), checked.kind, printable(checked.summary));
    } catch (const ConfigError& error) {
      ++bad;
      errors += error.diagnostics().size();
      std::fputs(error.what(), stderr);
    }
  }
  if (bad > 0 && files.size() > 1) {
    fmt::print(stderr, "{} error{} in {} of {} files\n", errors, errors == 1 ? "" : "s", bad, files.size());
  }
  return bad == 0 ? kOk : kBadInput;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "Validate configuration files; report every error");
  command
      ->add_option("files", options->files,
                   "Clusters, node templates, profiles, models, scenarios, sweeps; of a folder all .yaml files below it")
      ->required()
      ->type_name("FILE");
  command->add_flag("--quiet,-q", options->quiet, "Errors only");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace weft::apps
