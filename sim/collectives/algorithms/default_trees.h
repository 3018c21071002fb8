// Trees for communicators that bring none: NCCL's double binary tree over the nodes and a chain inside each (models/nccl §3.2,
// the plain pattern: the first rank of the chain has the node's parent and children). Private to algorithms/.
#pragma once

#include <vector>

#include "sim/collectives/communicator.h"

namespace weft::coll {

// One tree a channel of the communicator. The first half of the channels takes the first of the two trees, the rest the second;
// within a half each channel's chains begin one rank later, so that the network is entered by another NIC.
[[nodiscard]] std::vector<Tree> default_trees(const Communicator& communicator);

}  // namespace weft::coll
