// Times since the start.
#pragma once

#include "sim/core/units.h"

namespace weft::testing {

constexpr Time at(Duration since_start) { return Time{} + since_start; }

}  // namespace weft::testing
