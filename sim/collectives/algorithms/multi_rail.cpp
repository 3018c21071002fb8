// Multi-rail hierarchical all-reduce, after what ACCL (Dong et al., "ACCL: Architecting highly scalable distributed training
// systems with highly efficient collective communication library", 2021) and TCCL (Kim et al., 2024) publish: the data are cut
// into as many shards as a node has NICs. Every rank of a node sends shard q to the leader of NIC q, the GPU with the shortest
// path to it, which adds them up; the leaders of a rail do a ring all-reduce between nodes; then they hand the shards round.
#include <memory>

#include "sim/collectives/algorithms/rail_leaders.h"
#include "sim/collectives/algorithms/ring_moves.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class MultiRail final : public Rounds {
 public:
  explicit MultiRail(const Communicator& communicator) : layout_{layout_by_rails(communicator)} {}

  [[nodiscard]] int blocks() const override { return rails() * layout_.nodes(); }
  [[nodiscard]] std::int64_t moves(Rank rank) const override {
    const Counts c = counts(rank);
    return 2 * (c.others + c.node + c.rail);
  }

  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const Counts c = counts(rank);
    int i = static_cast<int>(index);
    const int a = layout_.node(rank);
    const int local = layout_.local(rank);
    if (i < c.others) return send_move(layout_.rank_at(a, leader(rank, i)), shard(leader(rank, i)));
    i -= c.others;
    if (i < c.node) return reduce_move(neighbour(rank, -i - 1), shard(local));
    i -= c.node;
    const int n = layout_.nodes();
    const RingPlace rail{.size = n,
                         .position = a,
                         .next = layout_.is_member(rank) ? layout_.rank_at((a + 1) % n, local) : -1,
                         .previous = layout_.is_member(rank) ? layout_.rank_at((a + n - 1) % n, local) : -1};
    if (i < c.rail) return rail.scatter(i, shard(local).begin, 1);
    i -= c.rail;
    if (i < c.rail) return rail.gather(i, shard(local).begin, 1);
    i -= c.rail;
    if (i < c.node) return send_move(neighbour(rank, i + 1), shard(local));
    i -= c.node;
    return receive_move(layout_.rank_at(a, leader(rank, i)), shard(leader(rank, i)));
  }

 private:
  struct Counts {
    int others = 0;  // leaders of the node beside the rank itself
    int node = 0;    // of a leader: ranks of the node beside itself
    int rail = 0;    // of a leader: moves of a ring phase
  };
  [[nodiscard]] int rails() const { return layout_.members(); }
  [[nodiscard]] Counts counts(Rank rank) const {
    if (!layout_.is_member(rank)) return {.others = rails(), .node = 0, .rail = 0};
    return {.others = rails() - 1, .node = layout_.size(layout_.node(rank)) - 1, .rail = 2 * (layout_.nodes() - 1)};
  }
  [[nodiscard]] Blocks shard(int rail) const { return {rail * layout_.nodes(), (rail + 1) * layout_.nodes()}; }
  // The k-th leader that a rank has to do with, each rank beginning with another.
  [[nodiscard]] int leader(Rank rank, int k) const {
    const int local = layout_.local(rank);
    return layout_.is_member(rank) ? (local + 1 + k) % rails() : (local + k) % rails();
  }
  [[nodiscard]] Rank neighbour(Rank rank, int distance) const {
    const int size = layout_.size(layout_.node(rank));
    return layout_.rank_at(layout_.node(rank), (layout_.local(rank) + distance + size) % size);
  }

  NodeLayout layout_;
};

}  // namespace

const Registration<Algorithm> builtin::multi_rail{
    .name = "multi_rail",
    .summary = "hierarchical all-reduce with one shard and one leader GPU for each NIC (after ACCL, 2021, and TCCL, 2024)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kAllReduce},
          [](const Communicator& communicator, const CollectiveCall&) -> std::unique_ptr<Rounds> {
            return std::make_unique<MultiRail>(communicator);
          });
    },
    .model =
        {.assumes = "Two levels: one shard for each NIC, which the GPU nearest to it adds up, reduces between nodes on "
                    "its rail and hands round.",
         .leaves_out = {"multi_rail: leaders are chosen by the number of links to a NIC, not by measured bandwidth of whole "
                        "paths, as TCCL does"},
         .sources = {"Dong et al., ACCL, 2021", "Kim et al., TCCL, 2024"}},
};

}  // namespace weft::coll
