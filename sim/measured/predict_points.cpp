#include "sim/measured/predict_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/core/digest.h"
#include "sim/measured/kernel_points.h"
#include "sim/measured/point_models.h"

namespace weft::measured {
namespace {

using detail::PointAnswer;

std::string shape_text(const MeasuredPoint& point) {
  if (point.kind == "gemm") {
    return fmt::format("{}{} x {} x {} {}{}", point.batch > 1 ? fmt::format("{} x ", point.batch) : "", point.m, point.n,
                       point.k, point.type, point.sustained ? ", sustained" : "");
  }
  if (point.kind == "attention") return fmt::format("{}: {} x {} x {}", point.what, point.batch, point.m, point.k);
  if (point.kind == "copy") {
    const bool alone = point.transfers.size() == 1;
    const auto name = [](int end) { return end == kHostMemory ? std::string{"host"} : std::to_string(end); };
    const std::string ways =
        alone ? fmt::format(" {}>{}", name(point.transfers.front().first), name(point.transfers.front().second))
              : fmt::format(" of {}", point.transfers.size());
    return fmt::format("{}{}, {}", point.pattern, point.transfers.empty() ? "" : ways, point.what);
  }
  if (point.kind == "launch" && point.count > 1) return fmt::format("{} of {}", point.what, point.count);
  return point.what;
}

// "h2d, 4 at once".
std::string copies_text(const MeasuredPoint& point) {
  std::string text = point.pattern;
  if (point.transfers.size() > 1) text += fmt::format(", {} at once", point.transfers.size());
  return detail::is_by_engine(point) ? text : text + ", by SMs";
}

// Read, written and multiplied: what a roofline's other axis counts.
Bytes size_of(const MeasuredPoint& point) {
  if (point.kind != "gemm" && point.kind != "attention") return point.bytes;
  const std::int64_t width = point.type == "fp8" ? 1 : point.type == "tf32" || point.type == "fp32" ? 4 : 2;
  if (point.kind == "attention") return Bytes{4 * width * point.batch * point.m * point.k};
  return Bytes{width * point.batch * (point.m * point.k + point.k * point.n + point.m * point.n)};
}

ValidationPoint point_of(const net::Cluster& cluster, const PointLog& log, const MeasuredPoint& point) {
  ValidationPoint made;
  made.file = log.file;
  made.kind = point.kind;
  made.ranks = std::max(point.ranks, static_cast<int>(point.transfers.size()));
  made.nodes = 1;
  made.bytes = size_of(point);
  made.algorithm = shape_text(point);
  made.configuration = point.kind == "copy" ? copies_text(point) : point.what;
  made.measured_us = point.median_us;
  made.measured_low_us = point.low_us;
  made.measured_high_us = point.high_us;
  made.training = cluster.profile.trained_on(digest_of(log, point.record_set), point.kind, 1, made.bytes) ||
                  cluster.profile.trained_on(log.digest, point.kind, 1, made.bytes);
  return made;
}

void take_answer(PointAnswer answer, ValidationPoint& point) {
  point.predicted_us = answer.us;
  point.flops = answer.flops;
  point.precision = answer.precision;
  point.is_cpu_time = answer.host_bound;
  point.not_modelled = std::move(answer.why_not);
}

// "all_reduce beside gemm", a point each.
void add_overlap(const net::Cluster& cluster, const PointLog& log, const MeasuredPoint& point, std::vector<PointAnswer> answers,
                 std::vector<ValidationPoint>& points) {
  if (point.parts.empty()) {
    points.push_back(point_of(cluster, log, point));
    take_answer(std::move(answers.front()), points.back());
    return;
  }
  for (std::size_t i = 0; i < point.parts.size(); ++i) {
    const OverlapPart& part = point.parts[i];
    ValidationPoint made = point_of(cluster, log, point);
    made.bytes = part.bytes;
    made.algorithm = part.groups.empty() ? part.op : fmt::format("{} in {} groups", part.op, part.groups.size());
    for (std::size_t j = 0; j < point.parts.size(); ++j) {
      if (j != i) made.algorithm += " beside " + point.parts[j].op;
    }
    if (point.what == "collective_in_graph") made.algorithm += " in a CUDA graph";
    made.measured_us = part.median_us > 0 ? part.median_us : point.median_us;
    made.measured_low_us = part.shortest_us;
    made.measured_high_us = part.longest_us;
    take_answer(std::move(answers[i]), made);
    points.push_back(std::move(made));
  }
}

}  // namespace

Predictions predict_points(const net::Cluster& cluster, const PointLog& log, const PredictOptions& options) {
  Predictions predictions;
  Digest digest;
  std::map<std::string, std::size_t> unknown;
  for (const MeasuredPoint& point : log.points) {
    const std::size_t before = predictions.points.size();
    if (point.kind == "overlap") {
      add_overlap(cluster, log, point, detail::predict_overlap(cluster, point, options), predictions.points);
    } else {
      predictions.points.push_back(point_of(cluster, log, point));
      take_answer(point.kind == "copy"     ? detail::predict_copy(cluster, cluster.profile, point, options)
                  : point.kind == "nic"    ? detail::predict_nic(cluster, point, options)
                  : point.kind == "launch" ? detail::predict_launch(cluster, point)
                                           : detail::predict_kernel(cluster, point),
                  predictions.points.back());
    }
    for (std::size_t i = before; i < predictions.points.size(); ++i) {
      const ValidationPoint& made = predictions.points[i];
      digest.add(std::llround(made.predicted_us.value_or(-1) * 1e6));
      if (!made.predicted_us) ++unknown[made.not_modelled];
    }
  }
  for (const auto& [reason, count] : unknown)
    predictions.notes.push_back(fmt::format("{} point{} not modelled: {}", count, count == 1 ? "" : "s", reason));
  for (const std::string& skipped : log.skipped) predictions.notes.push_back("not measured: " + skipped);
  predictions.digest = digest.value();
  return predictions;
}

}  // namespace weft::measured
