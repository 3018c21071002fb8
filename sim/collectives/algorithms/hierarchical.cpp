// Hierarchical all-reduce (Cho et al., "BlueConnect", 2019; also NCCL's and MSCCL's two-level variants): a ring reduce-scatter
// inside every node, a ring all-reduce between nodes for each local index on its shard, a ring all-gather inside the node.
// Every rank's own NIC carries 2(nodes-1)/nodes of a shard.
//
// Nodes with more ranks than the smallest: the surplus ranks add theirs to a member of their node first and get the result
// last.
#include <memory>

#include "sim/collectives/algorithms/node_layout.h"
#include "sim/collectives/algorithms/ring_moves.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class Hierarchical final : public Rounds {
 public:
  explicit Hierarchical(const Communicator& communicator) : layout_{NodeLayout::by_rank(communicator)} {}

  // A shard for each local index, cut for the ring between nodes.
  [[nodiscard]] int blocks() const override { return layout_.members() * layout_.nodes(); }
  [[nodiscard]] std::int64_t moves(Rank rank) const override {
    if (!layout_.is_member(rank)) return 2;
    return 2 * (layout_.extras(rank) + inside(rank).moves() + between(rank).moves());
  }

  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const Blocks all{0, blocks()};
    if (!layout_.is_member(rank)) {
      const Rank member = layout_.member_of(rank);
      return index == 0 ? send_move(member, all) : receive_move(member, all);
    }
    int i = static_cast<int>(index);
    const int extras = layout_.extras(rank);
    if (i < extras) return reduce_move(layout_.extra(rank, i), all);
    i -= extras;
    const RingPlace node = inside(rank);
    const RingPlace rail = between(rank);
    const int shard = layout_.nodes();
    const int mine = layout_.local(rank) * shard;
    if (i < node.moves()) return node.scatter(i, 0, shard);
    i -= node.moves();
    if (i < rail.moves()) return rail.scatter(i, mine, 1);
    i -= rail.moves();
    if (i < rail.moves()) return rail.gather(i, mine, 1);
    i -= rail.moves();
    if (i < node.moves()) return node.gather(i, 0, shard);
    return send_move(layout_.extra(rank, i - node.moves()), all);
  }

 private:
  [[nodiscard]] RingPlace inside(Rank rank) const {
    const int m = layout_.members();
    const int i = layout_.local(rank);
    const int node = layout_.node(rank);
    return {.size = m,
            .position = i,
            .next = layout_.rank_at(node, (i + 1) % m),
            .previous = layout_.rank_at(node, (i + m - 1) % m)};
  }
  [[nodiscard]] RingPlace between(Rank rank) const {
    const int a = layout_.nodes();
    const int node = layout_.node(rank);
    const int i = layout_.local(rank);
    return {.size = a,
            .position = node,
            .next = layout_.rank_at((node + 1) % a, i),
            .previous = layout_.rank_at((node + a - 1) % a, i)};
  }

  NodeLayout layout_;
};

}  // namespace

const Registration<Algorithm> builtin::hierarchical{
    .name = "hierarchical",
    .summary = "all-reduce in nodes, between nodes for each local index, and back (Cho et al., BlueConnect, 2019)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kAllReduce},
          [](const Communicator& communicator, const CollectiveCall&) -> std::unique_ptr<Rounds> {
            return std::make_unique<Hierarchical>(communicator);
          });
    },
    .model = {.assumes = "Two levels: rings inside nodes, then between ranks of one local index, on every rail, and back.",
              .sources = {"Cho et al., BlueConnect, 2019"}},
};

}  // namespace weft::coll
