// weft man [COMMAND [OF IT]]: the manual page of the program or of a command, in the words of its help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/version.h"

namespace weft::apps {
namespace {

// A line of text for man: no backslash, hyphen or dot of it has a meaning there.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c == '\n' ? ' ' : c;
    }
  }
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string entry(std::string_view head, std::string_view text) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(head), roff(text));
}

std::string option_head(const CLI::Option& option) {
  std::string head = option.get_name(false, true);
  const std::string form = option.get_type_name();
  if (!form.empty() && option.get_items_expected_max() > 0) head += (head.empty() ? "" : " ") + form;
  return head;
}

std::string page_of(const CLI::App& command, const std::string& name, const std::string& call) {
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"weft {}\" \"Weft\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR",
                                 roff(name), version(), roff(name), roff(command.get_description()), roff(call));
  std::string arguments;
  std::string options;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      text += fmt::format(" {}{}{}", option->get_required() ? "" : "[", roff(option->get_name(true)),
                          option->get_required() ? "" : "]");
      arguments += entry(option->get_name(true), option->get_description());
    } else {
      options += entry(option_head(*option), option->get_description());
    }
  }
  const std::vector<const CLI::App*> commands = command.get_subcommands([](const CLI::App*) { return true; });
  text += commands.empty() ? " [options]\n" : " [command] [options]\n";
  if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
  if (!commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CLI::App* one : commands) text += entry(one->get_name(), one->get_description());
  }
  if (!options.empty()) text += ".SH OPTIONS\n" + options;
  return text + ".SH EXIT STATUS\n" + entry("0", "done") + entry("1", "a limit is missed, or work was cut off") +
         entry("2", "the input is wrong") + entry("70", "a bug of weft") +
         entry("130", "interrupted; what was finished is kept");
}

}  // namespace

void add_man(CLI::App& app, int& exit_code) {
  const auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("man", "Print the manual page of the program or of a command, for man");
  command->add_option(
      "COMMAND", *names,
      "A command, or one of its own: `topo import`; absent: the program. To read it: `weft man run | man -l -`");
  command->callback([names, &app, &exit_code] {
    const CLI::App* page = &app;
    std::string dashed = "weft";
    std::string call = "weft";
    for (const std::string& name : *names) {
      std::vector<std::string> known;
      const CLI::App* found = nullptr;
      for (const CLI::App* one : page->get_subcommands([](const CLI::App*) { return true; })) {
        known.push_back(one->get_name());
        if (one->get_name() == name) found = one;
      }
      if (found == nullptr) {
        throw ConfigError({Diagnostic{
            .where = {},
            .message = fmt::format("unknown command '{}'{}", name, page == &app ? "" : fmt::format(" of '{}'", call)),
            .source_line = {},
            .length = 1,
            .note = did_you_mean(name, known, "commands")}});
      }
      page = found;
      dashed += '-' + name;
      call += ' ' + name;
    }
    print_text(page_of(*page, dashed, call));
    exit_code = kOk;
  });
}

}  // namespace weft::apps
