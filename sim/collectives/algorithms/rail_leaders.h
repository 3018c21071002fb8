// Which rank of a node speaks for which NIC. Private to algorithms/.
#pragma once

#include "sim/collectives/algorithms/node_layout.h"
#include "sim/collectives/communicator.h"

namespace weft::coll {

// The ranks of every node with the leaders first: leader q is the rank with the shortest path, in links inside the host, to NIC
// q (ties: the lowest rank), each rank for one NIC at most. As many as every node can have; on hosts without NICs every rank is
// one.
[[nodiscard]] NodeLayout layout_by_rails(const Communicator& communicator);

}  // namespace weft::coll
