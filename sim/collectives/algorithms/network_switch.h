// Steps of collectives that the network's switches add up and copy (SHARP). Of the heads that take part one stands for the
// switches: a lane of its own does what they do, while its other lanes are a head like the others. Its NIC sends and receives
// each byte once, as every head's does with SHARP. Private to algorithms/.
//
// Model: a sum passes through the head that stands for the switches, not from the topmost switch to all heads at once.
#pragma once

#include <span>

#include "sim/collectives/algorithms/steps.h"

namespace weft::coll {

inline constexpr std::uint8_t kToNetwork = 2;  // connections
inline constexpr std::uint8_t kFromNetwork = 3;

inline void give_to_network(Step& step, Rank stands_for_switches) {
  step.send_to = stands_for_switches;
  step.send_in_switch = true;
  step.send_connection = kToNetwork;
}
inline void take_from_network(Step& step, Rank stands_for_switches) {
  step.receive_from = stands_for_switches;
  step.receive_connection = kFromNetwork;
}
// All that `heads` give, to all of them.
[[nodiscard]] inline Step add_up_in_network(std::int64_t bytes, std::span<const Rank> heads) {
  Step step = step_of(bytes);
  add_up_in_switch(step, heads);
  step.receive_connection = kToNetwork;
  multicast(step, heads);
  step.send_connection = kFromNetwork;
  return step;
}

}  // namespace weft::coll
