#include "sim/measured/fit/fitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/parameter_scale.h"
#include "sim/core/portable_math.h"
#include "sim/core/version.h"

namespace weft::measured {
namespace {

constexpr double kPriorError = 0.03;    // what an unknown off by a factor of e^prior weighs
constexpr double kTinyShare = 1e-9;     // of where an unknown is held, in place of 0
constexpr double kOfTypical = 0.01;     // where a default of 0 begins, of a typical value
constexpr double kInCombination = 0.2;  // weight from which a parameter is named in an open combination

Provenance while_fitting() {
  return {.source = ParamSource::kAssumed, .reference = "--fit", .calibration = {}, .is_default = false, .where = {}};
}

Provenance fitted_by(const std::string& id) {
  return {.source = ParamSource::kFitted, .reference = {}, .calibration = id, .is_default = false, .where = {}};
}

CalibrationFit& fit_named(const std::string& id, std::vector<CalibrationFit>& fits) {
  const auto known = std::ranges::find(fits, id, &CalibrationFit::id);
  return known != fits.end() ? *known : fits.emplace_back(CalibrationFit{.id = id, .parameters = {}});
}

std::vector<ValidationPoint> points_of(const FitPart& part) {
  std::vector<ValidationPoint> points;
  for (const Sample& sample : part.samples) points.push_back(sample.point);
  return points;
}

// Each error that samples share, in the order of their names.
SharedErrors shared_errors_of(const FitPart& part) {
  std::map<std::string, std::vector<double>> by_name;
  for (std::size_t i = 0; i < part.samples.size(); ++i) {
    for (const SharedError& error : part.samples[i].shared) {
      std::vector<double>& errors = by_name[error.name];
      errors.resize(i, 0);
      errors.push_back(error.relative);
    }
  }
  SharedErrors errors;
  for (auto& [name, of_samples] : by_name) errors.push_back(std::move(of_samples));
  return errors;
}

// Those of the parts before stand apart from these.
void add_correlations(const std::vector<std::vector<double>>& added, std::vector<std::vector<double>>& correlations) {
  const std::size_t before = correlations.size();
  for (std::vector<double>& row : correlations) row.resize(before + added.size());
  for (const std::vector<double>& row : added)
    correlations.emplace_back(before).insert(correlations.back().end(), row.begin(), row.end());
}

// The parameters that make up nearly all of it.
std::string text_of(const WeakDirection& direction, const std::vector<std::string>& keys) {
  std::string text;
  for (std::size_t j = 0; j < direction.weights.size(); ++j) {
    if (std::abs(direction.weights[j]) < kInCombination) continue;
    text += fmt::format("{}{:+.1f} log {}", text.empty() ? "" : " ", direction.weights[j], keys[j]);
  }
  return std::isfinite(direction.relative_sd) ? fmt::format("{}: known to {:.0f} %", text, 100 * direction.relative_sd)
                                              : text + ": the training rows do not say";
}

// Every determined parameter of a fit that is not 0, as the profile states it: a value of 0 has no share to state. Rounded to
// what is known of an uncertainty at all, so that last bits do not show.
std::vector<Calibration::Uncertainty> uncertainty_of(const CalibrationFit& fit) {
  std::vector<Calibration::Uncertainty> uncertainty;
  std::vector<std::size_t> stated;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const FittedParameter& parameter = fit.parameters[j];
    if (!parameter.determined || !std::isfinite(parameter.relative_sd) || number_of(parameter.after) <= 0) continue;
    Calibration::Uncertainty known{
        .parameter = parameter.key, .std_error = std::round(parameter.relative_sd * 1e4) / 1e4, .correlations = {}};
    for (const std::size_t other : stated) known.correlations.push_back(std::round(fit.correlations[j][other] * 1e3) / 1e3);
    uncertainty.push_back(std::move(known));
    stated.push_back(j);
  }
  return uncertainty;
}

// An entry for each log and kind, with all sizes that were fitted to.
void add_training(const Sample& sample, std::vector<Calibration::Training>& training) {
  const Calibration::Training& log = sample.training;
  const auto same = [&](const Calibration::Training& entry) {
    return entry.file == log.file && entry.digest == log.digest && entry.collective == log.collective &&
           entry.ranks == log.ranks;
  };
  const auto known = std::ranges::find_if(training, same);
  if (known == training.end()) {
    training.push_back(log);
    return;
  }
  std::set<Bytes> sizes{known->bytes.begin(), known->bytes.end()};
  sizes.insert(log.bytes.begin(), log.bytes.end());
  known->bytes.assign(sizes.begin(), sizes.end());
}

}  // namespace

