#include "sim/measured/fit/calibrate.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/parameter_scale.h"
#include "sim/core/portable_math.h"
#include "sim/core/version.h"
#include "sim/measured/fit/robust_fit.h"
#include "sim/scenario/scenario.h"

namespace weft::measured {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path{path}.filename().string(); }

// Rows of a log that count, by whether the fit may see them.
struct Split {
  std::string digest;  // of the whole log
  Measurement training;
  Measurement held_out;
};

bool counts(const NcclTestsRow& row) { return row.out_of_place && row.bytes > Bytes{} && row.out_of_place->time_us > 0; }

// By the name of its file, or by the record set that the file says it belongs to.
bool trains(const Measurement& measurement, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return true;
  const std::string name = file_name(measurement.file);
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return pattern == measurement.record_set || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

Split split(const Measurement& measurement, const std::vector<Bytes>& sizes, const std::vector<std::string>& patterns) {
  Split parts{digest_of(measurement.log), measurement, measurement};
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

void check_training(const std::vector<Split>& logs, const CalibrationOptions& options) {
  const std::vector<Bytes>& sizes = options.sizes;
  if (sizes.empty() && options.train.empty())
    throw ConfigError("--sizes or --train: expected what to fit to, such as --sizes 64M,512M,4G or --train quick");
  const bool any = std::ranges::any_of(logs, [](const Split& log) { return !log.training.log.rows.empty(); });
  if (!any && !options.train.empty()) {
    throw ConfigError(fmt::format("--train: no training rows: no log matches {}{}", fmt::join(options.train, ", "),
                                  sizes.empty() ? "" : " and has rows of the sizes of --sizes"));
  }
  std::set<Bytes> trained;
  std::set<Bytes> held_out;
  bool set_aside = false;
  for (const Split& log : logs) {
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

// The calls of one kind in one run, whatever collective and size, are off those of another run by one time; and those of one
// communicator off those of the next. Standard deviations; source: validate/communicators.py on 13 runs of 2 x H100 and 2 x
// H200 (validate/measured), of 33 and 45 degrees of freedom.
constexpr double kRunSdUs = 0.14;
constexpr double kCommunicatorSdUs = 0.10;

class Fitter {
 public:
  Fitter(const net::Cluster& cluster, const std::vector<Measurement>& measurements, const CalibrationOptions& options)
      : cluster_{cluster}, options_{options} {
    for (const Measurement& measurement : measurements) logs_.push_back(split(measurement, options.sizes, options.train));
    check_training(logs_, options);
    read_keys();
  }

  std::optional<CalibrationResult> run();

 private:
  void read_keys();
  [[nodiscard]] std::string unknown_key_note(const std::string& key) const;
  [[nodiscard]] Profile profile_at(const std::vector<double>& numbers) const;
  // Nothing where the user stopped it.
  std::optional<std::vector<ValidationPoint>> predict_training(const net::Cluster& cluster);
  // Returns how one standard deviation moves the rows of each run and each communicator, in the order of predict_training.
  [[nodiscard]] SharedErrors shared_errors() const;
  [[nodiscard]] std::vector<FittedParameter> parameters_of(const RobustFit& fit) const;
  [[nodiscard]] Calibration calibration_of(const CalibrationResult& result) const;
  [[nodiscard]] std::string calibration_id() const;
  [[nodiscard]] std::string machine() const;
  void check_id(const std::string& id) const;
  void add_warnings(CalibrationResult& result, const RobustFit& fit) const;
  [[nodiscard]] std::string text_of(const WeakDirection& direction) const;
  bool add_held_out(const net::Cluster& fitted, CalibrationResult& result);
  void take_notes(const std::vector<std::string>& notes);

  const net::Cluster& cluster_;
  const CalibrationOptions& options_;
  std::vector<Split> logs_;
  std::vector<Unknown> unknowns_;
  std::vector<std::string> notes_;
};

ErrorSummary summary_of(const std::vector<ValidationPoint>& points) {
  std::vector<double> errors;
  for (const ValidationPoint& point : points) {
    if (const auto error = relative_error(point)) errors.push_back(std::abs(*error));
  }
  return summarize(std::move(errors));
}

void Fitter::read_keys() {
  if (options_.keys.empty()) throw ConfigError("--fit: expected the keys to fit, such as network.nvlink4.efficiency");
  Diagnostics diagnostics;
  std::set<std::string> seen;
  for (const std::string& key : options_.keys) {
    const auto refuse = [&](std::string message, std::string note = {}) {
      diagnostics.error(
          {.where = {}, .message = "--fit: " + std::move(message), .source_line = {}, .length = 1, .note = std::move(note)});
    };
    if (!cluster_.profile.knows(key)) {
      refuse(fmt::format("unknown parameter '{}'", key), unknown_key_note(key));
      continue;
    }
    if (!seen.insert(key).second) {
      refuse(fmt::format("'{}' is given twice", key));
      continue;
    }
    const ParamInfo& info = cluster_.profile.info(key);
    if (std::holds_alternative<std::int64_t>(info.default_value)) {
      refuse(fmt::format("'{}' is a whole number, which is counted and not fitted", key));
      continue;
    }
    Unknown unknown;
    unknown.start = number_of(cluster_.profile.value(key));
    unknown.min = info.min ? number_of(*info.min) : 0;
    if (unknown.start < 0 || unknown.min < 0 || !info.min) {
      refuse(fmt::format("'{}' may be negative: only what is at least 0 can be fitted", key));
      continue;
    }
    if (unknown.start == 0) unknown.start = typical_number(info.default_value);
    unknown.max = info.max ? number_of(*info.max) : std::min(9e18, 1e6 * unknown.start);
    unknown.start = std::clamp(unknown.start, unknown.min, unknown.max);
    unknowns_.push_back(unknown);
  }
  diagnostics.throw_if_any();
}

std::string Fitter::unknown_key_note(const std::string& key) const {
  try {
    static_cast<void>(cluster_.profile.with_value(key, "0", "--fit"));
  } catch (const ConfigError& error) {
    return error.diagnostics().front().note;
  }
  return {};
}

Profile Fitter::profile_at(const std::vector<double>& numbers) const {
  Profile profile = cluster_.profile;
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    const std::string& key = options_.keys[j];
    profile = profile.with_value(
        key, value_within(profile.info(key), numbers[j]),
        {.source = ParamSource::kAssumed, .reference = "--fit", .calibration = {}, .is_default = false, .where = {}});
  }
  return profile;
}

void Fitter::take_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
  }
}

std::optional<std::vector<ValidationPoint>> Fitter::predict_training(const net::Cluster& cluster) {
  std::vector<ValidationPoint> points;
  for (const Split& log : logs_) {
    Predictions predictions = predict(cluster, log.training, options_.predict);
    if (predictions.interrupted) return std::nullopt;
    take_notes(predictions.notes);
    for (ValidationPoint& point : predictions.points) {
      if (!point.predicted_us) {
        throw ConfigError(fmt::format("{}: {} of {} is not predicted: {}", point.file, point.collective, to_string(point.bytes),
                                      fmt::join(predictions.notes, "; ")));
      }
      points.push_back(std::move(point));
    }
  }
  return points;
}

SharedErrors Fitter::shared_errors() const {
  std::map<std::string, std::vector<double>> by_name;
  std::size_t rows = 0;
  const auto add = [&](const std::string& name, double relative) {
    std::vector<double>& errors = by_name[name];
    errors.resize(rows, 0);
    errors.push_back(relative);
  };
  for (const Split& log : logs_) {
    const NcclTestsLog& training = log.training.log;
    std::string run = fmt::format("{}|{}|{}|{}|{}", log.training.file, training.ranks, training.processes, training.threads,
                                  training.gpus_per_thread);
    for (const auto& [name, value] : log.training.settings) run += fmt::format("|{}={}", name, value);
    for (const NcclTestsRow& row : training.rows) {
      add(run, kRunSdUs / row.out_of_place->time_us);
      add(fmt::format("{}|{}", run, row.communicator), kCommunicatorSdUs / row.out_of_place->time_us);
      ++rows;
    }
  }
  SharedErrors errors;
  for (auto& [name, of_rows] : by_name) errors.push_back(std::move(of_rows));
  return errors;
}

std::vector<FittedParameter> Fitter::parameters_of(const RobustFit& fit) const {
  std::vector<FittedParameter> parameters;
  for (std::size_t j = 0; j < fit.unknowns.size(); ++j) {
    const std::string& key = options_.keys[j];
    const ParamValue& before = cluster_.profile.value(key);
    FittedParameter parameter{.key = key, .before = before, .after = before};
    parameter.determined = fit.unknowns[j].determined;
    parameter.relative_sd = fit.known.relative_sd[j];
    if (parameter.determined) {
      parameter.at_min = fit.unknowns[j].at_min;
      parameter.at_max = fit.unknowns[j].at_max;
      const double number = std::clamp(rounded_number(fit.unknowns[j].value), unknowns_[j].min, unknowns_[j].max);
      parameter.after = value_of(before, number);
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::string Fitter::machine() const {
  std::set<std::string> machines;
  for (const Split& log : logs_) {
    if (log.training.log.rows.empty()) continue;
    std::map<std::string, int> models;
    for (const NcclTestsDevice& device : log.training.log.devices) ++models[device.name];
    std::string text;
    for (const auto& [model, count] : models) text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", count, model);
    machines.insert(text.empty() ? cluster_.name : text);
  }
  return fmt::format("{}", fmt::join(machines, ", "));
}

std::string Fitter::calibration_id() const {
  if (!options_.id.empty()) return options_.id;
  std::set<std::string> collectives;
  for (const Split& log : logs_) {
    if (!log.training.log.rows.empty()) collectives.insert(log.training.log.collective);
  }
  return fmt::format("{}", fmt::join(collectives, "_"));
}

// A calibration of the same id is replaced, so nothing else may rest on it.
void Fitter::check_id(const std::string& id) const {
  for (const std::string& key : cluster_.profile.keys()) {
    if (cluster_.profile.provenance(key).calibration != id) continue;
    if (std::ranges::find(options_.keys, key) != options_.keys.end()) continue;
    throw ConfigError(fmt::format("--id: '{}' is what {} was fitted by, which is not fitted now; choose another", id, key));
  }
}

Calibration Fitter::calibration_of(const CalibrationResult& result) const {
  Calibration calibration;
  calibration.id = calibration_id();
  calibration.date = options_.date;
  calibration.tool = fmt::format("weft calibrate {}", version());
  calibration.machine = machine();
  calibration.samples = 0;
  calibration.fit_error = std::round(result.training_after.median * 1e6) / 1e6;
  calibration.uncertainty = uncertainty_of(result.parameters, result.correlations);
  for (const Split& log : logs_) {
    const NcclTestsLog& training = log.training.log;
    if (training.rows.empty()) continue;
    Calibration::Training entry{.file = file_name(log.training.file),
                                .digest = log.digest,
                                .collective = training.collective,
                                .ranks = training.ranks,
                                .bytes = {}};
    std::set<Bytes> sizes;
    for (const NcclTestsRow& row : training.rows) sizes.insert(row.bytes);
    entry.bytes.assign(sizes.begin(), sizes.end());
    calibration.samples += static_cast<std::int64_t>(training.rows.size());
    calibration.training.push_back(std::move(entry));
  }
  return calibration;
}

// The parameters that make up nearly all of it.
std::string Fitter::text_of(const WeakDirection& direction) const {
  std::string text;
  for (std::size_t j = 0; j < direction.weights.size(); ++j) {
    if (std::abs(direction.weights[j]) < 0.2) continue;
    text += fmt::format("{}{:+.1f} log {}", text.empty() ? "" : " ", direction.weights[j], options_.keys[j]);
  }
  return std::isfinite(direction.relative_sd) ? fmt::format("{}: known to {:.0f} %", text, 100 * direction.relative_sd)
                                              : text + ": the training rows do not say";
}

void Fitter::add_warnings(CalibrationResult& result, const RobustFit& fit) const {
  for (const FittedParameter& parameter : result.parameters) {
    if (!parameter.determined) {
      result.warnings.push_back(fmt::format("{} is not determined: the training rows hardly depend on it; it keeps {}",
                                            parameter.key, to_string(parameter.before)));
    }
    if (parameter.at_min || parameter.at_max) {
      result.warnings.push_back(fmt::format("{} ends at the {} of its range, {}", parameter.key,
                                            parameter.at_min ? "lower end" : "upper end", to_string(parameter.after)));
    }
  }
  for (const auto& [a, b] : fit.inseparable) {
    result.inseparable.emplace_back(options_.keys[a], options_.keys[b]);
    result.warnings.push_back(fmt::format("{} and {} act alike on the training rows: only a combination of them is determined",
                                          options_.keys[a], options_.keys[b]));
  }
  for (const WeakDirection& direction : fit.known.weak) result.open_combinations.push_back(text_of(direction));
  if (!cluster_.profile.validations().empty()) {
    result.warnings.push_back("what the profile stated about held-out rows before is dropped: it was about other values");
  }
  if (result.training.size() < options_.keys.size()) {
    result.warnings.push_back(fmt::format("{} parameters are fitted to {} rows", options_.keys.size(), result.training.size()));
  }
}

// False where the user stopped it.
bool Fitter::add_held_out(const net::Cluster& fitted, CalibrationResult& result) {
  std::vector<std::pair<std::string, std::vector<ValidationPoint>>> by_file;
  for (const Split& log : logs_) {
    Measurement stated = log.held_out;
    std::erase_if(stated.log.rows, [&](const NcclTestsRow& row) { return row.bytes < options_.validate_from; });
    if (stated.log.rows.empty()) continue;
    Predictions predictions = predict(fitted, stated, options_.predict);
    if (predictions.interrupted) return false;
    take_notes(predictions.notes);
    // Rows that an earlier fit kept in the profile was made from are not held out; those whose host was the limit say nothing.
    std::erase_if(predictions.points, [](const ValidationPoint& point) { return exclusion_of(point) != Exclusion::kNone; });
    auto at = std::ranges::find(by_file, log.held_out.file, [](const auto& entry) { return entry.first; });
    if (at == by_file.end()) at = by_file.insert(at, {log.held_out.file, {}});
    std::ranges::move(predictions.points, std::back_inserter(at->second));
  }
  std::vector<Validation> validations;
  const std::string from = options_.validate_from > Bytes{} ? fmt::format(" from {}", to_string(options_.validate_from)) : "";
  for (const auto& [file, points] : by_file) {
    const ErrorSummary errors = summary_of(points);
    result.held_out.push_back({file, errors});
    if (errors.points == 0) continue;
    validations.push_back({.data = file_name(file) + from,
                           .points = static_cast<std::int64_t>(errors.points),
                           .median_error = std::round(errors.median * 1e6) / 1e6,
                           .max_error = std::round(errors.max * 1e6) / 1e6});
  }
  // Earlier statements were about other values.
  result.profile = result.profile.with_validations(std::move(validations));
  return true;
}

std::optional<CalibrationResult> Fitter::run() {
  const std::string id = calibration_id();
  check_id(id);
  const auto before = predict_training(cluster_);
  if (!before) return std::nullopt;
  const Residuals residuals = [this](const std::vector<double>& numbers, std::vector<double>& out) {
    const auto points = predict_training(with_profile(cluster_, profile_at(numbers)));
    if (!points) return false;
    for (const ValidationPoint& point : *points) out.push_back(portable_log(*point.predicted_us / point.measured_us));
    constexpr double kNoise = 0.03;
    for (std::size_t j = 0; j < numbers.size() && options_.prior > 0; ++j)
      out.push_back(kNoise / options_.prior *
                    portable_log(std::max(numbers[j], 1e-9 * unknowns_[j].start) / unknowns_[j].start));
    return true;
  };
  const RobustFit fit = fit_robustly(unknowns_, residuals, shared_errors());
  if (fit.stopped) return std::nullopt;

  CalibrationResult result{.profile = cluster_.profile,
                           .parameters = parameters_of(fit),
                           .training = {},
                           .training_before = summary_of(*before),
                           .training_after = {},
                           .held_out = {},
                           .inseparable = {},
                           .open_combinations = {},
                           .correlations = fit.known.correlations,
                           .warnings = {},
                           .notes = {}};
  result.evaluations = fit.evaluations;
  const Provenance fitted_by{
      .source = ParamSource::kFitted, .reference = {}, .calibration = id, .is_default = false, .where = {}};
  for (const FittedParameter& parameter : result.parameters) {
    if (parameter.determined) result.profile = result.profile.with_value(parameter.key, parameter.after, fitted_by);
  }
  // A placeholder for the error, which is that of the values as they are written.
  const net::Cluster fitted = with_profile(cluster_, result.profile.with_calibration(calibration_of(result)));
  auto after = predict_training(fitted);
  if (!after) return std::nullopt;
  result.training = std::move(*after);
  result.training_after = summary_of(result.training);

  result.profile = result.profile.with_calibration(calibration_of(result));
  const std::string& name = options_.name.empty() ? result.profile.name() : options_.name;
  const std::string& description = options_.description.empty() ? result.profile.description() : options_.description;
  result.profile = result.profile.with_name(name, description);
  add_warnings(result, fit);
  if (!add_held_out(fitted, result)) return std::nullopt;
  result.notes = std::move(notes_);
  return result;
}

}  // namespace

// Rounded to what is known of an uncertainty at all, so that last bits do not show.
std::vector<Calibration::Uncertainty> uncertainty_of(const std::vector<FittedParameter>& parameters,
                                                     const std::vector<std::vector<double>>& correlations) {
  std::vector<Calibration::Uncertainty> uncertainty;
  std::vector<std::size_t> stated;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    const FittedParameter& parameter = parameters[j];
    if (!parameter.determined || !std::isfinite(parameter.relative_sd) || number_of(parameter.after) <= 0) continue;
    Calibration::Uncertainty known{
        .parameter = parameter.key, .std_error = std::round(parameter.relative_sd * 1e4) / 1e4, .correlations = {}};
    for (const std::size_t other : stated) known.correlations.push_back(std::round(correlations[j][other] * 1e3) / 1e3);
    uncertainty.push_back(std::move(known));
    stated.push_back(j);
  }
  return uncertainty;
}

net::Cluster with_profile(const net::Cluster& cluster, const Profile& profile) {
  // A map laid over a map would merge, so the old one goes first.
  const ConfigNode node = cluster.resolved.with_override("profile", "null", "calibrate")
                              .with_value("profile", ConfigNode::parse(profile.to_yaml(), "profile", "profile"));
  Diagnostics diagnostics;
  return net::load_cluster(node, {.profile = {}, .groups = scenario::all_param_groups()}, diagnostics);
}

std::optional<CalibrationResult> calibrate(const net::Cluster& cluster, const std::vector<Measurement>& measurements,
                                           const CalibrationOptions& options) {
  return Fitter{cluster, measurements, options}.run();
}

}  // namespace weft::measured
