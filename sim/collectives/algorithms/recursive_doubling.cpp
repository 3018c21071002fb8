// Recursive doubling (Thakur, Rabenseifner and Gropp, 2005, sections 4.1 and 4.3): in round k rank i exchanges with i xor 2^k
// all it has: the whole vector, which both add up (all-reduce), or 2^k blocks (all-gather). ceil(log2 n) latencies.
//
// Ranks beyond a power of two hand theirs to a neighbour first and get the result last (powers_of_two.h), as MPICH does for the
// all-reduce; for the all-gather MPICH then uses Bruck's algorithm.
#include <memory>

#include "sim/collectives/algorithms/powers_of_two.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class RecursiveDoubling final : public Rounds {
 public:
  RecursiveDoubling(int ranks, bool gathers) : fold_{.n = ranks}, gathers_{gathers} {}

  [[nodiscard]] int blocks() const override { return gathers_ ? fold_.n : 1; }
  [[nodiscard]] std::int64_t moves(Rank rank) const override {
    const Rank partner = fold_.partner(rank);
    if (!fold_.takes_part(rank)) return 1 + returns(rank);
    return 2 * fold_.levels() + (fold_.is_paired(rank) ? 1 + returns(partner) : 0);
  }

  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const Rank partner = fold_.partner(rank);
    const int i = static_cast<int>(index);
    if (!fold_.takes_part(rank)) return i == 0 ? send_move(partner, own(rank)) : receive_move(partner, returned(rank, i - 1));
    if (fold_.is_paired(rank)) {
      if (i == 0) return gathers_ ? receive_move(partner, own(partner)) : reduce_move(partner, {0, 1});
      if (i > 2 * fold_.levels()) return send_move(partner, returned(partner, i - 2 * fold_.levels() - 1));
      --index;
    }
    const int step = static_cast<int>(index / 2);
    const int member = fold_.member(rank);
    const Rank peer = fold_.rank_of(member ^ (1 << step));
    if (index % 2 == 0) return send_move(peer, held(member, step));
    return gathers_ ? receive_move(peer, held(member ^ (1 << step), step)) : reduce_move(peer, {0, 1});
  }

 private:
  // A rank that takes no part gets this in the end, in one or two messages.
  [[nodiscard]] int returns(Rank rank) const { return gathers_ ? fold_.returns(rank) : 1; }
  [[nodiscard]] Blocks returned(Rank rank, int which) const { return gathers_ ? fold_.returned(rank, which) : Blocks{0, 1}; }
  [[nodiscard]] Blocks own(Rank rank) const { return gathers_ ? Blocks{rank, rank + 1} : Blocks{0, 1}; }
  // Returns what a member has before step `step`.
  [[nodiscard]] Blocks held(int member, int step) const {
    if (!gathers_) return {0, 1};
    const int first = (member >> step) << step;
    return {fold_.first_rank(first), fold_.first_rank(first + (1 << step))};
  }

  Fold fold_;
  bool gathers_;
};

}  // namespace

const Registration<Algorithm> builtin::recursive_doubling{
    .name = "recursive_doubling",
    .summary = "MPI's all-reduce and all-gather in log2 n exchanges of all there is (Thakur, Rabenseifner and Gropp, 2005)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kAllReduce, Collective::kAllGather},
          [](const Communicator& communicator, const CollectiveCall& call) -> std::unique_ptr<Rounds> {
            return std::make_unique<RecursiveDoubling>(communicator.ranks(), call.kind == Collective::kAllGather);
          });
    },
    .model = kRoundsText,
};

}  // namespace weft::coll
