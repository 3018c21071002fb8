// Bytes that a fabric holds for each of the things it has many of. Plans of a run's memory ask before there is a fabric.
#pragma once

#include <cstddef>

#include "sim/network/fidelity.h"

namespace weft::net {

struct FabricMemory {
  std::size_t port = 0;
  std::size_t usage = 0;     // a link on a transfer's way
  std::size_t transfer = 0;  // of packets: a queue pair
  std::size_t message = 0;   // that waits in a queue pair
  std::size_t packet = 0;    // with the event that carries it on; 0: there are none
};
// At hybrid fidelity as if all were packets: which part is, depends on the traffic.
[[nodiscard]] FabricMemory fabric_memory(Fidelity fidelity);

}  // namespace weft::net
