// Arithmetic of whole numbers that several layers need.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace weft {

// For a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Where row x column is in a table of rows of `columns` each; every number >= 0.
template <std::integral Row, std::integral Columns, std::integral Column>
constexpr std::size_t flat_index(Row row, Columns columns, Column column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
}

// Largest k with 2^k <= n.
constexpr int floor_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1; }

}  // namespace weft
