// weft check FILE...: every error of every file; nothing is run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/core/error.h"
#include "sim/core/json_writer.h"
#include "sim/core/output_file.h"
#include "sim/core/printable.h"
#include "sim/core/used_files.h"
#include "sim/core/version.h"
#include "sim/output/check_file.h"

namespace weft::apps {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string json;
  bool quiet = false;
  bool verbose = false;
};

const std::string& in_full(const output::CheckedFile& checked) {
  return checked.details.empty() ? checked.summary : checked.details;
}

void write_diagnostics(JsonWriter& json, std::string_view key, const std::vector<Diagnostic>& diagnostics) {
  json.key(key).begin_array();
  for (const Diagnostic& one : diagnostics) {
    json.begin_object().field("file", one.where.file).field("line", one.where.line).field("column", one.where.column);
    json.field("key", one.key).field("message", one.message).field("note", one.note).end_object();
  }
  json.end_array();
}

void write_checked(JsonWriter& json, const std::string& file, const output::CheckedFile& checked,
                   const std::vector<Diagnostic>& errors) {
  json.begin_object().field("file", file).field("ok", errors.empty());
  json.field("kind", checked.kind).field("summary", in_full(checked));
  write_diagnostics(json, "errors", errors);
  write_diagnostics(json, "warnings", checked.warnings);
  json.end_object();
}

int run(const CheckOptions& options) {
  claim_output("--json", options.json);
  const bool prints = !options.quiet && !is_standard_output(options.json);
  const std::vector<std::filesystem::path> files = output::files_to_check(options.files);
  std::ostringstream text;
  JsonWriter json{text};
  json.begin_object().field("version", version()).key("files").begin_array();
  std::size_t bad = 0;
  std::size_t errors = 0;
  for (const std::filesystem::path& file : files) {
    try {
      const output::CheckedFile checked = output::check_file(file);
      write_checked(json, file.string(), checked, {});
      for (const Diagnostic& warning : checked.warnings) {
        if (prints) std::fputs(format(warning, "warning").c_str(), stderr);
      }
      if (!prints) continue;
      say("ok  {}: {}: {}\n", printable(file.string()), checked.kind,
          printable(options.verbose ? in_full(checked) : checked.summary));
    } catch (const ConfigError& error) {
      ++bad;
      errors += error.diagnostics().size();
      write_checked(json, file.string(), {}, error.diagnostics());
      if (!is_standard_output(options.json)) std::fputs(error.what(), stderr);
    }
  }
  json.end_array().end_object().finish();
  if (!options.json.empty()) write_file(options.json, [&text](std::ostream& out) { out << text.str(); });
  if (is_standard_output(options.json)) return bad == 0 ? kOk : kBadInput;
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
  command->add_option("--json", options->json, "What was found in each file, with places; - is standard output")
      ->type_name("FILE");
  command->add_flag("--quiet,-q", options->quiet, "Errors only");
  command->add_flag("--verbose,-v", options->verbose, "Every error that a profile states");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace weft::apps
