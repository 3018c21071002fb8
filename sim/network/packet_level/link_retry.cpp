// Link-level retry (LLR) of Ultra Ethernet: a link that loses a frame sends it again, and all behind it, in their order, so
// that nobody else hears of the loss.
//
// The far end misses the frame at its arrival, and says so. After one latency the sender stops, and sends again what it has
// sent since: so everything from the lost frame on comes later by a round trip of the link, which is two latencies and a full
// frame.
//
// Model: the replayed frames take the time of the link, but are not counted as sent again in its bytes. A frame that is sent
// again may be lost again by chance, never by number. A buffer for the replay is as large as need be.
#include <algorithm>

#include "sim/network/packet_level/packet_network.h"

namespace weft::net {

bool PacketNetwork::is_retried(LinkId link) const {
  return settings_.link_retry && topology_.spec(link).type != "infiniband" && !is_inside_host(topology_, link);
}

// It is lost now.
void PacketNetwork::retry(PacketId packet, Packet& p, std::uint32_t link) {
  if (retries_.empty()) retries_.resize(links_.size());
  const Wire& wire = wire_of(link);
  const Time now = simulator_.now();
  Retry& retry = retries_[link];
  retry.delay = Duration::from_ps(2 * wire.latency + wire.usual[0].ps);
  retry.until = now + retry.delay;
  p.retried = true;
  schedule(now + Duration::from_ps(wire.latency), Phase::kCompletion, EventKind::kRetry, link, 1);
  --p.hop;
  p.on_wire = true;
  p.tail += retry.delay;
  p.at = retry.until;
  schedule(p.at, Phase::kDelivery, EventKind::kArrival, packet);
}

// Whether it comes behind one that is sent again.
bool PacketNetwork::comes_later(PacketId packet, Packet& p, std::uint32_t link) {
  const Retry& retry = retries_[link];
  const Time now = simulator_.now();
  if (p.retried || now > retry.until || retry.until == Time{}) return false;
  --p.hop;
  p.on_wire = true;
  p.tail += retry.delay;
  p.at = now + retry.delay;
  schedule(p.at, Phase::kDelivery, EventKind::kArrival, packet);
  return true;
}

// New frames come behind what is sent again.
void PacketNetwork::hold_for_retry(std::uint32_t link, bool begins) {
  Port& port = links_[link].port;
  port.retries = begins;
  if (begins) {
    const Time now = simulator_.now();
    const Time end = port.busy ? std::max(port.free_at, now) : now;
    schedule(end + retries_[link].delay, Phase::kCompletion, EventKind::kRetry, link, 0);
    return;
  }
  port.last_at += retries_[link].delay;
  try_start(link);
}

}  // namespace weft::net
