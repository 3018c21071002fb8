// Deadlock: a cycle of links each of which may not send because the memory behind it is full of packets that wait for the next
// (network-models §2.7). Looked for where a pause has lasted long, and at the end of a run that leaves work undone.
#include <algorithm>

#include "sim/network/packet_level/packet_network.h"

namespace weft::net {

bool PacketNetwork::blocked(LinkId link) const {
  const Port& port = ports_[link.index()];
  if (paused(link) != 0) return true;
  for (int priority = 0; priority < kPriorities; ++priority) {
    const PacketId head = port.queues[static_cast<std::size_t>(priority)].head;
    if (head != kNoPacket && !port.busy && !has_credit(link.value(), priority, packets_[head])) return true;
  }
  return false;
}

std::vector<LinkId> PacketNetwork::held_up_by(LinkId link) const {
  std::vector<LinkId> from;
  for (int priority = 0; priority < kPriorities; ++priority) {
    for (PacketId packet = ports_[link.index()].queues[static_cast<std::size_t>(priority)].head; packet != kNoPacket;
         packet = packets_[packet].next) {
      const LinkId ingress = packets_[packet].ingress;
      if (ingress.valid() && std::ranges::find(from, ingress) == from.end()) from.push_back(ingress);
    }
  }
  return from;
}

// Depth first over "waits for": link a waits for b where packets that came over a stand in front of b, and both are blocked.
void PacketNetwork::look_for_deadlock() {
  if (deadlock_) return;
  std::vector<std::vector<LinkId>> waits_for(ports_.size());
  std::vector<LinkId> blocked_links;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const LinkId link = LinkId::from_index(i);
    if (!blocked(link)) continue;
    blocked_links.push_back(link);
    for (const LinkId before : held_up_by(link)) {
      if (blocked(before)) waits_for[before.index()].push_back(link);
    }
  }
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(ports_.size(), State::kNew);
  struct Frame {
    LinkId link;
    std::size_t next = 0;
  };
  for (const LinkId root : blocked_links) {
    if (state[root.index()] != State::kNew) continue;
    std::vector<Frame> path{{root, 0}};
    state[root.index()] = State::kOpen;
    while (!path.empty()) {
      Frame& top = path.back();
      if (top.next == waits_for[top.link.index()].size()) {
        state[top.link.index()] = State::kDone;
        path.pop_back();
        continue;
      }
      const LinkId next = waits_for[top.link.index()][top.next++];
      if (state[next.index()] == State::kNew) {
        state[next.index()] = State::kOpen;
        path.push_back({next, 0});
      } else if (state[next.index()] == State::kOpen) {
        Deadlock found{.at = simulator_.now(), .links = {}};
        auto first = std::ranges::find(path, next, &Frame::link);
        for (; first != path.end(); ++first) found.links.push_back(first->link);
        deadlock_ = std::move(found);
        return;
      }
    }
  }
  // What is still paused is looked at again as long as anything moves.
  if (!blocked_links.empty() && hops_ != hops_at_check_ && !check_pending_) {
    hops_at_check_ = hops_;
    check_pending_ = true;
    schedule(simulator_.now() + settings_.pfc.deadlock_after, Phase::kSample, EventKind::kDeadlockCheck, 0);
  }
}

}  // namespace weft::net
