// The readers that formats.def lists, declared.
#pragma once

#include "sim/measured/readers/point_log.h"

namespace weft::measured {

#define WEFT_FORMAT(name) extern const MeasurementFormat name;
#include "sim/measured/readers/formats.def"
#undef WEFT_FORMAT

}  // namespace weft::measured
