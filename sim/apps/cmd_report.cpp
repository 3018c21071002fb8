// weft report: a page from result files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/core/error.h"
#include "sim/output/report/result_report.h"

namespace weft::apps {
namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string html;
  std::string markdown;
  std::string title;
};

int run_report(const ReportOptions& options) {
  if (options.html.empty() && options.markdown.empty()) {
    throw ConfigError("report: expected --html FILE, --markdown FILE or both; - is standard output");
  }
  claim_output("--html", options.html);
  claim_output("--markdown", options.markdown);
  const output::Document document = output::result_report({options.results.begin(), options.results.end()}, options.title);
  if (!options.html.empty()) write_file(options.html, [&](std::ostream& out) { out << output::to_html(document); });
  if (!options.markdown.empty()) write_file(options.markdown, [&](std::ostream& out) { out << output::to_markdown(document); });
  return kOk;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("report", "A page from result files, as HTML and as Markdown");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("RESULT", options->results, "Result files: what a command writes with --json")
      ->required()
      ->type_name("FILE");
  command->add_option("--html", options->html, "Write a page that stands by itself; - is standard output")->type_name("FILE");
  command->add_option("--markdown", options->markdown, "Write Markdown; - is standard output")->type_name("FILE");
  command->add_option("--title", options->title, "Title of the page")->type_name("TEXT");
  command->callback([options, &exit_code] { exit_code = run_report(*options); });
}

}  // namespace weft::apps
