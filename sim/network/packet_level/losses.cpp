// Packets that a scenario loses on purpose: by rule, or with a link that fails.
#include <algorithm>

#include "sim/network/packet_level/packet_network.h"
#include "sim/network/packet_level/transport.h"

namespace weft::net {

void PacketNetwork::add_drop_rule(const DropRule& rule, std::optional<std::uint32_t> flow) {
  rules_.push_back({.rule = rule, .flow = flow, .taken = std::vector<bool>(rule.packets.size(), false)});
}

// Rules without a link apply where the packet ends, so that each transmission is judged once.
bool PacketNetwork::ruled_out(const Packet& packet, std::uint32_t link, bool at_end, bool on_link) {
  if (is_of_group(packet.kind)) return false;
  const bool is_data = packet.kind == PacketKind::kData;
  const DropKind kind = is_data ? DropKind::kData : packet.kind == PacketKind::kCnp ? DropKind::kCnps : DropKind::kAcks;
  const Time now = simulator_.now();
  bool lost = false;
  for (Rule& each : rules_) {
    const DropRule& rule = each.rule;
    if (rule.of != kind || (rule.link.valid() ? !on_link || rule.link.value() != link : !at_end)) continue;
    if ((each.flow && *each.flow != packet.flow) || now < rule.from || now >= rule.until) continue;
    const std::int64_t number = is_data ? packet.sequence : each.met++;
    if (rule.every > 0 && !packet.retried && !(is_data && packet.again) && (number + 1) % rule.every == 0) lost = true;
    if (rule.probability > 0 && random(link).chance(rule.probability)) lost = true;
    for (std::size_t i = 0; i < rule.packets.size(); ++i) {
      if (rule.packets[i] != number || each.taken[i]) continue;
      each.taken[i] = true;
      lost = true;
    }
  }
  return lost;
}

// Model: the packet that arrives is cut, never one that waits. Its header waits for nothing of the rest.
bool PacketNetwork::trim(Packet& p) {
  const SwitchSettings& switches = settings_.switches_of(DeviceId{to_[p.ingress.index()]});
  if (!switches.trim_size || p.kind != PacketKind::kData || p.trimmed || !endpoints_->may_be_trimmed(p)) return false;
  p.trimmed = true;
  p.payload = 0;
  p.size = static_cast<std::int32_t>(switches.trim_size->count());
  p.priority = static_cast<std::uint8_t>(switches.trim_priority);
  p.tail = simulator_.now();
  return true;
}

// In the order in which they were sent.
std::vector<PacketId> PacketNetwork::on_wire(LinkId link) const {
  std::vector<PacketId> found;
  for (PacketId packet = 0; packet < packets_.size(); ++packet) {
    const Packet& p = packets_[packet];
    if (p.on_wire && !p.lost && p.ingress == link) found.push_back(packet);
  }
  std::ranges::sort(found, {}, [this](PacketId packet) { return packets_[packet].tail; });
  return found;
}

void PacketNetwork::fail(LinkId id) {
  const std::uint32_t link = id.value();
  Port& port = links_[link].port;
  port.failed = port.guarded = true;
  for (const PacketId packet : on_wire(id)) {
    Packet& p = packets_[packet];
    if (wires_[port.kind].credits) credits_[link].blocks[p.priority] += blocks_of(p.size);
    p.lost = true;  // its arrival, which is pending, destroys it
    ++incidents_[link].drops;
    endpoints_->lost(p, true);
  }
  for (int priority = 0; priority < kPriorities; ++priority) {
    while ((port.waiting & priority_bit(priority)) != 0) {
      const PacketId packet = take_head(link, priority);
      lose(link, packet, packets_[packet]);
    }
  }
  // From now on what its sources have goes out into nothing, so that they notice.
  const PriorityMask before = paused(id);
  port.paused = port.forced = 0;
  if (before != 0) note_pause(link, before);
  try_start(link);
}

// The far end says anew what it has paused.
void PacketNetwork::restore(LinkId id) {
  const std::uint32_t link = id.value();
  links_[link].port.failed = false;
  guard(link);
  for (int priority = 0; priority < kPriorities; ++priority) {
    if (buffers_.pauses(id, priority)) set_paused(link, priority, true);
  }
  try_start(link);
}

}  // namespace weft::net
