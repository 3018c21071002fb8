#include "sim/measured/fit/training_rows.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/measured/predict.h"

namespace weft::measured {
namespace {

bool counts(const NcclTestsRow& row) { return row.out_of_place && row.bytes > Bytes{} && row.out_of_place->time_us > 0; }

// By the name of its file, or by the record set that the file says it belongs to.
bool trains(const Measurement& measurement, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return true;
  const std::string name = std::filesystem::path{measurement.file}.filename().string();
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return pattern == measurement.record_set || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

SplitLog split(const Measurement& measurement, const std::vector<Bytes>& sizes, const std::vector<std::string>& patterns) {
  SplitLog parts{digest_of(measurement.log), measurement, measurement};
  parts.training.log.rows.clear();
  parts.held_out.log.rows.clear();
  if (measurement.log.has_debug_output || measurement.log.is_cpu_time) return parts;
  const bool is_training_log = trains(measurement, patterns);
  for (NcclTestsRow row : measurement.log.rows) {
    if (!counts(row)) continue;
    row.in_place.reset();
    const bool is_training = is_training_log && (sizes.empty() || std::ranges::find(sizes, row.bytes) != sizes.end());
    (is_training ? parts.training : parts.held_out).log.rows.push_back(std::move(row));
  }
  return parts;
}

void check_training(const std::vector<SplitLog>& logs, const std::vector<Bytes>& sizes, const std::vector<std::string>& train) {
  if (sizes.empty() && train.empty())
    throw ConfigError("--sizes or --train: expected what to fit to, such as --sizes 64M,512M,4G or --train quick");
  const bool any = std::ranges::any_of(logs, [](const SplitLog& log) { return !log.training.log.rows.empty(); });
  if (!any && !train.empty()) {
    std::set<std::string> files;
    for (const SplitLog& log : logs) files.insert(std::filesystem::path{log.training.file}.filename().string());
    throw ConfigError(std::vector<Diagnostic>{
        {.where = {},
         .message = fmt::format("--train: no training rows: no log matches {}{}", fmt::join(train, ", "),
                                sizes.empty() ? "" : " and has rows of the sizes of --sizes"),
         .source_line = {},
         .length = 1,
         .note = fmt::format("logs: {}; * stands for any part of a name", fmt::join(files, ", "))}});
  }
  std::set<Bytes> trained;
  std::set<Bytes> held_out;
  bool set_aside = false;
  for (const SplitLog& log : logs) {
    for (const NcclTestsRow& row : log.training.log.rows) trained.insert(row.bytes);
    for (const NcclTestsRow& row : log.held_out.log.rows) held_out.insert(row.bytes);
    set_aside = set_aside || log.training.log.has_debug_output || log.training.log.is_cpu_time;
  }
  std::vector<std::string> others;
  for (const Bytes bytes : held_out) others.push_back(to_string(bytes));
  std::string note = others.empty() ? std::string{} : fmt::format("other sizes there: {}", fmt::join(others, ", "));
  if (set_aside)
    note += std::string{note.empty() ? "" : "; "} + "logs taken with NCCL_DEBUG or of the host's time are not fitted to";
  Diagnostics diagnostics;
  for (const Bytes size : sizes) {
    if (trained.contains(size)) continue;
    diagnostics.error({.where = {},
                       .message = fmt::format("--sizes: no training rows: no log has an out-of-place row of {} ({} B)",
                                              to_string(size), size.count()),
                       .source_line = {},
                       .length = 1,
                       .note = note});
  }
  diagnostics.throw_if_any();
}

}  // namespace

std::vector<SplitLog> split_logs(const std::vector<Measurement>& measurements, const std::vector<Bytes>& sizes,
                                 const std::vector<std::string>& train) {
  std::vector<SplitLog> logs;
  for (const Measurement& measurement : measurements) logs.push_back(split(measurement, sizes, train));
  check_training(logs, sizes, train);
  return logs;
}

}  // namespace weft::measured
