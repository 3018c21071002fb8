// How NCCL runs sends and receives, of which all-to-all, gather and scatter are made: in which order a rank serves its peers,
// on which channels, in how many parts and in which protocol (models/nccl §3.6).
//
//   const P2pOrder order(nodes, p2p_group_size(nodes, settings));
//   for (int r = 0; r < order.rounds(); ++r) { P2pRound round = order.round(rank, r); ... }
//
// In each round the ranks' sends are a permutation: whom a rank sends to receives from it in the same round.
//
// Model: parts and buffers as without PXN. NCCL 2.18 to 2.21 visit nodes in an order of their own; here by triangular numbers
// too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::coll::nccl {

struct P2pRound {
  Rank send_to = 0;
  Rank receive_from = 0;
  int base = 0;  // what the channels of the round are counted from, see p2p_channel
  bool operator==(const P2pRound&) const = default;
};

// Ranks of one group: all of a node where there is one, else NCCL_P2P_SCHEDULE_GROUP_SIZE (8) or less, so that it divides the
// ranks of every node. Before 2.28.7 all of a node.
[[nodiscard]] int p2p_group_size(const std::vector<std::vector<Rank>>& nodes, const Settings& settings);
// The most that a group may have, 0: all of a node; and the group for a limit.
[[nodiscard]] int p2p_group_limit(const Settings& settings, NcclVersion version, bool several_nodes);
[[nodiscard]] int p2p_group_within(const std::vector<std::vector<Rank>>& nodes, int limit);

class P2pOrder {
 public:
  // `nodes`: the ranks of each node. `group_size` divides the size of each. `triangular`: ranks of a group are visited by
  // triangular numbers, as groups are; else one after the other.
  P2pOrder(const std::vector<std::vector<Rank>>& nodes, int group_size, bool triangular = false);

  [[nodiscard]] int rounds() const { return static_cast<int>(group_of_.size()); }
  // Round 0 is the rank itself. O(1).
  [[nodiscard]] P2pRound round(Rank rank, int index) const;
  // Work on one channel is done in batches of up to eight rounds at once.
  static constexpr int kRoundsPerBatch = 8;

 private:
  int group_size_;
  bool one_node_;
  std::vector<std::vector<Rank>> groups_;
  std::vector<int> group_of_;  // of each rank
  std::vector<int> index_in_;  // within its group
  std::vector<int> deltas_;    // in the order in which groups are visited
  std::vector<int> locals_;    // and the ranks of a group
};

// Offsets 0 .. count-1 in NCCL's order, by triangular numbers: 0 1 3 6 2 7 5 4 for eight.
[[nodiscard]] std::vector<int> quadratic_order(int count);

// The channel of part `part` of a transfer in a round with this base. Bits of the round or of the part are reversed, so that
// neighbours spread.
[[nodiscard]] int p2p_channel(int base, int part, int p2p_channels, bool reverses_rounds = true);
// The part that such a channel has.
[[nodiscard]] int p2p_part(int base, int channel, int p2p_channels, bool reverses_rounds);

struct P2pTransfer {
  int channels = 1;  // parts, each on its own channel; the last may be shorter
  Bytes part = {};
  std::string protocol = {};  // "LL" or "Simple"
  Bytes chunk = {};           // data bytes of one step
};

// One rank's transfer of `bytes` to one peer; `same_node`: the peer is not reached over the network.
[[nodiscard]] P2pTransfer p2p_transfer(const CommInfo& comm, Bytes bytes, const Settings& settings, bool same_node);

// Warps that each of `works` transfers run at once by one CTA gets, for its send and for its receive.
inline constexpr int kP2pWarps = 20;  // of the kernel
struct P2pWarps {
  int send = 0;
  int receive = 0;
};
[[nodiscard]] P2pWarps p2p_warps(int works);

}  // namespace weft::coll::nccl
