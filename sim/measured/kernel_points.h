// Measured kernels of a measurement file as the rows that fit/calibrate.h fits.
#pragma once

#include <string>
#include <vector>

#include "sim/core/product_table.h"
#include "sim/core/profile.h"
#include "sim/measured/readers/kernel_log.h"
#include "sim/measured/readers/point_log.h"

namespace weft::measured {

// Points of kinds gemm, attention and memory that one kernel stands for, in short bursts and longer than the host's launch,
// copies and launches; only those of `record_set`, where one is given. Norms and softmax that `weft measure` has written itself
// are no framework's, and left out. Times are without the gap between kernels, as `profile` has it. ConfigError where the
// file's GPU is none that Weft knows.
[[nodiscard]] KernelLog kernel_log_of(const PointLog& log, const Profile& profile, const std::string& record_set);

// Single products of all logs as a table of one's own, each shape once, by its median: the kernel alone, without the gap before
// it. Of those in a row of nothing else, what the model says that power took is taken off.
[[nodiscard]] std::vector<MeasuredProduct> products_of(const std::vector<PointLog>& logs, const Profile& profile,
                                                       const std::string& record_set);

// Returns the digest by which a profile's list of training data names the points of a record set.
[[nodiscard]] std::string digest_of(const PointLog& log, const std::string& record_set);

}  // namespace weft::measured
