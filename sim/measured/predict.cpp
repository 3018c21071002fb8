#include "sim/measured/predict.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/point_kind.h"

namespace weft::measured {

Predictions predict_points(const net::Cluster& cluster, const PointLog& log, const PredictOptions& options) {
  Predictions predictions;
  Digest digest;
  std::map<std::string, std::size_t> unknown;
  const PointPlace place{cluster, options};
  for (const MeasuredPoint& measured : log.points) {
    const PointKind* kind = find_point_kind(measured.kind);
    WEFT_CHECK(kind != nullptr && kind->predict != nullptr);  // readers let no other kind through
    for (ValidationPoint& point : kind->predict(place, measured, point_of(*kind, cluster.profile, log, measured))) {
      digest.add(std::llround(point.predicted_us.value_or(-1) * 1e6));
      if (!point.predicted_us) ++unknown[point.not_modelled];
      predictions.points.push_back(std::move(point));
    }
  }
  for (const auto& [reason, count] : unknown)
    predictions.notes.push_back(fmt::format("{} point{} not modelled: {}", count, count == 1 ? "" : "s", reason));
  for (const std::string& skipped : log.skipped) predictions.notes.push_back("not measured: " + skipped);
  predictions.digest = digest.value();
  return predictions;
}

std::vector<ValidationPoint> predict_kernels(const Profile& profile, const KernelLog& log) {
  std::vector<ValidationPoint> points;
  Trial trial{profile, nullptr};
  for (const KernelRow& row : log.kernels) {
    if (!row.us || *row.us <= 0) continue;
    const Sample sample = detail::row_alone(log, row);
    ValidationPoint& point = points.emplace_back(sample.point);
    static_cast<void>(sample.predict(trial, point));
    point.training = profile.trained_on(log.digest, point.kind, 1, point.bytes);
  }
  return points;
}

}  // namespace weft::measured
