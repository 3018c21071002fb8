// All-to-all between nodes over a relay: rank i of a node speaks over the network only with rank i of the others, and what is
// for another rank there goes over the links inside a node. Private to algorithms/.
//
// Dispatch: over the network first; the rank of the sender's index on the target node hands on. Combine: inside the node first;
// the rank of the receiver's index on the sender's node collects and sends. Where nodes differ in size, an index beyond a
// node's last is taken modulo its size.
//
// Lanes of rank x: one that copies its own block, then one to and one from each rank that x has messages with: first the others
// of its node, then ranks of other nodes. A lane that passes on what another took in waits for it (Step::after).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/collectives/algorithm.h"
#include "sim/collectives/algorithms/node_layout.h"
#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/algorithms/sends.h"
#include "sim/collectives/schedule.h"
#include "sim/core/model_text.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {

// Dispatch and combine share this text.
inline constexpr ModelText kDeepEpText{
    .title = "DeepEP-style all-to-all: RDMA on one's own rail, NVLink inside the node",
    .assumes =
        "Dispatch sends to the GPU of the sender's index on the target node, which forwards; combine goes "
        "the way back. A block is forwarded once all of it is there.",
    .leaves_out =
        {"deepep: a block for each pair of ranks; DeepEP sends each token once to a node and forwards "
         "it as the experts ask: `weft experts` has tokens, top-k and experts",
         "deepep_combine: it moves data only; DeepEP also adds up what the experts return",
         "weft experts: the notify kernel and hooks that overlap are left out; popular experts (--skew) cost what links and "
         "giving SMs take, the SMs that take in nothing",
         "weft experts: fitted to one node of 8 GPUs (4 of GB200, GB300); published figures of 16 to 64 H800 come out "
         "within 12 %, low-latency combine of 8 H800 26 % slow, with the share of its NVLinks that H100 has"},
    .sources = {"DeepEP's README (normal kernels)", "models/workloads §9.7"},
    .files = {"collectives/algorithms/relayed_all_to_all.h", "collectives/expert_exchange.h"}};

enum class RelayPlace : std::uint8_t { kAtReceiver, kAtSender };  // dispatch, combine

class RelayedAllToAll final : public Schedule {
 public:
  RelayedAllToAll(const Communicator& communicator, const CollectiveCall& call, const Choice& choice, RelayPlace place);

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return channels_; }
  [[nodiscard]] int lanes(Rank rank, int) const override;
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override;
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override;

 private:
  // One block on one of its hops.
  struct Message {
    Rank sender = 0;
    Rank receiver = 0;
  };
  // Messages between two ranks of one node: their own, then those relayed for ranks of other nodes. Between nodes: those of all
  // ranks of the node where the relay stands.
  [[nodiscard]] std::int64_t message_count(Rank from, Rank to) const;
  [[nodiscard]] Message message(Rank from, Rank to, std::int64_t index) const;
  [[nodiscard]] const std::vector<Rank>& peers(Rank rank, bool sends) const;
  // Ranks of other nodes for which `rank` relays.
  [[nodiscard]] const std::vector<Rank>& relayed(Rank rank) const { return relayed_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Rank relay_for(Rank far, int node) const;
  [[nodiscard]] int row(Rank relay, Rank far) const {  // in relayed(relay)
    return rows_[flat_index(far, layout_.nodes(), layout_.node(relay))];
  }
  [[nodiscard]] std::int64_t slot(Rank relay, const Message& message) const;
  [[nodiscard]] int receive_lane(Rank rank, Rank from) const;

  NodeLayout layout_;
  RelayPlace place_;
  int n_;
  Messages messages_;
  int channels_;
  std::vector<std::vector<Rank>> relayed_;     // by rank
  std::vector<std::int32_t> rows_;             // by rank relayed for, node of the relay
  std::vector<std::vector<Rank>> send_peers_;  // by rank
  std::vector<std::vector<Rank>> receive_peers_;
};

// The algorithm whose relays stand at `place`.
[[nodiscard]] std::unique_ptr<Algorithm> make_relayed_all_to_all(RelayPlace place);

}  // namespace weft::coll
