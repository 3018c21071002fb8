// One fit of a profile to samples, part after part: each part's keys go to where its samples are met best, later parts see the
// values of earlier ones, and at the end every calibration states the errors of the values as they are written.
//
//   Fitter fitter{profile, &cluster, {.date = ..., .machine = ..., .prior = 0.3}};
//   fitter.fit({.id = "links", .keys = {"network.nvlink4.efficiency"}, .samples = ...});
//   const std::optional<CalibrationResult> result = fitter.finish();
//
// How unknowns are found is robust_fit.h's business, how well they are known identifiability.h's, and which samples there are
// that of the kinds of points (point_kind.h). Deterministic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/profile.h"
#include "sim/measured/fit/robust_fit.h"
#include "sim/measured/fit/sample.h"
#include "sim/measured/validation_report.h"
#include "sim/network/cluster.h"

namespace weft::measured {

struct FittedParameter {
  std::string key;
  ParamValue before;
  ParamValue after;
  bool at_min = false;
  bool at_max = false;
  bool determined = true;  // false: it kept its value, as the samples do not depend on it
  // Standard error over the value, all parameters free, as the samples' own spread gives it; infinite: they do not say.
  double relative_sd = 0;
};

// One calibration of the profile: all parts of its id.
struct CalibrationFit {
  std::string id;
  std::vector<FittedParameter> parameters;
  std::vector<std::vector<double>> correlations = {};  // of parameters, in their order; 0 between those not fitted together
  // Combinations that the samples leave open, in words: "+0.9 log a -0.4 log b: known to 60 %".
  std::vector<std::string> open_combinations = {};
  std::vector<ValidationPoint> training = {};  // predicted with the fitted profile
  ErrorSummary before = {};                    // with the profile as each part found it
  ErrorSummary after = {};
};

struct HeldOut {
  std::string file;
  ErrorSummary errors;
  ErrorSummary before = {};  // of the same rows, with the profile that the fit started from
};

struct CalibrationResult {
  Profile profile;
  std::vector<CalibrationFit> fits;
  std::vector<HeldOut> held_out = {};
  std::vector<std::string> warnings = {};
  std::vector<std::string> at_ends = {};  // values at an end of their range, each with advice: their fit is not to be trusted
  std::vector<std::string> notes = {};    // what is not modelled
  int evaluations = 0;
};

struct FitSettings {
  std::string date = {};
  std::string machine = {};
  // 0: none. Otherwise each unknown counts as one more sample, whose residual is 3 % where the unknown is off where it began by
  // a factor of e^prior: for parameters that the samples do not tell apart.
  double prior = 0;
  // Keys begin at their declared defaults, so that fitting a fitted profile changes nothing; else at the profile's values.
  bool from_defaults = false;
};

class Fitter {
 public:
  // `cluster`: as Trial has it.
  Fitter(Profile profile, const net::Cluster* cluster, FitSettings settings)
      : cluster_{cluster}, settings_{std::move(settings)}, result_{.profile = std::move(profile), .fits = {}} {}

  // With what the parts so far found.
  [[nodiscard]] const Profile& profile() const { return result_.profile; }
  // Keys must be ones that can be fitted (why_not_fitted). False: the user stopped it. Without samples the keys keep their
  // values, with a warning.
  [[nodiscard]] bool fit(FitPart part);
  // Nothing where the user stopped it.
  [[nodiscard]] std::optional<CalibrationResult> finish();

 private:
  struct Search;  // the unknowns of a part

  [[nodiscard]] Search search_of(const FitPart& part) const;
  [[nodiscard]] Profile profile_at(const FitPart& part, const std::vector<double>& numbers) const;
  // Sets the predictions of `points`, one for each sample. False: the user stopped it.
  [[nodiscard]] bool predict(const FitPart& part, Profile profile, std::vector<ValidationPoint>& points) const;
  [[nodiscard]] std::vector<FittedParameter> parameters_of(const FitPart& part, const Search& search,
                                                           const RobustFit& found) const;
  void add_warnings(const FitPart& part, const std::vector<FittedParameter>& parameters, const RobustFit& found);
  [[nodiscard]] Calibration calibration_of(const CalibrationFit& fit) const;

  const net::Cluster* cluster_;
  FitSettings settings_;
  CalibrationResult result_;
  std::vector<FitPart> parts_;
};

// Says why a parameter cannot be moved by a fit; empty where it can.
[[nodiscard]] std::string why_not_fitted(const ParamInfo& info, const ParamValue& value);

}  // namespace weft::measured
