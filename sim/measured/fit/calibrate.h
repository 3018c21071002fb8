// Fits parameters of a profile to measured logs, and states what the fitted profile misses on the rows it was not fitted to.
//
//   const CalibrationResult result = calibrate(cluster, set.measurements, {.keys = {"network.nvlink4.efficiency"},
//                                                                          .sizes = {64_MiB, 4_GiB}, ...});
//   write_file(path, result.profile.to_yaml());
//
// Training rows are the out-of-place rows of the given sizes; the other rows are predicted only after the fit. The unknowns are
// keys of the profile's declared groups, bounded by their declared ranges; how they are found is robust_fit.h's business.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/measured/predict.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/measured/validation_report.h"
#include "sim/network/cluster.h"

namespace weft::measured {

struct CalibrationOptions {
  std::vector<std::string> keys;
  std::vector<Bytes> sizes;  // of the training rows, in every log that trains and has them; empty: all its rows
  // Logs that train: patterns of file names ("*quick*"), or names of record sets ("quick"). Empty: all. The others are held
  // out.
  std::vector<std::string> train;
  // 0: none. Otherwise each unknown counts as one more row, whose residual is 3 % where the unknown is off its value so far by
  // a factor of e^prior: for parameters that the training rows do not tell apart.
  double prior = 0;
  Bytes validate_from;      // held-out rows below this are predicted, but not stated
  std::string name;         // of the profile; empty: as it was
  std::string description;  // the same
  std::string id;           // of the calibration; empty: the collectives it was fitted to
  std::string date;
  PredictOptions predict;
};

struct FittedParameter {
  std::string key;
  ParamValue before;
  ParamValue after;
  bool at_min = false;
  bool at_max = false;
  bool determined = true;  // false: it kept its value, as the training rows do not depend on it
  // Standard error over the value, all parameters free, as the training rows' own spread gives it; infinite: they do not say.
  double relative_sd = 0;
};

struct HeldOut {
  std::string file;
  ErrorSummary errors;  // of rows from validate_from on
};

struct CalibrationResult {
  Profile profile;
  std::vector<FittedParameter> parameters;
  std::vector<ValidationPoint> training;  // predicted with the fitted profile
  ErrorSummary training_before;
  ErrorSummary training_after;
  std::vector<HeldOut> held_out;
  std::vector<std::pair<std::string, std::string>> inseparable;  // keys of which only a combination is determined
  // Combinations that the training rows leave open, in words: "+0.9 log a -0.4 log b: known to 60 %".
  std::vector<std::string> open_combinations;
  std::vector<std::vector<double>> correlations;  // of parameters, in their order
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what is not modelled
  int evaluations = 0;
};

// Returns every determined parameter of a fit that is not 0, as the profile states it. A value of 0 has no share to state.
[[nodiscard]] std::vector<Calibration::Uncertainty> uncertainty_of(const std::vector<FittedParameter>& parameters,
                                                                   const std::vector<std::vector<double>>& correlations);

// The cluster with another profile: its links are made anew.
[[nodiscard]] net::Cluster with_profile(const net::Cluster& cluster, const Profile& profile);

// ConfigError for an unknown key, one that cannot be fitted, a size that no log has, no training row. Nothing where the
// user stopped it. Deterministic.
[[nodiscard]] std::optional<CalibrationResult> calibrate(const net::Cluster& cluster,
                                                         const std::vector<Measurement>& measurements,
                                                         const CalibrationOptions& options);

}  // namespace weft::measured
