// Fits the gpu.* parameters of a profile to measured kernels: each class of kernels to its own rows, then what collectives cost
// them, then the clocks; and copies. What is fitted to what is the table of fits in the .cpp.
//
// Model: kernels are fitted at full clock, as what a row calls `us`; in `gpu.contention` a kernel that was never seen alone is
// compared with the fitted rule.
#pragma once

#include <string>
#include <vector>

#include "sim/core/profile.h"
#include "sim/measured/fit/calibrate.h"
#include "sim/measured/readers/kernel_log.h"
#include "sim/network/cluster.h"

namespace weft::measured {

// One class of parameters, and what it was fitted to.
struct KernelFit {
  std::string id;  // of the calibration in the profile
  std::vector<FittedParameter> parameters;
  std::vector<std::vector<double>> correlations;  // of parameters, in their order; 0 between those not fitted together
  std::vector<ValidationPoint> training;
  ErrorSummary before;
  ErrorSummary after;
};

struct KernelCalibration {
  Profile profile;
  std::vector<KernelFit> fits;
  std::vector<std::string> warnings;
};

// `id_suffix`: behind the calibrations' names, so that values fitted to other logs keep theirs. ConfigError where the logs are
// of several GPUs, or of one that nothing is known of. `cluster`: where copies were measured; without it they are left out.
// Deterministic.
[[nodiscard]] KernelCalibration calibrate_kernels(const Profile& profile, const std::vector<KernelLog>& logs,
                                                  const std::string& date, const std::string& id_suffix = {},
                                                  const net::Cluster* cluster = nullptr);

// Every row as a point, predicted with the profile: alone as gemm, attention, memory or optimizer.
[[nodiscard]] std::vector<ValidationPoint> predict_kernels(const Profile& profile, const KernelLog& log);

}  // namespace weft::measured
