// The kinds that kinds.def lists, declared.
#pragma once

#include "sim/measured/point_kind.h"

namespace weft::measured {

#define WEFT_POINT_KIND(name) extern const PointKind name;
#include "sim/measured/kinds/kinds.def"
#undef WEFT_POINT_KIND

}  // namespace weft::measured
