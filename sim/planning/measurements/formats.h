// The readers that formats.def lists, declared.
#pragma once

#include "sim/planning/measurements/point_log.h"

namespace weft::plan {

#define WEFT_FORMAT(name) extern const MeasurementFormat name;
#include "sim/planning/measurements/formats.def"
#undef WEFT_FORMAT

}  // namespace weft::plan
