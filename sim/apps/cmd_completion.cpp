// weft completion SHELL: a script by which a shell completes commands and options.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "sim/apps/command.h"
#include "sim/apps/output.h"
#include "sim/apps/shell_completion.h"

namespace weft::apps {

void add_completion(CLI::App& app, int& exit_code) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print the script by which a shell completes commands and options");
  command->add_option("SHELL", *shell, "bash, fish or zsh: in bash `source <(weft completion bash)`")
      ->required()
      ->check(CLI::IsMember(completed_shells()));
  command->callback([shell, &app, &exit_code] {
    print_text(completion_script(app, *shell));
    exit_code = kOk;
  });
}

}  // namespace weft::apps
