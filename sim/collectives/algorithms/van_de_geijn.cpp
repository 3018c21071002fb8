// Van de Geijn's broadcast for long vectors (Barnett et al., "Interprocessor collective communication library", 1994; MPICH's
// choice above 512 KiB): scatter the vector down a binomial tree, then all-gather it round a ring. log2 n + n - 1 latencies,
// but every rank moves less than two vectors.
#include <algorithm>
#include <memory>

#include "sim/collectives/algorithms/binomial_tree.h"
#include "sim/collectives/algorithms/ring_moves.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class ScatterAllGather final : public Rounds {
 public:
  ScatterAllGather(int ranks, Rank root) : tree_{.n = ranks, .root = root} {}

  [[nodiscard]] int blocks() const override { return tree_.n; }
  [[nodiscard]] std::int64_t moves(Rank rank) const override {
    const int vertex = tree_.vertex(rank);
    return scatter_moves(vertex) + missing(vertex) + missing(after(vertex));
  }
  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const int vertex = tree_.vertex(rank);
    if (index < scatter_moves(vertex)) {
      if (vertex != 0 && index == 0) return receive_move(tree_.rank_of(tree_.parent(vertex)), tree_.subtree(vertex));
      const int k = static_cast<int>(index) - (vertex == 0 ? 0 : 1);
      const int child = vertex + (1 << (tree_.children(vertex) - 1 - k));
      return send_move(tree_.rank_of(child), tree_.subtree(child));
    }
    const RingPlace ring{.size = tree_.n,
                         .position = vertex,
                         .next = tree_.rank_of(after(vertex)),
                         .previous = tree_.rank_of((vertex + tree_.n - 1) % tree_.n)};
    // Rounds of a send and a receive, then what one of the two has more of.
    const int sends = missing(after(vertex));
    const int both = std::min(sends, missing(vertex));
    int i = static_cast<int>(index - scatter_moves(vertex));
    if (i >= 2 * both) i = 2 * (i - both) + (sends > both ? 0 : 1);
    return ring.gather(i, 0, 1);
  }

 private:
  [[nodiscard]] std::int64_t scatter_moves(int vertex) const { return tree_.children(vertex) + (vertex == 0 ? 0 : 1); }
  [[nodiscard]] int after(int vertex) const { return (vertex + 1) % tree_.n; }
  // Blocks that the scatter does not bring: the ring brings them first, those of the vertex's subtree would come last.
  [[nodiscard]] int missing(int vertex) const {
    const Blocks held = tree_.subtree(vertex);
    return tree_.n - (held.end - held.begin);
  }

  BinomialTree tree_;
};

}  // namespace

const Registration<Algorithm> builtin::van_de_geijn{
    .name = "van_de_geijn",
    .summary = "MPI's broadcast of long vectors: binomial scatter, then ring all-gather (Barnett et al., 1994)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kBroadcast},
          [](const Communicator& communicator, const CollectiveCall& call) -> std::unique_ptr<Rounds> {
            return std::make_unique<ScatterAllGather>(communicator.ranks(), call.root);
          });
    },
    .model = kRoundsText,
};

}  // namespace weft::coll
