#include "sim/measured/fit/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/measured/fit/training_rows.h"
#include "sim/measured/kinds/collective.h"
#include "sim/measured/point_kind.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured {
namespace {

std::string unknown_key_note(const Profile& profile, const std::string& key) {
  try {
    static_cast<void>(profile.with_value(key, "0", "--fit"));
  } catch (const ConfigError& error) {
    return error.diagnostics().front().note;
  }
  return {};
}

// ConfigError with all that is wrong with the keys.
void check_keys(const Profile& profile, const std::vector<std::string>& keys) {
  if (keys.empty()) throw ConfigError("--fit: expected the keys to fit, such as network.nvlink4.efficiency");
  Diagnostics diagnostics;
  std::set<std::string> seen;
  for (const std::string& key : keys) {
    const auto refuse = [&](std::string message, std::string note = {}) {
      diagnostics.error(
          {.where = {}, .message = "--fit: " + std::move(message), .source_line = {}, .length = 1, .note = std::move(note)});
    };
    if (!profile.knows(key)) {
      refuse(fmt::format("unknown parameter '{}'", key), unknown_key_note(profile, key));
    } else if (!seen.insert(key).second) {
      refuse(fmt::format("'{}' is given twice", key));
    } else if (const std::string why = why_not_fitted(profile.info(key), profile.value(key)); !why.empty()) {
      refuse(fmt::format("'{}' {}", key, why));
    }
  }
  diagnostics.throw_if_any();
}

// A calibration of the same id is replaced, so nothing else may rest on it.
void check_id(const Profile& profile, const std::string& id, const std::vector<std::string>& keys) {
  for (const std::string& key : profile.keys()) {
    if (profile.provenance(key).calibration != id) continue;
    if (std::ranges::find(keys, key) != keys.end()) continue;
    throw ConfigError(fmt::format("--id: '{}' is what {} was fitted by, which is not fitted now; choose another", id, key));
  }
}

bool has_training_rows(const SplitLog& log) { return !log.training.log.rows.empty(); }

// "all_gather_all_reduce"
std::string collectives_of(const std::vector<SplitLog>& logs) {
  std::set<std::string> collectives;
  for (const SplitLog& log : logs) {
    if (has_training_rows(log)) collectives.insert(log.training.log.collective);
  }
  return fmt::format("{}", fmt::join(collectives, "_"));
}

// "4 x NVIDIA H200"
std::string machines_of(const net::Cluster& cluster, const std::vector<SplitLog>& logs) {
  std::set<std::string> machines;
  for (const SplitLog& log : logs) {
    if (!has_training_rows(log)) continue;
    std::map<std::string, int> models;
    for (const NcclTestsDevice& device : log.training.log.devices) ++models[device.name];
    std::string text;
    for (const auto& [model, count] : models) text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", count, model);
    machines.insert(text.empty() ? cluster.name : text);
  }
  return fmt::format("{}", fmt::join(machines, ", "));
}

std::string machines_of(const std::vector<KernelLog>& logs) {
  std::set<std::string> machines;
  for (const KernelLog& log : logs) machines.insert(log.machine);
  return fmt::format("{}", fmt::join(machines, ", "));
}

void add_notes(const std::vector<std::string>& notes, CalibrationResult& result) {
  for (const std::string& note : notes) {
    if (std::ranges::find(result.notes, note) == result.notes.end()) result.notes.push_back(note);
  }
}

// Predicts held-out rows with the fitted profile, which states their error, and with the one before it. False where the user
// stopped it.
bool add_held_out(const net::Cluster& cluster, const std::vector<SplitLog>& logs, const CalibrationOptions& options,
                  CalibrationResult& result) {
  const net::Cluster fitted = with_profile(cluster, result.profile);
  struct Points {
    std::vector<ValidationPoint> before;
    std::vector<ValidationPoint> after;
  };
  std::vector<std::pair<std::string, Points>> by_file;
  for (const SplitLog& log : logs) {
    Measurement stated = log.held_out;
    std::erase_if(stated.log.rows, [&](const NcclTestsRow& row) { return row.bytes < options.validate_from; });
    if (stated.log.rows.empty()) continue;
    Predictions predictions = predict(fitted, stated, options.predict);
    Predictions before = predict(cluster, stated, options.predict);
    if (predictions.interrupted || before.interrupted) return false;
    add_notes(predictions.notes, result);
    // Rows that an earlier fit kept in the profile was made from are not held out; those whose host was the limit say nothing.
    const auto is_out = [](const ValidationPoint& point) { return exclusion_of(point) != Exclusion::kNone; };
    std::erase_if(predictions.points, is_out);
    std::erase_if(before.points, is_out);
    auto at = std::ranges::find(by_file, log.held_out.file, [](const auto& entry) { return entry.first; });
    if (at == by_file.end()) at = by_file.insert(at, {log.held_out.file, {}});
    std::ranges::move(predictions.points, std::back_inserter(at->second.after));
    std::ranges::move(before.points, std::back_inserter(at->second.before));
  }
  std::vector<Validation> validations;
  const std::string from = options.validate_from > Bytes{} ? fmt::format(" from {}", to_string(options.validate_from)) : "";
  for (const auto& [file, points] : by_file) {
    const ErrorSummary errors = summary_of(points.after);
    const ErrorSummary before = summary_of(points.before);
    result.held_out.push_back({file, errors, before});
    if (errors.points == 0) continue;
    if (before.points == errors.points && errors.median > before.median) {
      result.warnings.push_back(
          fmt::format("held-out rows of {} are met worse than before the fit: median error {:.2f} % for {:.2f} %",
                      std::filesystem::path{file}.filename().string(), 100 * errors.median, 100 * before.median));
    }
    validations.push_back({.data = std::filesystem::path{file}.filename().string() + from,
                           .points = static_cast<std::int64_t>(errors.points),
                           .median_error = std::round(errors.median * 1e6) / 1e6,
                           .max_error = std::round(errors.max * 1e6) / 1e6});
  }
  // Earlier statements were about other values.
  result.profile = result.profile.with_validations(std::move(validations));
  return true;
}

}  // namespace

