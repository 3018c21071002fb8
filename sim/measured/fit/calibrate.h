// Fits parameters of a profile to what was measured, and states what the fitted profile misses on rows it was not fitted to.
//
//   const auto result = calibrate(cluster, set.measurements, {.keys = {"network.nvlink4.efficiency"},
//                                                             .sizes = {64_MiB, 4_GiB}, ...});
//   write_file(path, result->profile.to_yaml());
//
// How a fit goes is fitter.h's business; here it is said what is fitted to what.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/measured/fit/fitter.h"
#include "sim/measured/predict.h"
#include "sim/measured/readers/kernel_log.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/network/cluster.h"

namespace weft::measured {

struct CalibrationOptions {
  std::vector<std::string> keys;  // of the profile's declared groups, bounded by their declared ranges
  std::vector<Bytes> sizes;       // of the training rows, in every log that trains and has them; empty: all its rows
  // Logs that train: patterns of file names ("*quick*"), or names of record sets ("quick"). Empty: all. The others are held
  // out.
  std::vector<std::string> train;
  double prior = 0;         // as FitSettings has it
  Bytes validate_from;      // held-out rows below this are predicted, but not stated
  std::string name;         // of the profile; empty: as it was
  std::string description;  // the same
  std::string id;           // of the calibration; empty: the collectives it was fitted to
  std::string date;
  PredictOptions predict;
};

// To collectives. Training rows are the out-of-place rows of the given sizes; the others are predicted only after the fit, and
// the profile states their error. ConfigError for an unknown key, one that cannot be fitted, a size that no log has, no
// training row. Nothing where the user stopped it.
[[nodiscard]] std::optional<CalibrationResult> calibrate(const net::Cluster& cluster,
                                                         const std::vector<Measurement>& measurements,
                                                         const CalibrationOptions& options);

// To kernels and copies: what each kind of point says is fitted to it (PointKind::fits), kind after kind.
//
// `id_suffix`: behind the calibrations' names, so that values fitted to other logs keep theirs. `cluster`: where copies were
// measured; without it they are left out. ConfigError where the logs are of several GPUs, or of one that nothing is known of.
[[nodiscard]] CalibrationResult calibrate_kernels(const Profile& profile, const std::vector<KernelLog>& logs,
                                                  const std::string& date, const std::string& id_suffix = {},
                                                  const net::Cluster* cluster = nullptr);

}  // namespace weft::measured
