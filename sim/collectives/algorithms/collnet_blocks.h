// All-gather and reduce-scatter with SHARP between nodes: CollNetDirect's and NVLS's (models/nccl §3.3, §3.4). The block of a
// rank belongs to one head of its node, by the rank's place on it, and so to the heads of the same index on all nodes. Private
// to algorithms/.
//
// All-gather: a rank gives its block to its head; the head has the network's switches copy it to the heads of the same index,
// and every head hands what it has to its node. Reduce-scatter is the reverse: every rank gives its contribution to a block to
// the head of its node, which adds up the node; the switches add up the heads; the block's own head passes it to its rank.
// Inside a node the heads hand round and add up themselves, or NVLink's switches do it for them.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/collectives/call.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

inline constexpr int kMostCollNetHeads = 8;

enum class InsideNodes : std::uint8_t { kDirect, kNvls };

[[nodiscard]] std::unique_ptr<Schedule> make_collnet_blocks(const Communicator& communicator, const CollectiveCall& call,
                                                            const Choice& choice, InsideNodes inside);

}  // namespace weft::coll
