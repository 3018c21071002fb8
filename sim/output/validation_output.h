// A validation as files for programs: JSON, and CSV for spreadsheets. The text for a terminal is validation_report.h's, the
// page for people report/validation_page.h's.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/core/profile.h"
#include "sim/core/result_header.h"
#include "sim/measured/predict.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/measured/validation_report.h"

namespace weft::output {

// Says what the profile was fitted on, a line per training log; none where it was not fitted: "all_reduce: 2 parameters (...)
// fitted 2025-11-21 by weft calibrate 0.1.0 on 4 x NVIDIA H200 to all_reduce_4gpu.txt: all_reduce, 4 ranks, 64 MiB, 4 GiB; fit
// error 1 %".
[[nodiscard]] std::vector<std::string> calibration_lines(const Profile& profile);

struct ValidationOutput {
  const ResultHeader& header;
  const net::Cluster& cluster;
  const measured::ValidationReport& report;
  std::vector<std::string> missed;  // limits, a sentence each
};

// Resolved configuration for the header: cluster, logs with their digests and settings, grain. One line of JSON.
[[nodiscard]] std::string validation_configuration(const net::Cluster& cluster,
                                                   const std::vector<measured::Measurement>& measurements,
                                                   const measured::PredictOptions& options);

// Header, calibrations, missed limits, summaries; the points too, unless they are left out.
void write_validation_result(std::ostream& out, const ValidationOutput& output, bool with_points = true);
void write_points_csv(std::ostream& out, const measured::ValidationReport& report);

}  // namespace weft::output
