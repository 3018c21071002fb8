// Steps of collectives that the network's switches add up and copy (SHARP). Of the heads that take part one stands for the
// switches: a lane of its own does what they do, while its other lanes are a head like the others. Its NIC sends and receives
// each byte once, as every head's does with SHARP. Private to algorithms/.
#pragma once

#include <span>

#include "sim/collectives/algorithms/steps.h"
#include "sim/core/model_text.h"

namespace weft::coll {

// collnet_direct and collnet_chain share this text.
inline constexpr ModelText kSharpText{
    .title = "SHARP: the network's switches add up what the heads of the nodes hold",
    .assumes =
        "collnet_direct shares every rank's data out over up to eight heads of its node; collnet_chain has "
        "one head a channel at the end of a chain. Every head's NIC sends and receives its share once.",
    .leaves_out = {"SHARP: the total passes through one of the heads, not from the topmost switch to all at once",
                   "SHARP: switches add up for as many groups at once as there are, each at the rate of their links or of "
                   "fabric.sharp"},
    .sources = {"models/nccl §3.3", "NCCL 2.30, src/device and src/transport/coll_net.cc"},
    .files = {"collectives/algorithms/network_switch.h", "collectives/algorithms/collnet_direct.cpp",
              "collectives/algorithms/collnet_chain.cpp", "collectives/algorithms/collnet_blocks.h"}};

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
