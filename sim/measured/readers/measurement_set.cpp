#include "sim/measured/readers/measurement_set.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/scenario/scenario.h"

namespace weft::measured {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kCollectives{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                            "alltoall",   "sendrecv",   "gather",         "scatter",   "hypercube"};

// One log to read, and what is said about it from outside.
struct Source {
  std::string file;
  std::string identity;  // the same for two ways to name one file
  NcclSettings settings;
  std::string collective;
};

std::string identity_of(const std::string& file) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(file, error);
  return error ? file : canonical.string();
}

// "ALGO" -> "NCCL_ALGO"; nothing for what cannot be the name of an NCCL variable.
std::optional<std::string> setting_name(std::string_view key) {
  const bool is_name = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_name) return std::nullopt;
  return key.starts_with("NCCL_") ? std::string{key} : fmt::format("NCCL_{}", key);
}

// Files that match, in byte order: glob's own order depends on the locale.
std::vector<std::string> matches_of(const fs::path& folder, const std::string& pattern) {
  std::string escaped;
  if (fs::path(pattern).is_relative() && !folder.empty()) {
    for (const char c : folder.string()) {
      if (std::string_view{"*?[]\\"}.find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
    escaped += '/';
  }
  escaped += pattern;
  glob_t found{};
  std::vector<std::string> files;
  if (glob(escaped.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  std::erase_if(files, [](const std::string& file) {
    std::error_code error;
    return fs::is_directory(file, error);
  });
  std::sort(files.begin(), files.end());
  return files;
}

// A list's words about some logs.
struct ListEntry {
  std::string pattern;
  NcclSettings settings;
  std::string collective;  // empty: the log names it
};

ListEntry read_entry(const ConfigNode& entry, Diagnostics& diagnostics) {
  ParamReader params(entry, diagnostics);
  ListEntry read{.pattern = params.required<std::string>("file"), .settings = {}, .collective = {}};
  const std::optional<ConfigNode> nccl = params.optional_raw("nccl");
  const bool names_collective = params.has("collective");
  const std::string collective = params.choice("collective", kCollectives, kCollectives.front());
  if (names_collective) read.collective = collective;
  params.finish();

  if (nccl && !nccl->is_map()) {
    diagnostics.error(
        nccl->diagnostic(fmt::format("{}: expected a map such as {{ALGO: Ring}}, got {}", nccl->path(), found_text(*nccl))));
  } else if (nccl) {
    for (const std::string& key : nccl->keys()) {
      const ConfigNode value = *nccl->find(key);
      const std::optional<std::string> name = setting_name(key);
      if (!name) {
        diagnostics.error(
            value.key_diagnostic(fmt::format("{}: expected the name of an NCCL variable such as ALGO", value.path())));
      } else if (!value.is_scalar()) {
        diagnostics.error(value.diagnostic(fmt::format("{}: expected a value, got {}", value.path(), found_text(value))));
      } else if (const auto wrong = scenario::wrong_setting(*nccl, key, value.scalar())) {
        diagnostics.error(*wrong);
      } else {
        read.settings[*name] = value.scalar();
      }
    }
  }
  return read;
}

class SetReader {
 public:
  MeasurementSet read(const std::vector<std::string>& paths, const NcclSettings& overrides);

 private:
  void add_list(const std::string& path);
  void add_entry(const ConfigNode& entry, const std::string& path, Diagnostics& diagnostics);
  Source& source_of(const std::string& file, bool warn_if_known);
  void read_log(const Source& source, const NcclSettings& overrides);
  void add(Measurement measurement, const Source& source, const NcclSettings& overrides);
  void read_point_log(const MeasurementFormat& format, const Source& source, const NcclSettings& overrides);
  void fail(const ConfigError& error) { errors_.insert(errors_.end(), error.diagnostics().begin(), error.diagnostics().end()); }

  std::vector<Source> sources_;
  std::vector<Diagnostic> errors_;
  MeasurementSet set_;
};

Source& SetReader::source_of(const std::string& file, bool warn_if_known) {
  std::string identity = identity_of(file);
  const auto known = std::find_if(sources_.begin(), sources_.end(), [&](const Source& s) { return s.identity == identity; });
  if (known == sources_.end()) return sources_.emplace_back(Source{file, std::move(identity), {}, {}});
  if (warn_if_known) {
    set_.warnings.push_back(
        {.where = {file, 0, 0}, .message = "given twice, read once", .source_line = {}, .length = 1, .note = {}});
  }
  return *known;
}

void SetReader::add_entry(const ConfigNode& entry, const std::string& path, Diagnostics& diagnostics) {
  const ListEntry read = read_entry(entry, diagnostics);
  if (read.pattern.empty()) return;
  const std::vector<std::string> files = matches_of(fs::path(path).parent_path(), read.pattern);
  if (files.empty()) {
    const ConfigNode file = *entry.find("file");
    diagnostics.error(file.diagnostic(fmt::format("{}: no file matches '{}'", file.path(), read.pattern)));
  }
  for (const std::string& file : files) {
    Source& source = source_of(file, false);
    for (const auto& [name, value] : read.settings) source.settings[name] = value;
    if (!read.collective.empty()) source.collective = read.collective;
  }
}

void SetReader::add_list(const std::string& path) {
  const ConfigNode list = ConfigNode::load_file(path, "measurements");
  if (!list.is_list())
    list.fail(fmt::format("expected a list of logs such as '- {{file: \"*.txt\"}}', got {}", found_text(list)));
  Diagnostics diagnostics;
  for (std::size_t i = 0; i < list.size(); ++i) add_entry(list[i], path, diagnostics);
  diagnostics.throw_if_any();
  set_.warnings.insert(set_.warnings.end(), diagnostics.warnings().begin(), diagnostics.warnings().end());
}

// Settings stand in the log, in the list and on the command line; the later ones win.
void SetReader::add(Measurement measurement, const Source& source, const NcclSettings& overrides) {
  for (const auto& [name, value] : measurement.log.env) {
    if (name.starts_with("NCCL_")) measurement.settings[name] = value;
  }
  for (const auto& [name, value] : source.settings) measurement.settings[name] = value;
  for (const auto& [name, value] : overrides) measurement.settings[name] = value;
  set_.measurements.push_back(std::move(measurement));
}

void SetReader::read_point_log(const MeasurementFormat& format, const Source& source, const NcclSettings& overrides) {
  PointLog log = read_points(format, source.file);
  set_.warnings.insert(set_.warnings.end(), log.warnings.begin(), log.warnings.end());
  for (std::size_t i = 0; i < log.collectives.size(); ++i) {
    add({.file = source.file, .log = std::move(log.collectives[i]), .settings = {}, .record_set = log.collective_sets[i]},
        source, overrides);
  }
  for (MeasuredPoint& point : log.points) {
    for (const auto& [name, value] : source.settings) point.env[name] = value;
    for (const auto& [name, value] : overrides) point.env[name] = value;
  }
  log.collectives.clear();
  log.collective_sets.clear();
  set_.points.push_back(std::move(log));
}

void SetReader::read_log(const Source& source, const NcclSettings& overrides) {
  if (const MeasurementFormat* format = format_of(source.file)) {
    read_point_log(*format, source, overrides);
    return;
  }
  Measurement measurement{.file = source.file, .log = read_nccl_tests_log(source.file), .settings = {}};
  NcclTestsLog& log = measurement.log;
  if (!source.collective.empty()) {
    if (!log.collective.empty() && log.collective != source.collective) {
      throw ConfigError({{.where = {source.file, 0, 0},
                          .message = fmt::format("the list says {}, but the log says {}", source.collective, log.collective),
                          .source_line = {},
                          .length = 1,
                          .note = {}}});
    }
    log.collective = source.collective;
  }
  if (log.collective.empty() && !log.rows.empty()) {
    throw ConfigError({{.where = {source.file, 0, 0},
                        .message = "the log does not name its collective",
                        .source_line = {},
                        .length = 1,
                        .note = "state it in a measurements.yaml: - {file: ..., collective: all_reduce}"}});
  }
  set_.warnings.insert(set_.warnings.end(), log.warnings.begin(), log.warnings.end());
  add(std::move(measurement), source, overrides);
}

MeasurementSet SetReader::read(const std::vector<std::string>& paths, const NcclSettings& overrides) {
  for (const std::string& path : paths) {
    const std::string extension = fs::path(path).extension().string();
    try {
      if (extension == ".yaml" || extension == ".yml") {
        add_list(path);
      } else {
        source_of(path, true);
      }
    } catch (const ConfigError& error) {
      fail(error);
    }
  }
  for (const Source& source : sources_) {
    try {
      read_log(source, overrides);
    } catch (const ConfigError& error) {
      fail(error);
    }
  }
  if (!errors_.empty()) throw ConfigError(std::move(errors_));
  return std::move(set_);
}

}  // namespace

void read_measurement_keys(const ConfigNode& list, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < list.size(); ++i) static_cast<void>(read_entry(list[i], diagnostics));
}

MeasurementSet read_measurements(const std::vector<std::string>& paths, const NcclSettings& overrides) {
  return SetReader{}.read(paths, overrides);
}

void set_layout(MeasurementSet& set, std::optional<int> threads, std::optional<int> gpus_per_thread) {
  if (!threads && !gpus_per_thread) return;
  for (Measurement& measurement : set.measurements) {
    NcclTestsLog& log = measurement.log;
    log.threads = threads.value_or(log.threads);
    log.gpus_per_thread = gpus_per_thread.value_or(log.gpus_per_thread);
    const int all = log.ranks * log.groups;
    const int per_process = log.threads * log.gpus_per_thread;
    if (all % per_process != 0) {
      throw ConfigError(fmt::format("{}: {} ranks are no multiple of {} threads (-t) x {} GPUs of a thread (-g)", log.file, all,
                                    log.threads, log.gpus_per_thread));
    }
    log.processes = all / per_process;
  }
}

NcclSettings parse_nccl_settings(const std::vector<std::string>& assignments, std::string_view origin) {
  NcclSettings settings;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    const std::optional<std::string> name =
        equals == std::string::npos ? std::nullopt : setting_name(std::string_view{assignment}.substr(0, equals));
    if (!name) throw ConfigError(fmt::format("{}: expected KEY=VALUE such as ALGO=Ring, got '{}'", origin, assignment));
    settings[*name] = assignment.substr(equals + 1);
  }
  return settings;
}

}  // namespace weft::measured
