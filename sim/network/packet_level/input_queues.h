// Packets that wait for one output at one priority, in a queue for each input that they came over. The inputs that have any are
// served in turn, a packet of each, as the arbiters of NVSwitches, PCIe switches and InfiniBand switches do
// (models/network §2.1): a share of the output then depends on how many inputs want it, not on how many credits each has.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/packet_level/packet.h"

namespace weft::net {

class InputQueues {
 public:
  // Returns the first packet of the input whose turn it is; kNoPacket where nothing waits.
  [[nodiscard]] PacketId head() const { return turn_ == kNone ? kNoPacket : inputs_[turn_].head; }

  // An input that had nothing is the last to be served.
  void push(PacketStore& packets, std::uint32_t input, PacketId packet) {
    if (inputs_.size() <= input) inputs_.resize(input + 1);
    Input& queue = inputs_[input];
    packets[packet].next = kNoPacket;
    if (queue.head == kNoPacket) {
      queue.head = packet;
      line_up(input);
    } else {
      packets[queue.tail].next = packet;
    }
    queue.tail = packet;
  }

  // Takes head() out; its input goes to the end of the line.
  void pop(const PacketStore& packets) {
    const std::uint32_t input = turn_;
    turn_ = inputs_[input].behind;
    inputs_[input].head = packets[inputs_[input].head].next;
    if (inputs_[input].head != kNoPacket) line_up(input);
  }

  // In no order that matters. `visit` may not change the queues.
  template <typename Visit>
  void for_each(const PacketStore& packets, Visit visit) const {
    for (const Input& input : inputs_) {
      for (PacketId id = input.head; id != kNoPacket; id = packets[id].next) visit(packets[id]);
    }
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  struct Input {
    PacketId head = kNoPacket;
    PacketId tail = kNoPacket;
    std::uint32_t behind = kNone;  // the input served after it
  };

  void line_up(std::uint32_t input) {
    inputs_[input].behind = kNone;
    (turn_ == kNone ? turn_ : inputs_[last_].behind) = input;
    last_ = input;
  }

  std::vector<Input> inputs_;  // as many as have been seen
  std::uint32_t turn_ = kNone;
  std::uint32_t last_ = kNone;
};

}  // namespace weft::net
