// The watchdog of a switch against storms of pauses, as SONiC has it: a queue that has packets and has been paused without a
// break for the detection time is in a storm. Until the port has gone the restoration time without a pause, what waits there is
// dropped, and so is what comes.
#include <algorithm>

#include "sim/network/packet_level/packet_network.h"

namespace weft::net {

const WatchdogSettings* PacketNetwork::watchdog_of(std::uint32_t link) const {
  if (watches_.empty() || !wire_of(link).switch_behind) return nullptr;
  const PfcSettings& pfc = settings_.pfc_of(topology_.link(LinkId{link}).from);
  if (pfc.priorities == 0 || !pfc.watchdog) return nullptr;
  const std::vector<DeviceId>& ports = pfc.watchdog->ports;
  const bool watched = ports.empty() || std::ranges::find(ports, DeviceId{to_[link]}) != ports.end();
  return watched ? &*pfc.watchdog : nullptr;
}

void PacketNetwork::watch_pause(std::uint32_t link, PriorityMask before, PriorityMask after) {
  const WatchdogSettings* watchdog = watchdog_of(link);
  if (watchdog == nullptr) return;
  Watch& seen = watches_[link];
  const Time now = simulator_.now();
  for (int priority = 0; priority < kPriorities; ++priority) {
    const PriorityMask bit = priority_bit(priority);
    if (((before ^ after) & bit) == 0) continue;
    seen.changed[static_cast<std::size_t>(priority)] = now;
    seen.idle &= static_cast<PriorityMask>(~bit);
    const bool pauses = (after & bit) != 0;
    if (pauses == ((seen.in_storm & bit) != 0)) continue;
    schedule(now + (pauses ? watchdog->detection : watchdog->restoration), Phase::kAction, EventKind::kWatch, link,
             static_cast<std::uint32_t>(priority));
  }
  guard(link);
}

// One of the two times is over, unless pauses have come or gone since.
void PacketNetwork::watch(std::uint32_t link, int priority) {
  const WatchdogSettings& watchdog = *watchdog_of(link);
  Watch& seen = watches_[link];
  const PriorityMask bit = priority_bit(priority);
  const bool is_paused = (paused(LinkId{link}) & bit) != 0;
  const bool is_in_storm = (seen.in_storm & bit) != 0;
  const Duration since = simulator_.now() - seen.changed[static_cast<std::size_t>(priority)];
  if (is_paused == is_in_storm || since < (is_in_storm ? watchdog.restoration : watchdog.detection)) return;
  if (is_in_storm) {
    seen.in_storm &= static_cast<PriorityMask>(~bit);
    storms_[seen.storm[static_cast<std::size_t>(priority)]].restored = simulator_.now();
  } else if ((links_[link].port.waiting & bit) != 0) {
    begin_storm(link, priority, watchdog);
  } else {
    seen.idle |= bit;
  }
  guard(link);
}

void PacketNetwork::begin_storm(std::uint32_t link, int priority, const WatchdogSettings& watchdog) {
  Watch& seen = watches_[link];
  seen.in_storm |= priority_bit(priority);
  seen.storm[static_cast<std::size_t>(priority)] = static_cast<std::uint32_t>(storms_.size());
  storms_.push_back({.link = LinkId{link}, .priority = priority, .detected = simulator_.now()});
  const std::size_t storm = storms_.size() - 1;
  while (watchdog.drops && (links_[link].port.waiting & priority_bit(priority)) != 0) {
    ++storms_[storm].dropped;
    const PacketId packet = take_head(link, priority);
    const Packet& p = packets_[packet];
    if (p.ingress.valid()) release(p);
    drop(packet, link);
  }
}

void PacketNetwork::guard(std::uint32_t link) {
  Port& port = links_[link].port;
  port.guarded = port.failed || (!watches_.empty() && (watches_[link].in_storm | watches_[link].idle) != 0);
}

bool PacketNetwork::turn_away(std::uint32_t link, PacketId packet, const Packet& p) {
  if (links_[link].port.failed) {
    lose(link, packet, p);
    return true;
  }
  Watch& seen = watches_[link];
  const PriorityMask bit = priority_bit(p.priority);
  const WatchdogSettings& watchdog = *watchdog_of(link);
  if ((seen.in_storm & bit) != 0 && watchdog.drops) {
    ++storms_[seen.storm[p.priority]].dropped;
    if (p.ingress.valid()) release(p);
    drop(packet, link);
    return true;
  }
  if ((seen.idle & bit) != 0) {
    // The first one in a queue that was empty: its own time begins.
    seen.idle &= static_cast<PriorityMask>(~bit);
    seen.changed[p.priority] = simulator_.now();
    schedule(simulator_.now() + watchdog.detection, Phase::kAction, EventKind::kWatch, link, p.priority);
    guard(link);
  }
  return false;
}

}  // namespace weft::net
