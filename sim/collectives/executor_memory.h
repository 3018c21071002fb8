// Bytes of what an executor holds many of, at most; executor_paths.cpp checks them against its structures.
#pragma once

#include <cstddef>

namespace weft::coll {

inline constexpr std::size_t kConnectionBytes = 48 + 24;  // and its place in the map of connections
inline constexpr std::size_t kLaneBytes = 376;

}  // namespace weft::coll
