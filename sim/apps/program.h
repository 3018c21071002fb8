// The program `weft` as functions: main.cpp is one call of it, and a program that embeds Weft, such as the Python module, calls
// commands for their results. One command at a time in a process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/apps/listener.h"

namespace weft::apps {

// The program: finds the command, and turns what it throws into a message on standard error and an exit status.
[[nodiscard]] int run_program(int argc, const char* const* argv);

struct Call {
  std::vector<std::string> arguments;        // as typed behind `weft`; results that go to the file "-" are the outcome's text
  std::map<std::string, std::string> texts;  // configurations that no file holds, by the name that the arguments have for each
  Listener* listener = nullptr;
};
struct Outcome {
  int exit_code = 0;
  std::string text;
};
// Runs one command and throws what it throws; what the command line gets wrong is a ConfigError too. Nothing of the process
// changes: no signal handler, and no progress on a terminal.
[[nodiscard]] Outcome call_command(const Call& call);

// Text that a command writes to the file "-", for a command that needs the result of another one. Throws what that one throws.
// Files that the command around it has claimed are forgotten.
[[nodiscard]] std::string text_of_command(const std::vector<std::string>& words);

}  // namespace weft::apps
