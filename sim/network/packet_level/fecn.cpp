// InfiniBand's forward congestion notification (IBA vol. 1, annex A10; models/network §4): a switch marks packets that leave by
// a lane whose queue is above a threshold, but only where that lane is the root of the congestion. A lane that waits for
// credits itself is a victim of one further on, and marks only where its port is told to (Victim_Mask).
//
// Model: a lane is a victim while its credits do not last for another packet of the same size. Marks are counted by lane, not
// by port; thresholds that depend on the input, and the credit-starvation threshold, are left out.
#include <cstdint>

#include "sim/network/packet_level/packet_network.h"

namespace weft::net {
namespace {

constexpr std::int64_t kWeights = 16;

}  // namespace

// Before the packet's own credits are taken. `queued`: in front of the lane, the packet included.
bool PacketNetwork::marks_forward(std::uint32_t link, const Packet& packet, std::int64_t queued, const FecnSettings& fecn) {
  const auto lane = static_cast<std::size_t>(packet.priority);
  const bool counts_credits = wire_of(link).credits;
  std::int64_t threshold = 0;
  if (fecn.threshold) {
    threshold = fecn.threshold->count();
  } else if (counts_credits && fecn.weight > 0) {
    threshold = (kWeights - fecn.weight) * credits_[link].total * settings_.credits.block.count() / kWeights;
  } else {
    return false;
  }
  if (queued <= threshold || packet.size < fecn.packet_size.count()) return false;
  if (counts_credits && !fecn.victims && credits_[link].blocks[lane] < 2 * blocks_of(packet.size)) return false;
  std::int64_t& unmarked = unmarked_[link][lane];
  if (unmarked < fecn.marking_rate) {
    ++unmarked;
    return false;
  }
  unmarked = 0;
  return true;
}

}  // namespace weft::net
