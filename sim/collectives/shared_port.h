// Thread blocks that share their GPU's port to its peers.
//
// A block's stores queue at the port behind those of the others, and it waits for room before it goes on: a closed queueing
// network of one server, whose means the mean value analysis gives exactly (Reiser & Lavenberg, Mean-Value Analysis of Closed
// Multichain Queuing Networks, J. ACM 27(2), 1980): with k blocks, a piece of work that the port serves in s and a block alone
// works on for 1/alone stays w_k = s (1 + q_{k-1}) at the port, so x_k = k / (1/alone - s + w_k) pieces pass and q_k = x_k w_k
// are there. Where a peer is stored into by several GPUs at once, its own port is a second server: stores that one GPU sends
// come one after another, those of several GPUs meet there. With both as busy as each other, each has its own s and w_k, and a
// block's time elsewhere is 1/alone less both s. Of a GPU's own port all of the raw rate counts here: what packets leave of it
// is the fabric's matter.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::coll {

// A GPU's port to its peers.
struct PortRate {
  Bandwidth raw;            // 0: it has none
  double efficiency = 1.0;  // what packets and acknowledgements leave of it
};

// Whom the thread blocks of a call store to, in whole blocks' warps.
class PortLoads {
 public:
  PortLoads() = default;
  explicit PortLoads(std::size_t ranks) : out_(ranks), in_(ranks) {}

  // `switched`: over an NVSwitch. Links between two GPUs end in ports of their own, where nobody else's stores come in.
  void add(Rank from, Rank to, double blocks, bool switched);
  [[nodiscard]] double out(Rank from) const { return out_[static_cast<std::size_t>(from)]; }
  // Blocks at the port of `to` over those at the port of `from`, who stores there too; 0 where nobody else does.
  [[nodiscard]] double inward(Rank from, Rank to) const;
  [[nodiscard]] double most_inward() const;

 private:
  struct In {
    double blocks = 0;
    Rank from = -1;  // the first of them
    bool several = false;
  };
  std::vector<double> out_;
  std::vector<In> in_;
};

class PortQueue {
 public:
  PortQueue() = default;  // of a port where nobody waits
  // Blocks that move `alone` when alone (0: no limit, and no wait) at a port of `port` (0: no wait), `most` of them at once.
  PortQueue(Bandwidth alone, PortRate port, int most);

  // How much longer a block takes for `data` while `others` blocks (in whole blocks' warps) send too; `inward`: PortLoads.
  [[nodiscard]] Duration wait(Bytes data, double others, double inward = 0.0) const;
  // Share of the time that so many blocks, in whole blocks' warps, keep the port busy; of more than there can be: of those.
  [[nodiscard]] double busy(double blocks) const;

 private:
  double service_ps_ = 0;  // per byte
  // [k]: ps that a byte waits behind those of k blocks at one port, and at both.
  std::vector<double> one_;
  std::vector<double> both_;
};

}  // namespace weft::coll
