// The rows of measured logs, by whether a fit may see them.
#pragma once

#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/measured/readers/measurement_set.h"

namespace weft::measured {

// Rows of one log that count, out of place.
struct SplitLog {
  std::string digest;  // of the whole log
  Measurement training;
  Measurement held_out;
};

// `sizes` and `train` as CalibrationOptions has them. ConfigError where a size or a log that is to train is in none of the
// logs.
[[nodiscard]] std::vector<SplitLog> split_logs(const std::vector<Measurement>& measurements, const std::vector<Bytes>& sizes,
                                               const std::vector<std::string>& train);

}  // namespace weft::measured
