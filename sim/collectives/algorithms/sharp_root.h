// The head that stands for SHARP's switches in a CollNet all-reduce: it has the network's switches add up what the other heads
// send, adds what its own node holds, and has them copy the total to the other heads. Its NIC sends and receives each byte
// once, as every head's does with SHARP. Private to algorithms/.
//
// Model: SHARP's total goes from the switch to all heads at once; here it passes through one of them, one message later.
#pragma once

#include <span>

#include "sim/collectives/algorithms/steps.h"

namespace weft::coll {

struct SharpRoot {
  Peers local;                     // who on the node gives its share to this head, and takes the total from it
  std::span<const Rank> others;    // the heads of the other nodes
  std::uint8_t up_connection = 0;  // on which `local` send; they take on 0

  // For each chunk: add up the node; add what the switches added up; have them copy the total; pass it on in the node. What
  // has no peer falls away.
  [[nodiscard]] int steps() const {
    if (others.empty()) return 1;
    return local.empty() ? 2 : 4;
  }

  [[nodiscard]] Step step(const Part& chunk, int phase) const {
    Step step = step_of(chunk.bytes);
    const bool first = phase == 0;
    const int switch_phase = local.empty() ? 0 : 1;
    if (others.empty() || (first && !local.empty())) {
      step.receive_from = local;
      step.receive_connection = up_connection;
      read_from(step, Buffer::kInput, chunk.offset);
      keep_at(step, others.empty() ? Buffer::kOutput : Buffer::kScratch, chunk.offset);
      if (others.empty()) step.send_to = local;
    } else if (phase == switch_phase) {
      add_up_in_switch(step, others);
      read_from(step, first ? Buffer::kInput : Buffer::kScratch, chunk.offset);
      keep_at(step, Buffer::kOutput, chunk.offset);
    } else {
      read_from(step, Buffer::kOutput, chunk.offset);
      if (phase == switch_phase + 1) {
        multicast(step, others);
      } else {
        step.send_to = local;
      }
    }
    return step;
  }
};

}  // namespace weft::coll
