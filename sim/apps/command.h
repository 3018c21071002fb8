// The commands of `weft`: each is one file cmd_<name>.cpp that declares its options and runs; main.cpp lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/scenario/import_topology.h"
#include "sim/scenario/scenario.h"

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11
class App;
}

namespace weft::apps {

// Exit statuses (sysexits-like where there is no own meaning).
inline constexpr int kOk = 0;
inline constexpr int kCheckFailed = 1;  // results miss a tolerance, or a job or a flow was cut off or never arrives
inline constexpr int kBadInput = 2;
inline constexpr int kOurBug = 70;
inline constexpr int kInterrupted = 130;

// Every command that simulates understands these options.
struct CommonOptions {
  std::vector<std::string> sets;  // key.path=value
  std::vector<std::string> nccl;  // KEY=VALUE
  std::string profile;
  std::string fidelity;
  std::string grain;
  std::string seed;
  std::string shuffle_ties;
  std::string json;      // file, "-" is stdout
  std::string timeline;  // Perfetto (Chrome trace) file
  std::string out;       // folder for files without a path of their own
  bool quiet = false;
  bool verbose = false;
};
void add_common_options(CLI::App& command, CommonOptions& options);
// --gpu, --cpu, --nic-rate and --nvlinks: what a topology file leaves open.
void add_topology_hints(CLI::App& command, scenario::TopologyHints& hints);
// --jobs: what of one simulation may run at the same time; all processors unless given.
void add_jobs_option(CLI::App& command, int& threads);
// ConfigError for what is not `key=value`, no known grain, and so on.
// `runs_packets`: the command knows packet fidelity.
[[nodiscard]] scenario::Overrides to_overrides(const CommonOptions& options, bool runs_packets = false);

// Warnings of loading go to stderr, unless quiet.
void print_warnings(const Diagnostics& diagnostics, const CommonOptions& options);

// A command adds itself to `app`; its callback sets `exit_code`.
using AddCommand = void (*)(CLI::App& app, int& exit_code);
void add_calibrate(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_collective(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);
void add_experts(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_goodput(CLI::App& app, int& exit_code);
void add_init(CLI::App& app, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_man(CLI::App& app, int& exit_code);
void add_measure(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_schema(CLI::App& app, int& exit_code);
[[nodiscard]] std::vector<std::string> printed_schemas();  // the kinds that `weft schema` knows, files first
void add_size(CLI::App& app, int& exit_code);
void add_step(CLI::App& app, int& exit_code);
void add_sweep(CLI::App& app, int& exit_code);
void add_topo(CLI::App& app, int& exit_code);
void add_trace(CLI::App& app, int& exit_code);
void add_validate(CLI::App& app, int& exit_code);

}  // namespace weft::apps
