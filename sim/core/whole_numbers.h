// Arithmetic of whole numbers that several layers need.
#pragma once

#include <bit>
#include <cstdint>

namespace weft {

// For a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Largest k with 2^k <= n.
constexpr int floor_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1; }

}  // namespace weft
