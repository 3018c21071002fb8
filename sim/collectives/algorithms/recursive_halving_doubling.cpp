// Recursive halving and doubling (Thakur, Rabenseifner and Gropp, 2005, sections 4.2 and 4.4). Reduce-scatter by halving: rank
// i exchanges with i xor n/2 half of the data, then with i xor n/4 a quarter, and so on. All-gather by doubling: the same
// exchanges backwards. All-reduce: both. So 2 log2 n latencies and 2(n-1)/n of the data, as little as the ring's.
//
// Ranks beyond a power of two are folded onto a neighbour (powers_of_two.h), which stands for both ranks' blocks.
#include <memory>

#include "sim/collectives/algorithms/powers_of_two.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class HalvingDoubling final : public Rounds {
 public:
  HalvingDoubling(int ranks, Collective kind) : fold_{.n = ranks}, kind_{kind} {}

  [[nodiscard]] int blocks() const override { return kind_ == Collective::kAllReduce ? fold_.members() : fold_.n; }
  [[nodiscard]] std::int64_t moves(Rank rank) const override {
    const Rank partner = fold_.partner(rank);
    if (!fold_.takes_part(rank)) return 1 + returns(rank);
    return exchanges() + (fold_.is_paired(rank) ? 1 + returns(partner) : 0);
  }

  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const Rank partner = fold_.partner(rank);
    const int i = static_cast<int>(index);
    if (!fold_.takes_part(rank)) return i == 0 ? send_move(partner, given(rank)) : receive_move(partner, returned(rank, i - 1));
    if (fold_.is_paired(rank)) {
      if (i == 0) return doubles_only() ? receive_move(partner, given(partner)) : reduce_move(partner, given(partner));
      if (i > exchanges()) return send_move(partner, returned(partner, i - exchanges() - 1));
      --index;
    }
    const int round = static_cast<int>(index / 2);
    const int member = fold_.member(rank);
    // Exchanges over distance 2^bit: from far to near, and back.
    const bool halves = round < halvings();
    const int bit = halves ? fold_.levels() - 1 - round : round - halvings();
    const int other = member ^ (1 << bit);
    const Rank peer = fold_.rank_of(other);
    if (index % 2 == 0) return send_move(peer, side(halves ? other : member, bit));
    return halves ? reduce_move(peer, side(member, bit)) : receive_move(peer, side(other, bit));
  }

 private:
  [[nodiscard]] bool doubles_only() const { return kind_ == Collective::kAllGather; }
  [[nodiscard]] int halvings() const { return doubles_only() ? 0 : fold_.levels(); }
  [[nodiscard]] int exchanges() const { return 2 * (halvings() + doublings()); }
  [[nodiscard]] int doublings() const { return kind_ == Collective::kReduceScatter ? 0 : fold_.levels(); }
  // Blocks of the 2^bit members that differ from `member` in lower bits only.
  [[nodiscard]] Blocks side(int member, int bit) const {
    const int first = (member >> bit) << bit;
    const int last = first + (1 << bit);
    if (kind_ == Collective::kAllReduce) return {first, last};
    return {fold_.first_rank(first), fold_.first_rank(last)};
  }
  // A rank that takes no part hands this over, and gets this in the end.
  [[nodiscard]] Blocks given(Rank rank) const { return doubles_only() ? Blocks{rank, rank + 1} : Blocks{0, blocks()}; }
  [[nodiscard]] int returns(Rank rank) const { return doubles_only() ? fold_.returns(rank) : 1; }
  [[nodiscard]] Blocks returned(Rank rank, int which) const {
    if (doubles_only()) return fold_.returned(rank, which);
    return kind_ == Collective::kReduceScatter ? Blocks{rank, rank + 1} : Blocks{0, blocks()};
  }

  Fold fold_;
  Collective kind_;
};

}  // namespace

const Registration<Algorithm> builtin::recursive_halving_doubling{
    .name = "recursive_halving_doubling",
    .summary = "reduce-scatter by halving, all-gather by doubling, all-reduce by both (Thakur, Rabenseifner and Gropp, 2005)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter},
          [](const Communicator& communicator, const CollectiveCall& call) -> std::unique_ptr<Rounds> {
            return std::make_unique<HalvingDoubling>(communicator.ranks(), call.kind);
          });
    },
    .model = kRoundsText,
};

}  // namespace weft::coll
