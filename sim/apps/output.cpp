#include "sim/apps/output.h"

#include <fmt/format.h>
#include <signal.h>  // NOLINT: SIGPIPE is POSIX
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "sim/apps/table.h"
#include "sim/core/error.h"
#include "sim/core/version.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

std::string& stored_command_line() {
  static std::string line;
  return line;
}

int first_error = 0;

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string{word};
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return quoted + "'";
}

ConfigError cannot_write(const std::string& path, std::string_view why) {
  return ConfigError(fmt::format("cannot write '{}': {}", path, why));
}

bool is_special(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void check_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw cannot_write(path, "it is a folder");
  if (is_special(path)) return;
  const fs::path parent = fs::path{path}.parent_path();
  const fs::path folder = parent.empty() ? fs::path{"."} : parent;
  if (!fs::is_directory(folder, ignored)) throw cannot_write(path, fmt::format("there is no folder '{}'", folder.string()));
  if (access(folder.c_str(), W_OK) != 0) throw cannot_write(path, std::strerror(errno));
}

std::string in_folder(const std::string& name, const std::string& folder, const std::string& default_name) {
  if (folder.empty()) return name;
  if (name.empty()) return (fs::path{folder} / default_name).string();
  return name == "-" || fs::path{name}.has_parent_path() ? name : (fs::path{folder} / name).string();
}

}  // namespace

void remember_command_line(int argc, const char* const* argv) {
  std::string line = "weft";
  for (int i = 1; i < argc; ++i) line += ' ' + shell_word(argv[i]);
  stored_command_line() = line;
}

const std::string& command_line() { return stored_command_line(); }

Outputs outputs_of(const CommonOptions& options, std::string_view stem) {
  if (!options.out.empty()) {
    std::error_code error;
    fs::create_directories(options.out, error);
    if (error) throw ConfigError(fmt::format("--out: cannot make the folder '{}': {}", options.out, error.message()));
    if (!fs::is_directory(options.out, error)) throw ConfigError(fmt::format("--out: '{}' is no folder", options.out));
  }
  Outputs outputs{in_folder(options.json, options.out, fmt::format("{}.json", stem)),
                  in_folder(options.timeline, options.out, fmt::format("{}.timeline.json", stem))};
  if (outputs.json == "-" && outputs.timeline == "-")
    throw ConfigError("--json and --timeline cannot both go to standard output");
  check_writable(outputs.json);
  check_writable(outputs.timeline);
  // With files to write, a reader that leaves (| head) does not end the run.
  const bool has_files =
      (!outputs.json.empty() && outputs.json != "-") || (!outputs.timeline.empty() && outputs.timeline != "-");
  if (has_files) signal(SIGPIPE, SIG_IGN);
  return outputs;
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  if (path == "-") {
    write(std::cout);
    std::cout.flush();
    if (!std::cout) throw ConfigError("cannot write to standard output");
    return;
  }
  std::error_code ignored;
  // A symbolic link stays one: what it names is replaced.
  const fs::path target = fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path{path};
  const bool direct = is_special(target);
  const std::string filled = direct ? target.string() : fmt::format("{}.tmp-{}", target.string(), getpid());
  errno = 0;
  std::string problem;
  {
    std::ofstream out{filled, std::ios::binary | std::ios::trunc};
    if (!out) throw cannot_write(path, std::strerror(errno));
    try {
      write(out);
    } catch (...) {
      out.close();
      if (!direct) fs::remove(filled, ignored);
      throw;
    }
    out.close();
    if (!out) problem = errno != 0 ? std::strerror(errno) : "writing failed";
  }
  if (direct) {
    if (!problem.empty()) throw cannot_write(path, problem);
    return;
  }
  std::error_code error;
  if (problem.empty()) {
    fs::rename(filled, target, error);
    if (error) problem = error.message();
  }
  if (!problem.empty()) {
    fs::remove(filled, ignored);
    throw cannot_write(path, problem);
  }
}

Report::Report(const Outputs& outputs) : on_{outputs.table()} {}

void Report::print(std::string_view text) const {
  if (!on_) return;
  errno = 0;
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((!whole || std::fflush(stdout) != 0) && first_error == 0) first_error = errno == 0 ? EIO : errno;
}

int output_error() { return first_error; }

std::string head_line(std::string_view command, std::string_view subject, std::uint64_t seed, coll::Grain grain,
                      std::string_view fidelity) {
  return fmt::format("# weft {} ({})  {}  {}  seed {}  fidelity {}  grain {}\n", version(), commit(), command, subject, seed,
                     fidelity, coll::to_string(grain));
}

std::string cluster_line(const net::Cluster& cluster) {
  const net::Topology& topology = cluster.topology;
  const std::size_t endpoints = topology.endpoints().size();
  const bool has_gpus = endpoints > 0 && topology.kind(topology.endpoints().front()) == net::DeviceKind::kGpu;
  const auto plural = [](std::size_t n) { return n == 1 ? "" : "s"; };
  std::string text = fmt::format("# cluster {}: {} node{}", cluster.name, topology.host_count(), plural(topology.host_count()));
  if (has_gpus) text += fmt::format(", {} GPU{}", endpoints, plural(endpoints));
  const plan::ProfileStatement profile = plan::profile_statement(cluster);
  return text + fmt::format("  profile {}: {}\n", profile.name, profile.stated_error);
}

std::string cost_text(std::uint64_t events, std::uint64_t transfers, double wall_seconds) {
  const double rate = wall_seconds > 0 ? static_cast<double>(events) / wall_seconds : 0.0;
  return fmt::format("events {} ({}/s)  transfers {}  peak_memory {}  wall {:.2f} s", short_count(static_cast<double>(events)),
                     short_count(rate), short_count(static_cast<double>(transfers)),
                     short_bytes(static_cast<double>(plan::peak_memory_bytes())), wall_seconds);
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
    texts.push_back(text + warning.message);
  }
  return texts;
}

}  // namespace weft::apps
