// Deadlock: a cycle of links each of which may never send again, because the memory behind it is full of packets that wait for
// the next (models/network §2.7). Looked for where a pause has lasted long, and at the end of a run that leaves work undone.
//
// Most cycles of pauses dissolve, since part of what fills a memory can leave by other links. So the links are found first that
// stay blocked even if everything leaves that can: from those blocked now, whichever would be resumed then is taken out, until
// none is left to take out. A cycle among the rest is a deadlock. Pauses that a scenario forces are taken to end.
#include <algorithm>

#include "sim/network/link_cycle.h"
#include "sim/network/packet_level/packet_network.h"

namespace weft::net {
namespace {

// A link at one priority: link x kPriorities + priority.
using Node = std::size_t;

// Packets that came over `came` and stand in front of `in_front_of`.
struct Hold {
  Node in_front_of = 0;
  Node came = 0;
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;
};

}  // namespace

bool PacketNetwork::starved(std::uint32_t link, int priority, std::int64_t blocks) const {
  const PacketId head = links_[link].queues[priority].head;
  return wire_of(link).credits && head != kNoPacket && blocks < blocks_of(packets_[head].size);
}

void PacketNetwork::look_for_deadlock() {
  if (deadlock_) return;
  std::vector<Node> blocked;
  for (std::uint32_t link = 0; link < links_.size(); ++link) {
    for (int priority = 0; priority < kPriorities; ++priority) {
      const auto p = static_cast<std::size_t>(priority);
      if (const WatchdogSettings* watchdog = watchdog_of(link); watchdog != nullptr && watchdog->drops) continue;
      if ((links_[link].port.paused & priority_bit(priority)) != 0 ||
          (wire_of(link).credits && !links_[link].port.busy && starved(link, priority, credits_[link].blocks[p])))
        blocked.push_back(link * kPriorities + p);
    }
  }
  if (blocked.empty()) return;
  std::vector<Hold> holds;
  for (const Node node : blocked) {
    for_each_waiting(static_cast<std::uint32_t>(node / kPriorities), node % kPriorities, [&](const Packet& packet) {
      if (!packet.ingress.valid()) return;
      holds.push_back({node, packet.ingress.index() * kPriorities + packet.priority, packet.size,
                       blocks_of(size_over(packet.ingress, packet))});
    });
  }

  std::vector<bool> stuck(links_.size() * kPriorities, false);
  for (const Node node : blocked) stuck[node] = true;
  std::vector<std::int64_t> bytes;
  std::vector<std::int64_t> blocks;
  for (bool changed = true; changed;) {
    changed = false;
    bytes.assign(stuck.size(), 0);
    blocks.assign(stuck.size(), 0);
    for (const Hold& hold : holds) {
      if (!stuck[hold.in_front_of]) continue;
      bytes[hold.came] += hold.bytes;
      blocks[hold.came] += hold.blocks;
    }
    const std::vector<std::int64_t> shared = buffers_.shared_of_held(bytes);
    for (const Node node : blocked) {
      if (!stuck[node]) continue;
      const auto link = static_cast<std::uint32_t>(node / kPriorities);
      const auto priority = static_cast<int>(node % kPriorities);
      const bool stays_paused = (links_[link].port.paused & priority_bit(priority)) != 0 &&
                                !buffers_.resumes_at(LinkId{link}, bytes[node], shared[to_[link]]);
      if (stays_paused || (wire_of(link).credits && starved(link, priority, credits_[link].total - blocks[node]))) continue;
      stuck[node] = false;
      changed = true;
    }
  }

  std::erase_if(blocked, [&](Node node) { return !stuck[node]; });
  std::vector<std::vector<Node>> waits_for(stuck.size());
  for (const Hold& hold : holds) {
    if (stuck[hold.came] && stuck[hold.in_front_of]) waits_for[hold.came].push_back(hold.in_front_of);
  }
  const std::vector<Node> cycle = find_cycle(blocked, waits_for);
  if (cycle.empty()) return;
  deadlock_ = Deadlock{.at = simulator_.now(), .links = {}};
  for (const Node node : cycle) deadlock_->links.push_back(LinkId::from_index(node / kPriorities));
}

// Links that are still paused are looked at again as long as anything moves.
void PacketNetwork::check_for_deadlock() {
  check_pending_ = false;
  look_for_deadlock();
  const bool any = any_paused();
  if (deadlock_ || !any || hops_ == hops_at_check_) return;
  hops_at_check_ = hops_;
  check_pending_ = true;
  schedule(simulator_.now() + settings_.pfc.deadlock_after, Phase::kSample, EventKind::kDeadlockCheck, 0);
}

}  // namespace weft::net
