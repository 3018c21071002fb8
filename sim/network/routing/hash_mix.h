// Mixing of the bits of a hash (splitmix64's finaliser). Both fidelities take their choices from it.
#pragma once

#include <cstdint>

namespace weft::net {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E37'79B9'7F4A'7C15;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EB;
  return x ^ (x >> 31);
}

}  // namespace weft::net
