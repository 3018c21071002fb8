// weft view RESULT.json...: one page to look at results with, in a browser.
#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/core/used_files.h"
#include "sim/output/view/view_page.h"

namespace weft::apps {
namespace {

struct ViewOptions {
  std::vector<std::string> files;
  std::string page = "view.html";
  std::string title;
};

int run_view(const ViewOptions& options) {
  claim_output("--page", options.page);
  const std::string page = output::view_page({options.files.begin(), options.files.end()}, options.title);
  write_file(options.page, [&](std::ostream& out) { out << page; });
  if (!is_standard_output(options.page)) say("{}\n", options.page);
  return kOk;
}

}  // namespace

void add_view(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("view", "One page to look at results with: topology, timeline, curves, what-ifs");
  const auto options = std::make_shared<ViewOptions>();
  command
      ->add_option("RESULT", options->files,
                   "Result files and timelines: what commands write with --json and --timeline, and weft sweep --export json")
      ->required()
      ->type_name("FILE");
  command->add_option("--page,-o", options->page, "Page to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--title", options->title, "Title of the page")->type_name("TEXT");
  command->footer(
      "The page stands by itself: it asks nothing of a network. weft report writes one that is read, not explored.");
  command->callback([options, &exit_code] { exit_code = run_view(*options); });
}

}  // namespace weft::apps
