#include "sim/apps/shell_completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "sim/apps/command.h"
#include "sim/core/error.h"
#include "sim/output/explain/explain.h"
#include "sim/scenario/catalog.h"

namespace weft::apps {
namespace {

struct CompletedOption {
  std::vector<std::string> longs;
  std::vector<std::string> shorts;
  std::string summary;
  std::vector<std::string> choices;  // of its value, beside files where it names one
  std::string_view kind;             // of the catalog, where choices are names of it
  bool takes_value = false;
  bool names_file = false;
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The commands of a command too, each by its names from the program on: "topo", "topo import".
struct NamedCommand {
  std::string names;
  const CLI::App* command = nullptr;
  std::vector<const CLI::App*> own;  // commands of this one
};

std::vector<NamedCommand> all_commands_of(const CLI::App& program) {
  std::vector<NamedCommand> all;
  for (const CLI::App* command : commands_of(program)) {
    all.push_back({command->get_name(), command, commands_of(*command)});
    for (const CLI::App* one : commands_of(*command)) all.push_back({command->get_name() + " " + one->get_name(), one, {}});
  }
  return all;
}

std::string joined_names(const std::vector<const CLI::App*>& commands) {
  std::string text;
  for (const CLI::App* command : commands) text += (text.empty() ? "" : " ") + command->get_name();
  return text;
}

// "a|b|c" names the choices.
std::vector<std::string> choices_in(const std::string& form) {
  if (form.find('|') == std::string::npos) return {};
  return CLI::detail::split(form, '|');
}

// Read once: the catalog reads every shipped file.
const std::vector<std::string>& names_of(std::string_view catalog_kind) {
  static std::map<std::string, std::vector<std::string>, std::less<>> known;
  const auto found = known.find(catalog_kind);
  if (found != known.end()) return found->second;
  std::vector<std::string>& names = known[std::string{catalog_kind}];
  for (const scenario::CatalogEntry& entry : scenario::catalog(catalog_kind)) names.push_back(entry.name);
  return names;
}

// Options whose values are names of the catalog, with the kind there.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNamedValues{{{"algo", "algorithms"},
                                                                                     {"cluster", "clusters"},
                                                                                     {"clusters", "clusters"},
                                                                                     {"gpu", "gpus"},
                                                                                     {"model", "models"},
                                                                                     {"profile", "profiles"}}};

std::string_view kind_of_values(const CLI::Option& option) {
  for (const auto& [name, kind] : kNamedValues) {
    if (option.check_lname(std::string{name})) return kind;
  }
  return {};
}

// Words that a command takes without an option before them; none: files.
std::vector<std::string> words_of(const NamedCommand& command) {
  if (command.names == "collective") return names_of("collectives");
  if (command.names == "explain") return output::explained_names();
  if (command.names == "schema") return printed_schemas();
  if (command.names != "list") return {};
  std::vector<std::string> kinds;
  for (const scenario::CatalogKind& kind : scenario::catalog_kinds()) kinds.emplace_back(kind.name);
  return kinds;
}

std::vector<CompletedOption> options_of(const CLI::App& command) {
  std::vector<CompletedOption> found;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() && option->get_snames().empty()) continue;
    const std::string form = option->get_type_name();
    CompletedOption made{.longs = option->get_lnames(),
                         .shorts = option->get_snames(),
                         .summary = option->get_description(),
                         .choices = choices_in(form),
                         .kind = {},
                         .takes_value = option->get_items_expected_max() > 0,
                         .names_file = form == "FILE" || form == "DIR"};
    if (made.choices.empty()) made.kind = kind_of_values(*option);
    if (!made.kind.empty()) made.choices = names_of(made.kind);
    found.push_back(std::move(made));
  }
  return found;
}

std::string joined_words(const std::vector<std::string>& words) { return CLI::detail::join(words, " "); }

// In single quotes of a shell.
std::string in_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  return quoted + "'";
}

std::string bash_script(const CLI::App& program) {
  std::string owners;  // commands that have commands of their own, and these
  std::string cases;
  std::string taken;  // words that commands take
  for (const NamedCommand& one : all_commands_of(program)) {
    std::string words;
    std::string values;
    for (const CompletedOption& option : options_of(*one.command)) {
      std::string pattern;
      for (const std::string& name : option.longs) {
        words += " --" + name;
        pattern += (pattern.empty() ? "--" : "|--") + name;
      }
      for (const std::string& name : option.shorts) pattern += (pattern.empty() ? "-" : "|-") + name;
      if (!option.choices.empty()) {
        values += fmt::format("        {}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n", pattern,
                              in_quotes(joined_words(option.choices)));
      } else if (option.takes_value) {
        values += fmt::format("        {}) return ;;\n", pattern);
      }
    }
    if (!one.own.empty()) owners += fmt::format("    {}) own={} ;;\n", one.names, in_quotes(joined_names(one.own)));
    cases += fmt::format("    {})\n      case $previous in\n{}      esac\n      words={} ;;\n", in_quotes(one.names), values,
                         in_quotes(words.substr(words.empty() ? 0 : 1)));
    if (const std::vector<std::string> own = words_of(one); !own.empty())
      taken += fmt::format("    {}) own={} ;;\n", in_quotes(one.names), in_quotes(joined_words(own)));
  }
  // -o default: files where nothing else fits.
  return fmt::format(R"(# Completion of weft for bash.
_weft() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= own= words= word
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -* ]] && continue
    if [[ -z $command ]]; then
      command=$word
      case $command in
{}      esac
    elif [[ " $own " == *" $word "* ]]; then
      command+=" $word" own=
      break
    else
      own=
      break
    fi
  done
  case $command in
    '') own='{} --help --version' ;;
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words $own" -- "$current"))
    return
  fi
  case $command in
{}  esac
  if [[ -n $own ]]; then
    COMPREPLY=($(compgen -W "$own" -- "$current"))
  fi
}}
complete -o default -F _weft weft
)",
                     owners, joined_names(commands_of(program)), cases, taken);
}

