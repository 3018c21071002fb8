// Values of a profile's parameters as plain numbers, which is what a fit moves, and back.
#pragma once

#include "sim/core/profile.h"

namespace weft {

// In the smallest unit: picoseconds, bytes, bits per second.
[[nodiscard]] double number_of(const ParamValue& value);
// Returns `number` in the type of `like`, rounded to its unit.
[[nodiscard]] ParamValue value_of(const ParamValue& like, double number);

// The value of a parameter that is nearest to `number` within its range.
[[nodiscard]] ParamValue value_within(const ParamInfo& info, double number);

// Where a search begins that the value itself, 0, gives no scale for: 1 us, 1 KiB, 1 GB/s, 1.
[[nodiscard]] double typical_number(const ParamValue& like);

// Six significant digits: more than any measurement holds, and few enough to hide a compiler's last bits. Not negative.
[[nodiscard]] double rounded_number(double number);

}  // namespace weft