struct Fitter::Search {
  std::vector<Unknown> unknowns;
  std::vector<double> held_at;  // where a prior holds each of them
};

std::string why_not_fitted(const ParamInfo& info, const ParamValue& value) {
  if (std::holds_alternative<std::int64_t>(info.default_value)) return "is a whole number, which is counted and not fitted";
  if (!info.min || number_of(*info.min) < 0 || number_of(value) < 0)
    return "may be negative: only what is at least 0 can be fitted";
  return {};
}

Fitter::Search Fitter::search_of(const FitPart& part) const {
  Search search;
  for (const std::string& key : part.keys) {
    const ParamInfo& info = result_.profile.info(key);
    double start = number_of(settings_.from_defaults ? info.default_value : result_.profile.value(key));
    if (start == 0) start = (settings_.from_defaults ? kOfTypical : 1) * typical_number(info.default_value);
    Unknown unknown{
        .start = start, .min = number_of(*info.min), .max = info.max ? number_of(*info.max) : std::min(9e18, 1e6 * start)};
    search.held_at.push_back(std::clamp(start, unknown.min, unknown.max));
    const auto given = part.starts.find(key);
    unknown.start = given == part.starts.end() ? search.held_at.back() : std::clamp(given->second, unknown.min, unknown.max);
    search.unknowns.push_back(unknown);
  }
  return search;
}

Profile Fitter::profile_at(const FitPart& part, const std::vector<double>& numbers) const {
  Profile profile = result_.profile;
  for (std::size_t j = 0; j < numbers.size(); ++j)
    profile = profile.with_value(part.keys[j], value_within(profile.info(part.keys[j]), numbers[j]), while_fitting());
  return profile;
}

bool Fitter::predict(const FitPart& part, Profile profile, std::vector<ValidationPoint>& points) const {
  Trial trial{std::move(profile), cluster_};
  for (std::size_t i = 0; i < part.samples.size(); ++i) {
    if (!part.samples[i].predict(trial, points[i])) return false;
  }
  return true;
}

