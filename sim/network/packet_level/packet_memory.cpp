// A packet fabric tells what it held when it held most (sim/core/memory.h).
#include "sim/core/memory.h"
#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {

namespace {

void add_to(std::span<HeldMemory, kMemoryKinds> held, MemoryKind kind, std::size_t count, std::size_t bytes) {
  HeldMemory& all = held[static_cast<std::size_t>(kind)];
  all.count += count;
  all.bytes += bytes;
}

}  // namespace

void PacketNetwork::add_held(std::span<HeldMemory, kMemoryKinds> held) const {
  const auto size_of = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  std::size_t ports = 0;
  std::size_t with_credits = 0;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (!begins_here(LinkId{i})) continue;
    ++ports;
    if (!inputs_.empty() && inputs_[i] != nullptr) ++with_credits;
  }
  const std::size_t of_each = (inputs_.empty() ? 0 : sizeof(inputs_[0])) +
                              (open_pauses_.empty() ? 0 : sizeof(open_pauses_[0])) +
                              (expiries_.empty() ? 0 : 2 * kPriorities * sizeof(Time)) + (watches_.empty() ? 0 : sizeof(Watch));
  const std::size_t more = ports * of_each + with_credits * (sizeof(Credits) + sizeof(Inputs) + sizeof(turns_[0])) +
                           size_of(loads_) + size_of(input_) + size_of(deficits_) + size_of(lane_turns_) + size_of(unmarked_) +
                           size_of(random_);
  add_to(held, MemoryKind::kPort, ports, ports * kPortBytes + more);
  add_to(held, MemoryKind::kPacket, packets_.size(), packets_.size() * kPacketBytes + size_of(telemetry_));
}

void Transport::add_held(std::span<HeldMemory, kMemoryKinds> held) const {
  std::size_t paths = own_footprints_.capacity() * sizeof(Footprint);
  for (const Footprint& path : own_footprints_) {
    paths += path.usages.capacity() * sizeof(Usage) + path.paths.capacity() * sizeof(PathEnds);
  }
  std::size_t made = 0;
  for (const auto& pair : pairs_) made += pair != nullptr ? 1U : 0U;
  add_to(held, MemoryKind::kTransfer, made,
         paths + made * sizeof(QueuePair) + pairs_.size() * sizeof(std::uint32_t) + own_ends_.capacity() * sizeof(FlowEnds) +
             messages_.capacity() * sizeof(Message));
}

}  // namespace weft::net
