// Measured kernels of a measurement file as the rows that fit/calibrate.h fits.
#pragma once

#include <string>

#include "sim/core/profile.h"
#include "sim/measured/readers/kernel_log.h"
#include "sim/measured/readers/point_log.h"

namespace weft::measured {

// Points of kinds gemm, attention and memory that one kernel stands for, in short bursts and longer than the host's launch, and
// copies; only those of `record_set`, where one is given. Times are without the gap between kernels, as `profile` has it.
// ConfigError where the file's GPU is none that Weft knows.
[[nodiscard]] KernelLog kernel_log_of(const PointLog& log, const Profile& profile, const std::string& record_set);

// Returns the digest by which a profile's list of training data names the points of a record set.
[[nodiscard]] std::string digest_of(const PointLog& log, const std::string& record_set);

}  // namespace weft::measured