std::vector<FittedParameter> Fitter::parameters_of(const FitPart& part, const Search& search, const RobustFit& found) const {
  std::vector<FittedParameter> parameters;
  for (std::size_t j = 0; j < part.keys.size(); ++j) {
    const ParamValue& before = result_.profile.value(part.keys[j]);
    const FittedUnknown& unknown = found.unknowns[j];
    FittedParameter parameter{.key = part.keys[j], .before = before, .after = before};
    parameter.determined = unknown.determined;
    parameter.relative_sd = found.known.relative_sd[j];
    if (parameter.determined) {
      parameter.at_min = unknown.at_min;
      parameter.at_max = unknown.at_max;
      parameter.after =
          value_of(before, std::clamp(rounded_number(unknown.value), search.unknowns[j].min, search.unknowns[j].max));
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

void Fitter::add_warnings(const FitPart& part, const std::vector<FittedParameter>& parameters, const RobustFit& found) {
  for (const FittedParameter& parameter : parameters) {
    if (!parameter.determined) {
      result_.warnings.push_back(fmt::format("{} is not determined: the training rows hardly depend on it; it keeps {}",
                                             parameter.key, to_string(parameter.before)));
    }
    if (parameter.at_min || parameter.at_max) {
      result_.at_ends.push_back(fmt::format(
          "{} ends at the {} of its range, {}: the rows want more than it can mean. Look whether all are of this GPU and "
          "timed as they say ('launch', 'sustained'), fit to more rows, or leave it out",
          parameter.key, parameter.at_min ? "lower end" : "upper end", to_string(parameter.after)));
    }
  }
  for (const auto& [a, b] : found.inseparable) {
    result_.warnings.push_back(fmt::format("{} and {} act alike on the training rows: only a combination of them is determined",
                                           part.keys[a], part.keys[b]));
  }
}

bool Fitter::fit(FitPart part) {
  if (part.samples.empty()) {
    result_.warnings.push_back(fmt::format("{}: no rows; {} keep their values", part.id, fmt::join(part.keys, ", ")));
    return true;
  }
  std::vector<ValidationPoint> points = points_of(part);
  if (!predict(part, result_.profile, points)) return false;
  const std::vector<ValidationPoint> before = points;
  const Search search = search_of(part);
  const Residuals residuals = [&](const std::vector<double>& numbers, std::vector<double>& out) {
    if (!predict(part, profile_at(part, numbers), points)) return false;
    for (std::size_t i = 0; i < points.size(); ++i)
      out.push_back(part.samples[i].weight * portable_log(*points[i].predicted_us / points[i].measured_us));
    for (std::size_t j = 0; j < numbers.size() && settings_.prior > 0; ++j) {
      const double held_at = search.held_at[j];
      out.push_back(kPriorError / settings_.prior * portable_log(std::max(numbers[j], kTinyShare * held_at) / held_at));
    }
    return true;
  };
  const RobustFit found = fit_robustly(search.unknowns, residuals, shared_errors_of(part));
  if (found.stopped) return false;
  result_.evaluations += found.evaluations;

  CalibrationFit& fit = fit_named(part.id, result_.fits);
  const std::vector<FittedParameter> parameters = parameters_of(part, search, found);
  add_warnings(part, parameters, found);
  add_correlations(found.known.correlations, fit.correlations);
  for (const WeakDirection& direction : found.known.weak) fit.open_combinations.push_back(text_of(direction, part.keys));
  fit.training.insert(fit.training.end(), before.begin(), before.end());
  for (const FittedParameter& parameter : parameters) {
    if (parameter.determined) result_.profile = result_.profile.with_value(parameter.key, parameter.after, while_fitting());
  }
  fit.parameters.insert(fit.parameters.end(), parameters.begin(), parameters.end());
  parts_.push_back(std::move(part));
  return true;
}

Calibration Fitter::calibration_of(const CalibrationFit& fit) const {
  Calibration calibration{.id = fit.id,
                          .date = settings_.date,
                          .tool = fmt::format("weft calibrate {}", version()),
                          .machine = settings_.machine,
                          .samples = static_cast<std::int64_t>(fit.training.size()),
                          .fit_error = std::round(fit.after.median * 1e6) / 1e6,
                          .uncertainty = uncertainty_of(fit),
                          .training = {}};
  for (const FitPart& part : parts_) {
    if (part.id != fit.id) continue;
    for (const Sample& sample : part.samples) add_training(sample, calibration.training);
  }
  return calibration;
}

std::optional<CalibrationResult> Fitter::finish() {
  for (CalibrationFit& fit : result_.fits) {
    fit.before = summary_of(fit.training);
    for (const FittedParameter& parameter : fit.parameters) {
      if (parameter.determined) result_.profile = result_.profile.with_value(parameter.key, parameter.after, fitted_by(fit.id));
    }
  }
  // Without its error yet, which is that of the values as they are written.
  for (const CalibrationFit& fit : result_.fits) result_.profile = result_.profile.with_calibration(calibration_of(fit));
  for (CalibrationFit& fit : result_.fits) {
    fit.training.clear();
    for (const FitPart& part : parts_) {
      if (part.id != fit.id) continue;
      std::vector<ValidationPoint> points = points_of(part);
      if (!predict(part, result_.profile, points)) return std::nullopt;
      std::ranges::move(points, std::back_inserter(fit.training));
    }
    fit.after = summary_of(fit.training);
    result_.profile = result_.profile.with_calibration(calibration_of(fit));
  }
  return std::move(result_);
}

}  // namespace weft::measured
