// Bruck's algorithms (Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems",
// 1997) in ceil(log2 n) rounds, for small messages and any number of ranks.
//
// All-gather: every rank keeps the blocks in the order of ranks from its own on; in round k it sends its first 2^k to rank
// i - 2^k and receives as many from i + 2^k behind them. All-to-all: block d of rank i begins at place d - i; in round k all
// blocks at places with bit k set go to rank i + 2^k as one message, packed and unpacked by copies. A block thus moves as far
// as its place says, and the block of sender s ends at place i - s.
#include <algorithm>
#include <bit>
#include <memory>

#include "sim/collectives/algorithms/powers_of_two.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class BruckAllGather final : public Rounds {
 public:
  explicit BruckAllGather(int ranks) : n_{ranks} {}

  [[nodiscard]] int blocks() const override { return n_; }
  [[nodiscard]] std::int64_t moves(Rank) const override {
    return 2 * static_cast<int>(std::bit_width(static_cast<unsigned>(n_ - 1)));
  }
  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const int distance = 1 << (index / 2);
    const int count = std::min(distance, n_ - distance);
    if (index % 2 == 0) return send_move((rank - distance + n_) % n_, {0, count});
    return receive_move((rank + distance) % n_, {distance, distance + count});
  }
  [[nodiscard]] bool in_order() const override { return n_ == 1; }
  [[nodiscard]] int first_place(Rank rank, int of) const override { return (of - rank + n_) % n_; }

 private:
  int n_;
};

class BruckAllToAll final : public Rounds {
 public:
  explicit BruckAllToAll(int ranks) : n_{ranks} {}

  // The places, then those packed to send, then those received.
  [[nodiscard]] int blocks() const override { return 3 * n_; }
  [[nodiscard]] std::int64_t moves(Rank) const override {
    std::int64_t total = 0;
    for (int k = 0; (1 << k) < n_; ++k) total += moves_of_round(k);
    return total;
  }
  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    int k = 0;
    for (; index >= moves_of_round(k); ++k) index -= moves_of_round(k);
    const int distance = 1 << k;
    const int count = places_with(k);
    const int i = static_cast<int>(index);
    if (count == 1) {
      const Blocks only{place_with(k, 0), place_with(k, 0) + 1};
      return i == 0 ? send_move((rank + distance) % n_, only) : receive_move((rank - distance + n_) % n_, only);
    }
    if (i < count) return copy_move({place_with(k, i), place_with(k, i) + 1}, n_ + i);
    if (i == count) return send_move((rank + distance) % n_, {n_, n_ + count});
    if (i == count + 1) return receive_move((rank - distance + n_) % n_, {2 * n_, 2 * n_ + count});
    const int j = i - count - 2;
    return copy_move({2 * n_ + j, 2 * n_ + j + 1}, place_with(k, j));
  }
  [[nodiscard]] bool in_order() const override { return n_ == 1; }
  [[nodiscard]] int first_place(Rank rank, int of) const override { return (of - rank + n_) % n_; }
  [[nodiscard]] int last_place(Rank rank, int of) const override { return (rank - of + n_) % n_; }

 private:
  // Places below n with bit k set, and the j-th of them.
  [[nodiscard]] int places_with(int k) const {
    const int period = 2 << k;
    return n_ / period * (1 << k) + std::max(0, n_ % period - (1 << k));
  }
  [[nodiscard]] static int place_with(int k, int j) { return ((j >> k) << (k + 1)) + (1 << k) + (j & ((1 << k) - 1)); }
  // A single block is not packed.
  [[nodiscard]] int moves_of_round(int k) const { return places_with(k) == 1 ? 2 : 2 * places_with(k) + 2; }

  int n_;
};

}  // namespace

const Registration<Algorithm> builtin::bruck{
    .name = "bruck",
    .summary = "all-gather and all-to-all of small messages in log2 n rounds (Bruck et al., 1997)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kAllGather, Collective::kAllToAll},
          [](const Communicator& communicator, const CollectiveCall& call) -> std::unique_ptr<Rounds> {
            if (call.kind == Collective::kAllGather) return std::make_unique<BruckAllGather>(communicator.ranks());
            return std::make_unique<BruckAllToAll>(communicator.ranks());
          });
    },
    .model = kRoundsText,
};

}  // namespace weft::coll
