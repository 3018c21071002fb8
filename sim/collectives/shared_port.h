// Thread blocks that share their GPU's port to its peers.
//
// A block's stores queue at the port behind those of the others, and it waits for room before it goes on: a closed queueing
// network of one server, whose means the mean value analysis gives exactly (Reiser & Lavenberg, Mean-Value Analysis of Closed
// Multichain Queuing Networks, J. ACM 27(2), 1980): with k blocks, a piece of work that the port serves in s and a block alone
// works on for 1/alone stays w_k = s (1 + q_{k-1}) at the port, so x_k = k / (1/alone - s + w_k) pieces pass and q_k = x_k w_k
// are there. All of the port's raw rate counts here; what packets leave of it is the fabric's matter.
#pragma once

#include <vector>

#include "sim/core/units.h"

namespace weft::coll {

class PortQueue {
 public:
  PortQueue() = default;  // of a port where nobody waits
  // Blocks that move `alone` when alone (0: no limit, and no wait) at a port of `port` (0: no wait), `most` of them at once.
  PortQueue(Bandwidth alone, Bandwidth port, int most);

  // How much longer a block takes for `data` while `others` blocks (in whole blocks' warps) send too.
  [[nodiscard]] Duration wait(Bytes data, double others) const;
  // Share of the time that so many blocks, in whole blocks' warps, keep the port busy; of more than there can be: of those.
  [[nodiscard]] double busy(double blocks) const;

 private:
  double service_ps_ = 0;       // per byte
  std::vector<double> queued_;  // [k]: pieces at the port with k blocks
};

}  // namespace weft::coll
