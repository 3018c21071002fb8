// Points of a validation as charts: which points stand together, and what is drawn of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/measured/validation_report.h"
#include "sim/output/report/chart.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::output::detail {

// Points of one file, collective and configuration, which make one curve; in the order of the report.
struct CurveGroup {
  std::string file;  // without its folder
  std::string collective;
  std::string configuration;
  int ranks = 0;
  std::vector<const measured::ValidationPoint*> points;  // out of place, predicted, of more than 0 bytes
};
[[nodiscard]] std::vector<CurveGroup> curves_of(const measured::ValidationReport& report);

[[nodiscard]] std::string base_name(const std::string& path);
// "all_reduce 1 MiB: measured 12.3 us, predicted 12.1 us (-1.6 %)".
[[nodiscard]] std::string note_of(const measured::ValidationPoint& point);

[[nodiscard]] XyChart bandwidth_chart(const CurveGroup& group);
[[nodiscard]] XyChart time_chart(const CurveGroup& group);
// Error over size of all groups of one collective.
[[nodiscard]] XyChart error_chart(const std::string& title, const std::vector<const CurveGroup*>& groups);
// A row per file.
[[nodiscard]] StripChart error_strips(const measured::ValidationReport& report);
// Draws predicted time over measured time for points of one kind, with a line where they are equal.
[[nodiscard]] XyChart agreement_chart(const std::string& title, const std::vector<const measured::ValidationPoint*>& points);
// Error of each point over `x`: its bytes or its operations.
[[nodiscard]] XyChart kind_error_chart(const std::string& title, const std::vector<const measured::ValidationPoint*>& points,
                                       bool by_flops);

// FLOP/s over FLOPs per byte, under what the GPU's data sheet allows of each precision among the points.
struct Roofs {
  double bytes_per_second = 0;
  std::map<work::Precision, double> flops_per_second = {};
};
// Returns roofs for the precisions that points have.
[[nodiscard]] Roofs roofs_of(const work::GpuSpec& gpu, const std::vector<const measured::ValidationPoint*>& points);
[[nodiscard]] XyChart roofline_chart(const std::vector<const measured::ValidationPoint*>& points, const Roofs& roofs);
// Draws the points that have a roof.
[[nodiscard]] XyChart efficiency_chart(const std::vector<const measured::ValidationPoint*>& points, const Roofs& roofs);
// Bandwidth of copies over size, measured and predicted by pattern.
[[nodiscard]] XyChart copy_chart(const std::vector<const measured::ValidationPoint*>& points);
// Measured and predicted side by side, a row a point.
[[nodiscard]] BarChart pair_bars(const std::string& title, const std::vector<const measured::ValidationPoint*>& points);

}  // namespace weft::output::detail
