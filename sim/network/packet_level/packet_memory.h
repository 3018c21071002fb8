// Bytes of what packet fidelity holds many of.
#pragma once

#include <cstddef>

namespace weft::net {

struct PacketMemory {
  std::size_t port = 0;
  std::size_t packet = 0;  // with the event that carries it on
  std::size_t queue_pair = 0;
  std::size_t message = 0;  // that waits in it
};
[[nodiscard]] PacketMemory packet_memory();

}  // namespace weft::net
