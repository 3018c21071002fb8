// Binomial tree (Thakur, Rabenseifner and Gropp, 2005): broadcast, reduce, gather and scatter in ceil(log2 n) rounds. Down the
// tree, the largest subtree goes first; up the tree, the smallest. Gather and scatter move a subtree's blocks as one message.
#include "sim/collectives/algorithms/binomial_tree.h"

#include <memory>

#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class BinomialRounds final : public Rounds {
 public:
  BinomialRounds(int ranks, const CollectiveCall& call) : tree_{.n = ranks, .root = call.root}, kind_{call.kind} {}

  [[nodiscard]] int blocks() const override { return has_blocks() ? tree_.n : 1; }
  [[nodiscard]] std::int64_t moves(Rank rank) const override {
    const int vertex = tree_.vertex(rank);
    return tree_.children(vertex) + (vertex == 0 ? 0 : 1);
  }
  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const int vertex = tree_.vertex(rank);
    const int children = tree_.children(vertex);
    const bool down = kind_ == Collective::kBroadcast || kind_ == Collective::kScatter;
    if (vertex != 0 && index == (down ? 0 : children)) {
      const Rank parent = tree_.rank_of(tree_.parent(vertex));
      return down ? receive_move(parent, carried(vertex)) : send_move(parent, carried(vertex));
    }
    const int k = static_cast<int>(index) - (down && vertex != 0 ? 1 : 0);
    const int child = vertex + (1 << (down ? children - 1 - k : k));
    const Rank peer = tree_.rank_of(child);
    if (down) return send_move(peer, carried(child));
    return kind_ == Collective::kReduce ? reduce_move(peer, carried(child)) : receive_move(peer, carried(child));
  }

  // Blocks lie in the order of vertices.
  [[nodiscard]] bool in_order() const override { return tree_.root == 0; }
  [[nodiscard]] int first_place(Rank, int of) const override { return tree_.vertex(of); }

 private:
  [[nodiscard]] bool has_blocks() const { return kind_ == Collective::kGather || kind_ == Collective::kScatter; }
  [[nodiscard]] Blocks carried(int vertex) const { return has_blocks() ? tree_.subtree(vertex) : Blocks{0, 1}; }

  BinomialTree tree_;
  Collective kind_;
};

}  // namespace

const Registration<Algorithm> builtin::binomial_tree{
    .name = "binomial_tree",
    .summary = "MPI's broadcast, reduce, gather and scatter in log2 n rounds (Thakur, Rabenseifner and Gropp, 2005)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter},
          [](const Communicator& communicator, const CollectiveCall& call) -> std::unique_ptr<Rounds> {
            return std::make_unique<BinomialRounds>(communicator.ranks(), call);
          });
    },
    .model = kRoundsText,
};

}  // namespace weft::coll
