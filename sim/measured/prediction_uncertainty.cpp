#include "sim/measured/prediction_uncertainty.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/parameter_scale.h"
#include "sim/core/portable_math.h"
#include "sim/measured/fit/sample.h"

namespace weft::measured {
namespace {

// A value that was fitted again since is what the later calibration says.
bool holds(const Profile& profile, const Calibration& calibration, const Calibration::Uncertainty& known) {
  return profile.provenance(known.parameter).calibration == calibration.id;
}

struct Moved {
  Profile profile;
  double sign = 1;  // -1: the value is at the end of its range, so that it went down
};

Moved moved_by_one_error(const Profile& profile, const Calibration::Uncertainty& known) {
  const ParamInfo& info = profile.info(known.parameter);
  const double number = number_of(profile.value(known.parameter));
  const double error = 1 + known.std_error;
  const bool fits = !info.max || number * error <= number_of(*info.max);
  const ParamValue next = value_within(info, fits ? number * error : number / error);
  return {profile.with_value(known.parameter, next, profile.provenance(known.parameter)), fits ? 1.0 : -1.0};
}

}  // namespace

std::vector<std::string> uncertain_parameters(const Profile& profile) {
  std::vector<std::string> keys;
  std::ranges::copy_if(profile.keys(), std::back_inserter(keys),
                       [&](const std::string& key) { return profile.std_error(key).has_value(); });
  return keys;
}

bool add_uncertainty(const net::Cluster& cluster, const PredictAll& predict_all, std::span<ValidationPoint> points) {
  const Profile& profile = cluster.profile;
  if (uncertain_parameters(profile).empty()) return true;
  std::vector<double> variances(points.size(), 0.0);
  std::vector<bool> acted(points.size(), false);
  for (const Calibration& calibration : profile.calibrations()) {
    const std::vector<Calibration::Uncertainty>& uncertainty = calibration.uncertainty;
    std::vector<std::vector<double>> moves(uncertainty.size());  // of each parameter, by point; empty: fitted again since
    for (std::size_t j = 0; j < uncertainty.size(); ++j) {
      if (!holds(profile, calibration, uncertainty[j])) continue;
      const Moved moved = moved_by_one_error(profile, uncertainty[j]);
      const auto predicted = predict_all(with_profile(cluster, moved.profile), uncertainty[j].parameter);
      if (!predicted) return false;
      WEFT_CHECK(predicted->size() == points.size());
      for (std::size_t i = 0; i < points.size(); ++i) {
        const auto& before = points[i].predicted_us;
        const auto& after = (*predicted)[i].predicted_us;
        const bool known = before && after && *before > 0 && *after > 0;
        moves[j].push_back(known ? moved.sign * portable_log(*after / *before) : 0.0);
        acted[i] = acted[i] || moves[j].back() != 0;
      }
      for (std::size_t k = 0; k <= j; ++k) {
        if (moves[k].empty()) continue;
        const double weight = k == j ? 1.0 : 2 * uncertainty[j].correlations[k];
        for (std::size_t i = 0; i < points.size(); ++i) variances[i] += weight * moves[j][i] * moves[k][i];
      }
    }
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].predicted_us && acted[i]) points[i].predicted_sd = std::sqrt(std::max(variances[i], 0.0));
  }
  return true;
}

}  // namespace weft::measured
