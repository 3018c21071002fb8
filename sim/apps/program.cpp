#include "sim/apps/program.h"

#include <fmt/format.h>
#include <signal.h>  // NOLINT: SIGPIPE is POSIX

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/memory.h"
#include "sim/core/output_file.h"
#include "sim/core/printable.h"
#include "sim/core/used_files.h"
#include "sim/core/version.h"

namespace weft::apps {
namespace {

constexpr AddCommand kCommands[] = {add_run,    add_collective, add_experts, add_step,       add_replay,    add_trace,
                                    add_sweep,  add_plan,       add_compare, add_size,       add_goodput,   add_validate,
                                    add_topo,   add_list,       add_explain, add_check,      add_calibrate, add_measure,
                                    add_report, add_view,       add_schema,  add_completion, add_init,      add_man};

void print_error(const std::string& message, const std::string& note = {}) {
  std::fputs(fmt::format("error: {}\n", printable_lines(message)).c_str(), stderr);
  if (!note.empty()) std::fputs(fmt::format("note: {}\n", printable_lines(note)).c_str(), stderr);
}

// The command that was being read, or the program itself.
const CLI::App& current(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// Reports the first word that no option and no argument takes.
int unexpected(const CLI::App& app) {
  const CLI::App& command = current(app);
  const std::vector<std::string> extras = app.remaining(true);
  const std::string word = extras.empty() ? std::string{} : extras.front();
  if (word.size() > 1 && word.front() == '-') {
    const std::string name = word.substr(0, word.find('='));
    print_error(fmt::format("unknown option '{}' of '{}'", name, &command == &app ? "weft" : "weft " + command.get_name()),
                did_you_mean(name, option_names(command), "options"));
  } else if (&command == &app) {
    print_error(fmt::format("unknown command '{}'", word), did_you_mean(word, command_names(app), "commands"));
  } else {
    print_error(fmt::format("unexpected argument '{}' of 'weft {}'", word, command.get_name()),
                fmt::format("'weft {} --help' shows what it takes", command.get_name()));
  }
  return kBadInput;
}

int parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = current(app);
  const std::string call = &command == &app ? "weft" : "weft " + command.get_name();
  print_error(fmt::format("{}: {}", call, error.what()), fmt::format("'{} --help' shows what it takes", call));
  return kBadInput;
}

int our_bug(const char* what) {
  std::fputs(
      fmt::format("internal error: {}\nthis is a bug of weft, please report it with this message and the command:\n  {}\n"
                  "version {} ({})\n",
                  printable_lines(what), printable(command_line()), version(), commit())
          .c_str(),
      stderr);
  return kOurBug;
}

int out_of_memory() {
  print_error(fmt::format("out of memory: this command holds {} and was refused more",
                          memory_size_text(static_cast<double>(resident_memory()))),
              "this machine, or a limit such as `ulimit -v`, gives no more; a smaller input or fewer ranks need less");
  return kBadInput;
}

// Output that reached nobody: a reader that left is no error, a full disk is.
int check_output(int exit_code) {
  errno = 0;
  const int problem = output_error() != 0 ? output_error() : std::fflush(stdout) != 0 ? errno : 0;
  if (problem == 0 || problem == EPIPE) return exit_code;
  print_error(fmt::format("cannot write to standard output: {}", std::strerror(problem)));
  return exit_code == kOk ? kBadInput : exit_code;
}

constexpr std::string_view kFirstCommands = R"(Weft simulates GPU clusters and collectives. To try:

  weft collective all_reduce --cluster h200x4 -b 1M -e 256M -f 4   what nccl-tests would print on this node
  weft topo dgx_h100                                               what is connected to what in it
  weft explain busbw                                               what a word, a model or a parameter means
  weft list                                                        clusters, GPUs, models, algorithms, ...
  weft init my_project                                             files of your own: weft run my_project/scenario.yaml

weft --help lists all commands, weft COMMAND --help the options of one.
)";

// Every command, on its own program: what is parsed stays in it.
struct Commands {
  CLI::App app{"Weft simulates GPU clusters and collectives.", "weft"};
  int exit_code = kOk;

  Commands() {
    app.set_version_flag("--version", fmt::format("weft {} ({})", version(), commit()));
    for (const AddCommand add : kCommands) add(app, exit_code);
    app.require_subcommand(0, 1);
  }
};

}  // namespace

int run_program(int argc, const char* const* argv) {
  remember_command_line(argc, argv);
  // A parent may have ignored it; `weft ... | head` is to end quietly.
  signal(SIGPIPE, SIG_DFL);
  clean_up_on_signals();
  const FileScope files;
  const MemoryWatch memory;

  Commands commands;
  CLI::App& app = commands.app;
  const int& exit_code = commands.exit_code;
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) {
      std::fputs(std::string{kFirstCommands}.c_str(), stderr);
      return kBadInput;
    }
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success);
  } catch (const CLI::ExtrasError&) {
    return unexpected(app);
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error);
  } catch (const ConfigError& error) {
    std::fputs(error.what(), stderr);
    return kBadInput;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();  // more items than any memory could address
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe) return exit_code;
    print_error(error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    return our_bug(error.what());
  }
  return check_output(exit_code);
}

std::string text_of_command(const std::vector<std::string>& words) {
  std::vector<const char*> argv{"weft"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  remember_command_line(static_cast<int>(argv.size()), argv.data());
  const FileScope files;  // its standard output is not that of the command around it
  const CapturedOutput captured;
  Commands commands;
  commands.app.parse(static_cast<int>(argv.size()), argv.data());
  return captured.text();
}

Outcome call_command(const Call& call) {
  std::vector<const char*> argv{"weft"};
  for (const std::string& argument : call.arguments) argv.push_back(argument.c_str());
  remember_command_line(static_cast<int>(argv.size()), argv.data());
  FileScope files;
  for (const auto& [name, text] : call.texts) files.give_text(name, text);
  std::optional<Listening> listening;
  if (call.listener != nullptr) listening.emplace(*call.listener);
  const CapturedOutput captured;
  Commands commands;
  try {
    commands.app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::ExtrasError& error) {
    throw ConfigError(fmt::format("weft {}: {}", current(commands.app).get_name(), error.what()));
  } catch (const CLI::ParseError& error) {
    throw ConfigError(error.what());
  }
  return {commands.exit_code, captured.text()};
}

}  // namespace weft::apps
