// Completion of the command line by a shell, made from the commands themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11
class App;
}

namespace weft::apps {

[[nodiscard]] const std::vector<std::string>& completed_shells();
// The script for one of completed_shells(): commands, options, choices of an option, and files for what is left.
[[nodiscard]] std::string completion_script(const CLI::App& program, std::string_view shell);

}  // namespace weft::apps