// A description in brackets of _arguments, which has its own special characters.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The specification of a command's options for _arguments.
std::string zsh_options(const CLI::App& command) {
  std::string specs;
  for (const CompletedOption& option : options_of(command)) {
    std::string value;
    if (!option.kind.empty()) {
      value = fmt::format(":name:_weft_{}", option.kind);
    } else if (!option.choices.empty()) {
      value = fmt::format(":value:({})", joined_words(option.choices));
    } else if (option.takes_value) {
      value = option.names_file ? ":file:_files" : ":value:";
    }
    const auto add = [&](const std::string& name) {
      specs += " " + in_quotes(fmt::format("*{}[{}]{}", name, zsh_text(option.summary), value));
    };
    for (const std::string& name : option.longs) add("--" + name);
    for (const std::string& name : option.shorts) add("-" + name);
  }
  return specs;
}

// The names of commands with their summaries, for _describe.
std::string zsh_names(const std::vector<const CLI::App*>& commands, std::string_view indent) {
  std::string names;
  for (const CLI::App* command : commands) {
    names += fmt::format("{}{}\n", indent, in_quotes(command->get_name() + ":" + zsh_text(command->get_description())));
  }
  return names;
}

std::string zsh_script(const CLI::App& program) {
  std::string functions;
  for (const auto& [option, kind] : kNamedValues) {
    if (option == "clusters") continue;  // the kind of --cluster
    functions += fmt::format("_weft_{}() {{ _alternative {} 'files:file:_files' }}\n", kind,
                             in_quotes(fmt::format("names:name:({})", joined_words(names_of(kind)))));
  }
  std::string cases;
  for (const CLI::App* command : commands_of(program)) {
    const std::vector<const CLI::App*> own = commands_of(*command);
    cases += fmt::format("    {})\n", command->get_name());
    if (!own.empty()) {
      cases += fmt::format("      commands=(\n{}      )\n      (( CURRENT > 2 )) && case $words[2] in\n",
                           zsh_names(own, "        "));
      for (const CLI::App* one : own) {
        cases += fmt::format("        {}) shift words; (( CURRENT-- )); _arguments{} '*:file:_files'; return ;;\n",
                             one->get_name(), zsh_options(*one));
      }
      cases += "      esac\n      (( CURRENT == 2 )) && _describe command commands\n";
    }
    const std::vector<std::string> words = words_of({command->get_name(), command, own});
    const std::string taken = words.empty() ? "" : " " + in_quotes(fmt::format("1:name:({})", joined_words(words)));
    cases += fmt::format("      _arguments{}{} '*:file:_files' ;;\n", zsh_options(*command), taken);
  }
  return fmt::format(R"(#compdef weft
# Completion of weft for zsh.
{}_weft() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [[ $funcstack[1] == _weft ]]; then _weft "$@"; else compdef _weft weft; fi
)",
                     functions, zsh_names(commands_of(program), "    "), cases);
}

std::string fish_script(const CLI::App& program) {
  std::string text = "# Completion of weft for fish.\n";
  const auto add_command = [&text](const std::string& condition, const CLI::App& command) {
    text += fmt::format("complete -c weft -n {} -f -a {} -d {}\n", in_quotes(condition), command.get_name(),
                        in_quotes(command.get_description()));
  };
  for (const CLI::App* command : commands_of(program)) add_command("__fish_use_subcommand", *command);
  for (const NamedCommand& one : all_commands_of(program)) {
    const std::size_t space = one.names.find(' ');
    std::string seen = "__fish_seen_subcommand_from " + one.names.substr(0, space);
    if (space != std::string::npos) seen += "; and __fish_seen_subcommand_from " + one.names.substr(space + 1);
    if (!one.own.empty()) {
      seen += "; and not __fish_seen_subcommand_from " + joined_names(one.own);
      for (const CLI::App* own : one.own) add_command(seen, *own);
    }
    if (const std::vector<std::string> words = words_of(one); !words.empty())
      text += fmt::format("complete -c weft -n {} -f -a {}\n", in_quotes(seen), in_quotes(joined_words(words)));
    for (const CompletedOption& option : options_of(*one.command)) {
      text += fmt::format("complete -c weft -n {}", in_quotes(seen));
      for (const std::string& name : option.longs) text += " -l " + name;
      for (const std::string& name : option.shorts) text += " -s " + name;
      if (!option.choices.empty()) {
        text += fmt::format(" {} -a {}", option.names_file ? "-r" : "-x", in_quotes(joined_words(option.choices)));
      } else if (option.takes_value) {
        text += option.names_file ? " -r" : " -x";
      }
      text += fmt::format(" -d {}\n", in_quotes(option.summary));
    }
  }
  return text;
}

}  // namespace

const std::vector<std::string>& completed_shells() {
  static const std::vector<std::string> shells{"bash", "fish", "zsh"};
  return shells;
}

std::string completion_script(const CLI::App& program, std::string_view shell) {
  WEFT_CHECK(shell == "bash" || shell == "fish" || shell == "zsh");
  if (shell == "bash") return bash_script(program);
  return shell == "zsh" ? zsh_script(program) : fish_script(program);
}

}  // namespace weft::apps