std::optional<CalibrationResult> calibrate(const net::Cluster& cluster, const std::vector<Measurement>& measurements,
                                           const CalibrationOptions& options) {
  const std::vector<SplitLog> logs = split_logs(measurements, options.sizes, options.train);
  check_keys(cluster.profile, options.keys);
  FitPart part{.id = options.id.empty() ? collectives_of(logs) : options.id, .keys = options.keys, .samples = {}};
  check_id(cluster.profile, part.id, options.keys);
  std::vector<std::string> notes;
  for (const SplitLog& log : logs)
    std::ranges::move(samples_of(log.training, log.digest, options.predict, notes), std::back_inserter(part.samples));

  Fitter fitter{
      cluster.profile, &cluster, {.date = options.date, .machine = machines_of(cluster, logs), .prior = options.prior}};
  if (!fitter.fit(std::move(part))) return std::nullopt;
  std::optional<CalibrationResult> result = fitter.finish();
  if (!result) return std::nullopt;
  add_notes(notes, *result);
  const std::string& name = options.name.empty() ? result->profile.name() : options.name;
  const std::string& description = options.description.empty() ? result->profile.description() : options.description;
  result->profile = result->profile.with_name(name, description);
  if (!cluster.profile.validations().empty())
    result->warnings.push_back("what the profile stated about held-out rows before is dropped: it was about other values");
  const std::size_t rows = result->fits.front().training.size();
  if (rows < options.keys.size())
    result->warnings.push_back(fmt::format("{} parameters are fitted to {} rows", options.keys.size(), rows));
  if (!add_held_out(cluster, logs, options, *result)) return std::nullopt;
  return result;
}

CalibrationResult calibrate_kernels(const Profile& profile, const std::vector<KernelLog>& logs, const std::string& date,
                                    const std::string& id_suffix, const net::Cluster* cluster) {
  for (const KernelLog& log : logs) {
    static_cast<void>(work::gpu_spec(log.gpu));
    if (log.gpu != logs.front().gpu)
      throw ConfigError(fmt::format("{}: of a {}, but {} is of a {}", log.file, log.gpu, logs.front().file, logs.front().gpu));
  }
  // A key off its declared default by a factor of e^0.5 weighs as a row 3 % off: rows leave some splits open (fixed against
  // rate). The profile's values do not enter, so that fitting a fitted profile changes nothing.
  Fitter fitter{profile, cluster, {.date = date, .machine = machines_of(logs), .prior = 0.5, .from_defaults = true}};
  for (const PointKind* kind : point_kinds()) {
    if (kind->fits == nullptr) continue;
    for (FitPart& part : kind->fits({logs, fitter.profile(), cluster})) {
      part.id += id_suffix;
      static_cast<void>(fitter.fit(std::move(part)));  // nothing here asks the user
    }
  }
  return fitter.finish().value();
}

}  // namespace weft::measured
