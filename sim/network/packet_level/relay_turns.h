// Whose turn it is on a link out of a GPU that relays: its NIC takes what came from other GPUs and what is the GPU's own out of
// one memory, a queue pair after the other. So each flow is an input of its own (input_queues.h). Queue pairs that begin here
// put one packet each in line while others' wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "sim/network/packet_level/packet.h"
#include "sim/network/packet_level/per_priority.h"

namespace weft::net {

class RelayTurns {
 public:
  // The flow's place among the inputs. 0 has what waited before anything was relayed.
  std::uint32_t input_of(const Packet& packet) {
    const std::uint64_t flow = (is_of_group(packet.kind) ? std::uint64_t{1} << 32 : 0) | packet.flow;
    return places_.try_emplace(flow, static_cast<std::uint32_t>(places_.size() + 1)).first->second;
  }
  void add(const Packet& packet) { ++count_of(packet); }
  void remove(const Packet& packet) { --count_of(packet); }

  [[nodiscard]] bool any_relayed(int priority) const { return waiting_[1][static_cast<std::size_t>(priority)] > 0; }
  [[nodiscard]] std::size_t own(int priority) const { return waiting_[0][static_cast<std::size_t>(priority)]; }

 private:
  std::size_t& count_of(const Packet& packet) { return waiting_[packet.ingress.valid() ? 1 : 0][packet.priority]; }

  std::unordered_map<std::uint64_t, std::uint32_t> places_;
  std::array<std::array<std::size_t, kPriorities>, 2> waiting_{};  // packets: of queue pairs that begin here, and relayed
};

}  // namespace weft::net
