#include "sim/apps/output.h"

#include <fmt/format.h>
#include <signal.h>  // NOLINT: SIGPIPE is POSIX

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "sim/apps/table.h"
#include "sim/core/capture_text.h"
#include "sim/core/printable.h"
#include "sim/core/version.h"
#include "sim/scenario/stated_error.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

std::string& stored_command_line() {
  static std::string line;
  return line;
}

int first_error = 0;

std::string in_folder(const std::string& name, const std::string& folder, const std::string& default_name) {
  if (folder.empty()) return name;
  if (name.empty()) return (fs::path{folder} / default_name).string();
  return name == "-" || fs::path{name}.has_parent_path() ? name : (fs::path{folder} / name).string();
}

}  // namespace

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string{word};
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return quoted + "'";
}

void remember_command_line(int argc, const char* const* argv) {
  std::string line = "weft";
  for (int i = 1; i < argc; ++i) line += ' ' + shell_word(argv[i]);
  stored_command_line() = line;
}

const std::string& command_line() { return stored_command_line(); }

Outputs outputs_of(const CommonOptions& options, std::string_view stem) {
  if (!options.out.empty()) make_output_folder("--out", options.out);
  Outputs outputs{in_folder(options.json, options.out, fmt::format("{}.json", stem)),
                  in_folder(options.timeline, options.out, fmt::format("{}.timeline.json", stem))};
  claim_output(options.json.empty() ? "--out" : "--json", outputs.json);
  claim_output(options.timeline.empty() ? "--out" : "--timeline", outputs.timeline);
  // With files to write, a reader that leaves (| head) does not end the run.
  const auto is_file = [](const std::string& path) { return !path.empty() && !is_standard_output(path); };
  if (is_file(outputs.json) || is_file(outputs.timeline)) signal(SIGPIPE, SIG_IGN);
  return outputs;
}

Report::Report(const Outputs& outputs) : on_{outputs.table()} {}

void Report::print(std::string_view text) const {
  if (on_) print_text(text);
}

void print_text(std::string_view lines) {
  const std::string text = printable_lines(lines);
  if (capture_text(text)) return;
  errno = 0;
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((!whole || std::fflush(stdout) != 0) && first_error == 0) first_error = errno == 0 ? EIO : errno;
}

int output_error() { return first_error; }

std::string head_line(std::string_view command, std::string_view subject, std::uint64_t seed, coll::Grain grain,
                      std::string_view fidelity) {
  return fmt::format("# weft {} ({})  {}  {}  seed {}  fidelity {}  grain {}\n", version(), commit(), command,
                     printable(subject), seed, fidelity, coll::to_string(grain));
}

namespace {

// "NAME: 4 nodes, 32 GPUs".
std::string cluster_size_text(const net::Cluster& cluster) {
  const net::Topology& topology = cluster.topology;
  const std::size_t endpoints = topology.endpoints().size();
  const bool has_gpus = endpoints > 0 && topology.kind(topology.endpoints().front()) == net::DeviceKind::kGpu;
  const auto plural = [](std::size_t n) { return n == 1 ? "" : "s"; };
  std::string text =
      fmt::format("{}: {} node{}", printable(cluster.name), topology.host_count(), plural(topology.host_count()));
  if (has_gpus) text += fmt::format(", {} GPU{}", endpoints, plural(endpoints));
  return text;
}

}  // namespace

std::string cluster_line(const net::Cluster& cluster) {
  const ProfileStatement profile = scenario::profile_statement(cluster);
  return fmt::format("# cluster {}  profile {}: {}\n", cluster_size_text(cluster), profile.name, profile.stated_error);
}

std::string heading_text(const Heading& heading, const net::Cluster& cluster, bool verbose) {
  if (verbose) {
    return head_line(heading.command, heading.subject, heading.seed, heading.grain, heading.fidelity) + cluster_line(cluster);
  }
  return fmt::format("# {} {}  on {}  profile {}: {}\n", heading.command, printable(heading.subject),
                     cluster_size_text(cluster), cluster.profile.name(),
                     heading.stated_error.empty() ? scenario::error_of_others(cluster) : heading.stated_error);
}

std::string provenance_text(const Heading& heading, bool verbose) {
  if (verbose) return {};
  return fmt::format("# weft {} ({})  seed {}  fidelity {}  grain {}\n", version(), commit(), heading.seed, heading.fidelity,
                     coll::to_string(heading.grain));
}

std::string cost_text(std::uint64_t events, std::uint64_t transfers, double wall_seconds) {
  const double rate = wall_seconds > 0 ? static_cast<double>(events) / wall_seconds : 0.0;
  return fmt::format("events {} ({}/s)  transfers {}  peak_memory {}  wall {:.2f} s", short_count(static_cast<double>(events)),
                     short_count(rate), short_count(static_cast<double>(transfers)),
                     short_bytes(static_cast<double>(scenario::peak_memory_bytes())), wall_seconds);
}

std::string solver_line(std::uint64_t solves, std::uint64_t peak_live) {
  return fmt::format("# solves {}  peak_live_transfers {}\n", solves, peak_live);
}

std::vector<std::string> warning_texts(const Diagnostics& diagnostics) {
  std::vector<std::string> texts;
  for (const Diagnostic& warning : diagnostics.warnings()) {
    std::string text;
    if (!warning.where.file.empty()) {
      text = warning.where.line > 0 ? fmt::format("{}:{}:{}: ", warning.where.file, warning.where.line, warning.where.column)
                                    : fmt::format("{}: ", warning.where.file);
    }
    text += warning.message;
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace weft::apps
