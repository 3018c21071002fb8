// Result files: what each command writes with --json. Keys are a contract that programs rely on; units stand in the key.
//
// Every file opens alike: version, commit, command, seed, resolved configuration, profile with its stated error, warnings,
// digest; enough to run it again. Points, flows and links follow, one a line. Streamed: a million flows cost no memory here.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "sim/planning/collective_sweep.h"
#include "sim/planning/json_writer.h"
#include "sim/planning/run_scenario.h"
#include "sim/planning/scenario.h"

namespace weft::plan {

struct Comparison;

// Which profile a prediction used, and what error it showed on data it was not fitted to.
struct ProfileStatement {
  std::string name;
  std::string file;          // where it stands; empty: the declared defaults of every parameter
  std::string stated_error;  // "not validated" where no such data exist
};
[[nodiscard]] ProfileStatement profile_statement(const net::Cluster& cluster);

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

// Returns the configuration of a run, as far as it is not code: one line of JSON.
[[nodiscard]] std::string sweep_configuration(const CollectiveSweep& sweep);
[[nodiscard]] std::string run_configuration(const Scenario& scenario);

// The members that every result opens with, into an object that is open.
void write_header(JsonWriter& json, const ResultHeader& header);

void write_collective_result(std::ostream& out, const ResultHeader& header, const SweepResult& result, std::string_view type);
void write_run_result(std::ostream& out, const ResultHeader& header, const Scenario& scenario, const RunResult& result);
void write_compare_result(std::ostream& out, const ResultHeader& header, const Comparison& comparison);

}  // namespace weft::plan
