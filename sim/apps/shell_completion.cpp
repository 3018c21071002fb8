#include "sim/apps/shell_completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/core/error.h"

namespace weft::apps {
namespace {

struct CompletedOption {
  std::vector<std::string> longs;
  std::vector<std::string> shorts;
  std::string summary;
  std::vector<std::string> choices;  // of its value
  bool takes_value = false;
  bool names_file = false;
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// "a|b|c" names the choices.
std::vector<std::string> choices_in(const std::string& form) {
  if (form.find('|') == std::string::npos) return {};
  return CLI::detail::split(form, '|');
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
                         .takes_value = option->get_items_expected_max() > 0,
                         .names_file = form == "FILE" || form == "DIR"};
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
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(program)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    std::string words;
    std::string values;
    for (const CompletedOption& option : options_of(*command)) {
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
    cases += fmt::format("    {})\n      case $previous in\n{}      esac\n      words={} ;;\n", command->get_name(), values,
                         in_quotes(words.substr(words.empty() ? 0 : 1)));
  }
  // -o default: files where nothing else fits.
  return fmt::format(
      "# Completion of weft for bash.\n_weft() {{\n  local current=${{COMP_WORDS[COMP_CWORD]}} "
      "previous=${{COMP_WORDS[COMP_CWORD-1]}} "
      "command= words= word\n  COMPREPLY=()\n  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n    [[ $word == -* ]] || "
      "{{ "
      "command=$word; break; }}\n  done\n  case $command in\n    '') words='{} --help --version' ;;\n{}  esac\n  if [[ -z "
      "$command || "
      "$current == -* ]]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n  fi\n}}\ncomplete -o default -F "
      "_weft weft\n",
      names, cases);
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

std::string zsh_script(const CLI::App& program) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(program)) {
    names += fmt::format("    {}\n", in_quotes(command->get_name() + ":" + zsh_text(command->get_description())));
    std::string specs;
    for (const CompletedOption& option : options_of(*command)) {
      std::string value;
      if (!option.choices.empty()) {
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
    cases += fmt::format("    {}) _arguments{} '*:file:_files' ;;\n", command->get_name(), specs);
  }
  return fmt::format(
      "#compdef weft\n# Completion of weft for zsh.\n_weft() {{\n  local -a commands\n  commands=(\n{}  )\n  if (( CURRENT == "
      "2 )); "
      "then\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  "
      "case "
      "$command in\n{}  esac\n}}\nif [[ $funcstack[1] == _weft ]]; then _weft \"$@\"; else compdef _weft weft; fi\n",
      names, cases);
}

std::string fish_script(const CLI::App& program) {
  std::string text = "# Completion of weft for fish.\n";
  for (const CLI::App* command : commands_of(program)) {
    text += fmt::format("complete -c weft -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
                        in_quotes(command->get_description()));
    for (const CompletedOption& option : options_of(*command)) {
      text += fmt::format("complete -c weft -n '__fish_seen_subcommand_from {}'", command->get_name());
      for (const std::string& name : option.longs) text += " -l " + name;
      for (const std::string& name : option.shorts) text += " -s " + name;
      if (!option.choices.empty()) {
        text += fmt::format(" -x -a {}", in_quotes(joined_words(option.choices)));
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
