// Rabenseifner's all-reduce and reduce (Rabenseifner, "Optimization of Collective Reduction Operations", 2004): a
// reduce-scatter by vector halving with distance doubling (neighbours exchange the large halves), then an all-gather, or a
// gather to the root, by the same exchanges backwards.
//
// Where the ranks are no power of two, pairs fold by halves: the even rank adds up the first half, the odd one the second and
// hands it over, so that no rank adds up a whole vector; the even rank takes part for both.
#include <memory>

#include "sim/collectives/algorithms/powers_of_two.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

constexpr int kFoldMoves = 3;

class Rabenseifner final : public Rounds {
 public:
  Rabenseifner(int ranks, bool to_root, Rank root)
      : fold_{.n = ranks, .odd_takes_part = false}, to_root_{to_root}, root_{root}, root_member_{fold_.member(root)} {}

  [[nodiscard]] int blocks() const override { return fold_.members(); }
  [[nodiscard]] std::int64_t moves(Rank rank) const override {
    const bool paired = fold_.is_paired(rank);
    if (!fold_.takes_part(rank)) return kFoldMoves + (gets_result(rank) ? 1 : 0);
    const std::int64_t up = (paired ? kFoldMoves : 0) + 2 * fold_.levels();
    if (to_root_) return up + gather_moves(fold_.member(rank)) + (hands_on(rank) ? 1 : 0);
    return up + 2 * fold_.levels() + (hands_on(rank) ? 1 : 0);
  }

  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const Rank partner = fold_.partner(rank);
    const Blocks all{0, blocks()};
    const Blocks first{0, blocks() / 2};
    const Blocks second{blocks() / 2, blocks()};
    if (!fold_.takes_part(rank)) {
      if (index == 0) return send_move(partner, first);
      if (index == 1) return reduce_move(partner, second);
      return index == 2 ? send_move(partner, second) : receive_move(partner, all);
    }
    if (fold_.is_paired(rank)) {
      if (index == 0) return send_move(partner, second);
      if (index == 1) return reduce_move(partner, first);
      if (index == 2) return receive_move(partner, second);
      index -= kFoldMoves;
    }
    const int member = fold_.member(rank);
    const int levels = fold_.levels();
    if (index < 2 * levels) {
      const int bit = static_cast<int>(index / 2);
      const int other = member ^ (1 << bit);
      const Rank peer = fold_.rank_of(other);
      return index % 2 == 0 ? send_move(peer, halved(other, bit + 1, levels))
                            : reduce_move(peer, halved(member, bit + 1, levels));
    }
    index -= 2 * levels;
    if (to_root_) return index < gather_moves(member) ? gather_move(member, index) : send_move(partner, all);
    if (index == 2 * levels) return send_move(partner, all);
    const int bit = levels - 1 - static_cast<int>(index / 2);
    const int other = member ^ (1 << bit);
    const Rank peer = fold_.rank_of(other);
    return index % 2 == 0 ? send_move(peer, halved(member, bit + 1, levels))
                          : receive_move(peer, halved(other, bit + 1, levels));
  }

 private:
  // The rank of a pair that takes no part gets the result of an all-reduce, or of a reduce if it is the root.
  [[nodiscard]] bool gets_result(Rank rank) const { return !to_root_ || rank == root_; }
  [[nodiscard]] bool hands_on(Rank rank) const { return fold_.is_paired(rank) && gets_result(fold_.partner(rank)); }

  // Gather: from the last exchange to the first, the member whose bit is not the root's sends what it has and is done.
  [[nodiscard]] std::int64_t gather_moves(int member) const {
    const int differing = member ^ root_member_;
    return differing == 0 ? fold_.levels() : fold_.levels() - floor_log2(differing);
  }
  [[nodiscard]] Move gather_move(int member, std::int64_t index) const {
    const int bit = fold_.levels() - 1 - static_cast<int>(index);
    const int other = member ^ (1 << bit);
    const Rank peer = fold_.rank_of(other);
    const bool sends = ((member ^ root_member_) >> bit) != 0;
    return sends ? send_move(peer, halved(member, bit + 1, fold_.levels()))
                 : receive_move(peer, halved(other, bit + 1, fold_.levels()));
  }

  Fold fold_;
  bool to_root_;
  Rank root_;
  int root_member_;
};

}  // namespace

const Registration<Algorithm> builtin::rabenseifner{
    .name = "rabenseifner",
    .summary = "MPI's all-reduce and reduce for long vectors: reduce-scatter, then gather (Rabenseifner, 2004)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kAllReduce, Collective::kReduce},
          [](const Communicator& communicator, const CollectiveCall& call) -> std::unique_ptr<Rounds> {
            return std::make_unique<Rabenseifner>(communicator.ranks(), call.kind == Collective::kReduce, call.root);
          });
    },
    .model = kRoundsText,
};

}  // namespace weft::coll
