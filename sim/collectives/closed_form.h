// Textbook times of the algorithms on an ideal network: what a simulation must give where nothing but the formula acts, and the
// `closed_form` grain.
//
// The ideal network is the alpha-beta model (Thakur, Rabenseifner and Gropp, 2005, section 3): a message of m bytes takes
// a + m/B. Every rank has one port of B each way, which the channels and messages in flight share evenly; nothing else limits,
// and copies and reductions are free. A step begins when the messages it needs are there and the one before has been delivered.
//
//   closed_form(call, {.algorithm = "plain_ring"}, 128, {.bandwidth = 50_GBps, .latency = 4_us})  // 2(n-1)(a + S/(nB))
#pragma once

#include <optional>

#include "sim/collectives/call.h"
#include "sim/core/units.h"

namespace weft::coll {

struct IdealNetwork {
  Bandwidth bandwidth;  // B, per rank and direction
  Duration latency;     // a, per message
};

// From the first message to the last byte; nullopt where `choice.algorithm` has no closed form for this collective. Channels
// are taken to be as large as the largest.
[[nodiscard]] std::optional<Duration> closed_form(const CollectiveCall& call, const Choice& choice, int ranks,
                                                  const IdealNetwork& network);

}  // namespace weft::coll
