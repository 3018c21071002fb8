// weft list [KIND]: what can be chosen by name.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/scenario/catalog.h"
#include "sim/workloads/model/huggingface_config.h"

namespace weft::apps {
namespace {

void print_kind(std::string_view kind) {
  const std::vector<scenario::CatalogEntry> entries = scenario::catalog(kind);
  std::size_t width = 0;
  for (const scenario::CatalogEntry& entry : entries) width = std::max(width, entry.name.size());
  for (const scenario::CatalogEntry& entry : entries) say("{:<{}}  {}\n", entry.name, width, entry.summary);
  if (kind != "models") return;
  say("\nA file of one's own, or a config.json of Hugging Face of one of these architectures:\n");
  for (const std::string& name : work::huggingface_architectures()) say("  {}\n", name);
}

// Each kind with its names; those of parameters by number, as there are many.
void print_all() {
  for (const scenario::CatalogKind& kind : scenario::catalog_kinds()) {
    const std::vector<scenario::CatalogEntry> entries = scenario::catalog(kind.name);
    say("{}: {}\n ", kind.name, kind.what);
    if (kind.name == "parameters") {
      say(" {} parameters\n", entries.size());
      continue;
    }
    constexpr std::size_t kWidth = 100;
    std::size_t column = 1;
    for (const scenario::CatalogEntry& entry : entries) {
      if (column > 1 && column + 1 + entry.name.size() > kWidth) {
        say("\n ");
        column = 1;
      }
      say(" {}", entry.name);
      column += 1 + entry.name.size();
    }
    say("\n");
  }
  say("\nweft list KIND says what each is; weft explain NAME what it assumes and leaves out.\n");
}

}  // namespace

void add_list(CLI::App& app, int& exit_code) {
  auto kind = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("list", "Show what can be chosen: algorithms, link types, fabrics, clusters, parameters, ...");
  command->add_option("kind", *kind, "One kind, with a line on each entry")->type_name("KIND");
  command->callback([kind, &exit_code] {
    if (kind->empty()) {
      print_all();
    } else {
      print_kind(scenario::catalog_kind(*kind));
    }
    exit_code = kOk;
  });
}

}  // namespace weft::apps
