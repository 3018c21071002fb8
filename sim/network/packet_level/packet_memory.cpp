// A packet fabric tells what it held when it held most, when it ends (sim/core/memory.h).
#include "sim/core/memory.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {

void PacketNetwork::note_memory() const {
  const auto size_of = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  const std::size_t more = size_of(loads_) + size_of(credits_) + size_of(input_) + size_of(inputs_) + size_of(deficits_) +
                           size_of(lane_turns_) + size_of(unmarked_) + size_of(random_) + size_of(open_pauses_) +
                           size_of(expiries_) + size_of(refreshes_);
  weft::note_memory(MemoryKind::kPort, {links_.size(), links_.capacity() * kPortBytes + more});
  weft::note_memory(MemoryKind::kPacket, {packets_.size(), packets_.size() * kPacketBytes + size_of(telemetry_)});
}

void Transport::note_memory() const {
  std::size_t paths = footprints_.capacity() * sizeof(Footprint);
  for (const Footprint& path : footprints_) {
    paths += path.usages.capacity() * sizeof(Usage) + path.paths.capacity() * sizeof(PathEnds);
  }
  weft::note_memory(MemoryKind::kTransfer,
                    {pairs_.size(), paths + pairs_.size() * (sizeof(QueuePair) + sizeof(std::uint32_t)) +
                                        ends_.capacity() * sizeof(Ends) + messages_.capacity() * sizeof(Message)});
}

}  // namespace weft::net
