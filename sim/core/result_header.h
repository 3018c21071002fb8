// How every result file opens: version, commit, command, seed, resolved configuration, profile with its stated error, warnings,
// digest; enough to run it again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/json_writer.h"

namespace weft {

// Which profile a prediction used, and what error it showed on data it was not fitted to.
struct ProfileStatement {
  std::string name;
  std::string file;          // where it stands; empty: the declared defaults of every parameter
  std::string stated_error;  // "not validated" where no such data exist
};

struct ResultHeader {
  std::string command;       // "collective"
  std::string command_line;  // as it was typed
  std::uint64_t seed = 1;
  std::string configuration;  // resolved, JSON
  std::vector<ProfileStatement> profiles;
  std::vector<std::string> warnings;
  std::uint64_t digest = 0;
  bool interrupted = false;  // by the user: what follows is what was finished
};

// Sixteen hexadecimal digits.
[[nodiscard]] std::string digest_text(std::uint64_t digest);

// One profile as an object.
void write_profile(JsonWriter& json, const ProfileStatement& profile);
// The members that every result opens with, into an object that is open.
void write_header(JsonWriter& json, const ResultHeader& header);

}  // namespace weft
