// InfiniBand's VL arbitration (IBA vol. 1, 7.6.9; models/network §4): which virtual lane a port sends from next. Two tables of
// lanes with weights, each served round robin: an entry's turn lasts until its weight is used up, counted in blocks of 64 B, or
// its lane has nothing to send. The packet that crosses the weight still goes, so that a turn of w bytes sends ceil(w/p)
// packets of p bytes. The high table goes first until it has sent `high_limit` bytes; then the low table has its chance for a
// packet.
//
// Model: lanes that no table lists are served when no listed one can send, the higher number first. Management traffic (VL15)
// is left out. Model: a service level has the same lane on all ports.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/network/packet_level/packet_network.h"

namespace weft::net {
namespace {

constexpr std::int64_t kLaneBlock = 64;  // bytes

PriorityMask lanes_of(const std::vector<LaneTables::Entry>& table) {
  PriorityMask mask = 0;
  for (const LaneTables::Entry& entry : table) {
    if (entry.bytes > 0) mask |= priority_bit(entry.lane);
  }
  return mask;
}

}  // namespace

// `able`: lanes with a packet that may leave, at least one.
int PacketNetwork::choose_lane(std::uint32_t link, const LaneTables& tables, PriorityMask able) {
  LaneTurns& turns = lane_turns_[link];
  const auto size_of = [&](int lane) {
    const std::int64_t size = packets_[links_[link].queues[lane].head].size;
    return (size + kLaneBlock - 1) / kLaneBlock * kLaneBlock;
  };
  // One of the table's lanes is able.
  const auto serve = [&](const std::vector<LaneTables::Entry>& table, LaneTurns::Turn& turn) {
    if (turn.left < 0) turn = {0, table[0].bytes};
    while (true) {
      const LaneTables::Entry& entry = table[turn.entry];
      if (turn.left > 0 && (able & priority_bit(entry.lane)) != 0) {
        turn.left = std::max<std::int64_t>(turn.left - size_of(entry.lane), 0);
        return static_cast<int>(entry.lane);
      }
      turn.entry = (turn.entry + 1) % table.size();
      turn.left = table[turn.entry].bytes;
    }
  };
  const bool high = (able & lanes_of(tables.high)) != 0;
  const bool low = (able & lanes_of(tables.low)) != 0;
  if (high && low && turns.high_sent > 0 && turns.high_sent >= tables.high_limit) {
    turns.high_sent = 0;
    return serve(tables.low, turns.low);
  }
  if (high) {
    const int lane = serve(tables.high, turns.high);
    turns.high_sent = low ? turns.high_sent + packets_[links_[link].queues[lane].head].size : 0;
    return lane;
  }
  turns.high_sent = 0;
  return low ? serve(tables.low, turns.low) : std::bit_width(able) - 1;
}

}  // namespace weft::net
