// Pauses on their way to the sender, and the record of how long each lasted.
#include <algorithm>

#include "sim/network/packet_level/packet_network.h"

namespace weft::net {
namespace {

constexpr std::uint32_t kNoRecord = 0;
constexpr std::size_t kMostPauseRecords = 4'000'000;

}  // namespace

// A quantum is 512 bit times of the link (models/network §1.8).
Duration PacketNetwork::pause_time(LinkId link, std::int64_t quanta) const {
  return transmission_time(quanta * Bytes{512 / 8}, topology_.spec(link).rate);
}

void PacketNetwork::send_pause(LinkId ingress, int priority, bool on) {
  const PfcSettings& pfc = settings_.pfc_of(topology_.link(ingress).to);
  const LinkId back = topology_.link(ingress).twin;
  const Wire& wire = wire_of(back.value());
  Time at = simulator_.now();
  if (pfc.frame > Bytes{}) {
    if (links_[back.index()].port.busy) at = std::max(at, links_[back.index()].port.free_at);
    at += Duration::from_ps(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(pfc.frame.count()) * kBitPicoseconds / wire.rate));
  }
  at += Duration::from_ps(wire.latency) + pfc.response;
  schedule_at_port(at, Phase::kCompletion, EventKind::kPause, ingress.value(),
                   static_cast<std::uint32_t>(priority) << 1 | static_cast<std::uint32_t>(on));
  if (!on || pfc.quanta == 0 || pfc.refresh == Duration::max()) return;
  const bool stated = pfc.refresh > Duration{};
  const Time again = simulator_.now() + (stated ? pfc.refresh : Duration::from_ps(pause_time(ingress, pfc.quanta).ps() / 2));
  refreshes_[place_of(ingress.value(), priority)] = again;
  schedule(again, Phase::kAction, EventKind::kRefresh, ingress.value(), static_cast<std::uint32_t>(priority));
}

// Unless it has resumed the sender since, or paused it anew.
void PacketNetwork::refresh(std::uint32_t link, int priority) {
  if (refreshes_[place_of(link, priority)] != simulator_.now() || !buffers_.pauses(LinkId{link}, priority)) return;
  send_pause(LinkId{link}, priority, true);
}

// The sender's clock: a later frame of the far end has set it anew.
void PacketNetwork::expire(std::uint32_t link, int priority) {
  if (expiries_[place_of(link, priority)] == simulator_.now()) set_paused(link, priority, false);
}

void PacketNetwork::set_paused(std::uint32_t link, int priority, bool on) {
  const PriorityMask before = paused(LinkId{link});
  Port& port = links_[link].port;
  if (port.failed) return;
  const PriorityMask bit = priority_bit(priority);
  port.paused = static_cast<PriorityMask>(on ? port.paused | bit : port.paused & ~bit);
  if (const std::int64_t quanta = on && !expiries_.empty() ? settings_.pfc_of(DeviceId{to_[link]}).quanta : 0; quanta > 0) {
    const Time end = simulator_.now() + pause_time(LinkId{link}, quanta);
    expiries_[place_of(link, priority)] = end;
    schedule(end, Phase::kDelivery, EventKind::kExpiry, link, static_cast<std::uint32_t>(priority));
  }
  note_pause(link, before);
  if (!on) try_start(link);
}

void PacketNetwork::note_pause(std::uint32_t link, PriorityMask before) {
  const PriorityMask after = paused(LinkId{link});
  if (open_pauses_.empty()) open_pauses_ = LazyArray<std::array<std::uint32_t, kPriorities>>{links_.size()};
  Incidents& incidents = incidents_[link];
  const Time now = simulator_.now();
  if (before == 0 && after != 0) incidents.paused_since = now.ps();
  if (before != 0 && after == 0) incidents.paused += now.ps() - incidents.paused_since;
  for (int priority = 0; priority < kPriorities; ++priority) {
    const PriorityMask bit = priority_bit(priority);
    std::uint32_t& record = open_pauses_[link][static_cast<std::size_t>(priority)];
    if ((after & bit) != 0 && (before & bit) == 0 && pauses_.size() < kMostPauseRecords) {
      pauses_.push_back({LinkId{link}, priority, now, Time::max()});
      record = static_cast<std::uint32_t>(pauses_.size());
    } else if ((after & bit) == 0 && (before & bit) != 0 && record != kNoRecord) {
      pauses_[record - 1].end = now;
      record = kNoRecord;
    }
  }
  if (!watches_.empty()) watch_pause(link, before, after);
  // A part sees but a part of a cycle: what stays blocked is found at the end of the run (parted_fabric.h).
  if (after != 0 && !check_pending_ && !deadlock_ && mail_ == nullptr) {
    check_pending_ = true;
    schedule(now + settings_.pfc.deadlock_after, Phase::kSample, EventKind::kDeadlockCheck, 0);
  }
}

void PacketNetwork::force_pause(const ForcedPause& pause) {
  forced_pauses_.push_back(pause);
  schedule(pause.at, Phase::kDelivery, EventKind::kForced, pause.link.value());
  if (pause.duration != Duration::max()) {
    schedule(pause.at + pause.duration, Phase::kDelivery, EventKind::kForced, pause.link.value());
  }
}

// All forced pauses of the link that last now: they may overlap.
void PacketNetwork::set_forced(std::uint32_t link) {
  const Time now = simulator_.now();
  const PriorityMask before = paused(LinkId{link});
  PriorityMask forced = 0;
  for (const ForcedPause& pause : forced_pauses_) {
    if (pause.link.value() != link || now < pause.at) continue;
    if (pause.duration != Duration::max() && now >= pause.at + pause.duration) continue;
    forced |= pause.priority < 0 ? PriorityMask{0xFF} : priority_bit(pause.priority);
  }
  links_[link].port.forced = forced;
  note_pause(link, before);
  try_start(link);
}

}  // namespace weft::net
