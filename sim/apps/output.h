// Where results go: the table on standard output, result files by core/output_file.h.
//
//   const Outputs outputs = outputs_of(options, "collective_all_reduce");  // first of all: bad paths are told at once
//   Report report{outputs};
//   report.print("# weft ...\n");  // nothing where standard output carries JSON
//   if (!outputs.json.empty()) write_file(outputs.json, [&](std::ostream& out) { write_collective_result(out, ...); });
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/apps/command.h"
#include "sim/core/output_file.h"
#include "sim/core/used_files.h"
#include "sim/output/result_json.h"

namespace weft::apps {

// As a shell must be given it to read it as this word.
[[nodiscard]] std::string shell_word(std::string_view word);

// How this program was called, as one could type it again; set once by main.
void remember_command_line(int argc, const char* const* argv);
[[nodiscard]] const std::string& command_line();

struct Outputs {
  std::string json;      // empty: none; "-": standard output
  std::string timeline;  // the same
  [[nodiscard]] bool table() const { return !is_standard_output(json) && !is_standard_output(timeline); }
};

// Resolves --json, --timeline and --out. With --out DIR both files are written, as DIR/<stem>.json and DIR/<stem>.timeline.json
// where no name is given, and a name without a folder goes to DIR, which is made. Claims both (core/used_files.h): ConfigError
// for a path that cannot be written.
[[nodiscard]] Outputs outputs_of(const CommonOptions& options, std::string_view stem);

// The table. Every line is handed on at once, so that a reader in a pipe sees each size when it is done.
class Report {
 public:
  explicit Report(const Outputs& outputs);
  void print(std::string_view text) const;

 private:
  bool on_;
};

// Standard output is written here alone: control characters come out as escapes (core/printable.h), newlines and tabs stay.
void print_text(std::string_view lines);
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  print_text(fmt::format(text, std::forward<Args>(args)...));
}

// errno of the first print that failed; 0: none did.
[[nodiscard]] int output_error();

// "# weft 0.2.0 (1a2b3c4)  run  scenario.yaml  seed 1  fidelity flow  grain auto\n".
[[nodiscard]] std::string head_line(std::string_view command, std::string_view subject, std::uint64_t seed, coll::Grain grain,
                                    std::string_view fidelity = "flow");
// "# cluster NAME: 4 nodes, 32 GPUs  profile NAME: not validated\n".
[[nodiscard]] std::string cluster_line(const net::Cluster& cluster);
// The two of them with --verbose. Otherwise one line that says what runs on what, and how far off its profile was:
// "# collective all_reduce  c.yaml  on NAME: 4 nodes, 32 GPUs  profile NAME: median error of all_reduce 2.3 % over RoCE\n".
struct Heading {
  std::string_view command;
  std::string_view subject;
  std::uint64_t seed = 1;
  coll::Grain grain = coll::Grain::kAuto;
  std::string_view fidelity = "flow";
  std::string stated_error = {};  // of the collective it is about (scenario/stated_error.h); empty: it is about something else
};
[[nodiscard]] std::string heading_text(const Heading& heading, const net::Cluster& cluster, bool verbose);
// Behind the answer, where the heading did not say so: "# weft 0.2.0 (1a2b3c4)  seed 1  fidelity flow  grain auto\n".
[[nodiscard]] std::string provenance_text(const Heading& heading, bool verbose);
// "events 1.9 M (4.2 M/s)  transfers 12 k  peak memory 31 MiB  wall 0.45 s".
[[nodiscard]] std::string cost_text(std::uint64_t events, std::uint64_t transfers, double wall_seconds);
// "# solves 1234  peak_live_transfers 96\n", for --verbose.
[[nodiscard]] std::string solver_line(std::uint64_t solves, std::uint64_t peak_live);

// Warnings of loading as one line each: "file:line:column: message".
[[nodiscard]] std::vector<std::string> warning_texts(const Diagnostics& diagnostics);

}  // namespace weft::apps
