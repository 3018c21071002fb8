// Gloo's BCube all-reduce (gloo/allreduce_bcube.h): as halving and doubling, but in groups of `base` ranks. In step s the ranks
// that differ in digit s of their number only exchange all to all: each sends every other its part of what the group holds, and
// adds up its own part. The all-gather takes the steps backwards.
#include <memory>
#include <vector>

#include "sim/collectives/algorithms/rounds.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

constexpr int kBase = 4;

// The number of ranks of a group in each step; their product is n.
std::vector<int> group_sizes(int n) {
  std::vector<int> sizes;
  while (n > 1) {
    int size = n;  // a prime above the base
    for (int divisor = 2; divisor <= n && divisor <= kBase; ++divisor) {
      if (n % divisor == 0) size = divisor;
    }
    for (int divisor = kBase + 1; size == n && divisor < n; ++divisor) {
      if (n % divisor == 0) size = divisor;
    }
    sizes.push_back(size);
    n /= size;
  }
  return sizes;
}

class GlooBcube final : public Rounds {
 public:
  explicit GlooBcube(int ranks) : n_{ranks}, sizes_{group_sizes(ranks)} {
    for (const int size : sizes_) moves_ += 4 * (size - 1);
  }

  [[nodiscard]] int blocks() const override { return n_; }
  [[nodiscard]] std::int64_t moves(Rank) const override { return moves_; }
  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const bool scatters = index < moves_ / 2;
    // Counted from the end, the all-gather's steps are in the order of the reduce-scatter's.
    std::int64_t at = scatters ? index : moves_ - 1 - index;
    int distance = 1;
    Blocks held{0, n_};
    std::size_t step = 0;
    for (; at >= 2 * (sizes_[step] - 1); ++step) {
      at -= 2 * (sizes_[step] - 1);
      held = part(held, sizes_[step], digit(rank, distance, sizes_[step]));
      distance *= sizes_[step];
    }
    const int size = sizes_[step];
    const int mine = digit(rank, distance, size);
    const bool sends = (at < size - 1) == scatters;
    const int k = static_cast<int>(at) % (size - 1) + 1;
    const int theirs = (sends ? mine + k : mine - k + size) % size;
    const Rank peer = rank + (theirs - mine) * distance;
    if (scatters) return sends ? send_move(peer, part(held, size, theirs)) : reduce_move(peer, part(held, size, mine));
    return sends ? send_move(peer, part(held, size, mine)) : receive_move(peer, part(held, size, theirs));
  }

 private:
  [[nodiscard]] static int digit(Rank rank, int distance, int size) { return rank / distance % size; }
  [[nodiscard]] static Blocks part(Blocks held, int size, int which) {
    const int width = (held.end - held.begin) / size;
    return {held.begin + which * width, held.begin + (which + 1) * width};
  }

  int n_;
  std::vector<int> sizes_;
  std::int64_t moves_ = 0;
};

}  // namespace

const Registration<Algorithm> builtin::gloo_bcube{
    .name = "gloo_bcube",
    .summary = "Gloo's BCube all-reduce: exchanges in groups of 4 ranks, log4 n steps each way",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kAllReduce},
          [](const Communicator& communicator, const CollectiveCall&) -> std::unique_ptr<Rounds> {
            return std::make_unique<GlooBcube>(communicator.ranks());
          });
    },
    .model = {.assumes = "Cuts, order of messages and peers are those of Gloo's sources; the transport is the cluster's "
                         "fabric.",
              .leaves_out = {"gloo: notifications that guard receive buffers, which carry no data, are left out",
                             "gloo_bcube: the base is 4, as users of Gloo set it for wider groups, not Gloo's default 2, where "
                             "this is halving and doubling",
                             "gloo_bcube: numbers of ranks that are no multiple of powers of the base are grouped by their "
                             "largest divisors up to it, or else by prime factors"},
              .sources = {"Gloo's public sources: allreduce_bcube.h, docs/algorithms.md"}},
};

}  // namespace weft::coll
