// Gloo's all-reduce by halving and doubling (gloo/allreduce_halving_doubling.h): reduce-scatter with the large halves exchanged
// between neighbours (vector halving, distance doubling), then the same exchanges backwards. Where the ranks are no power of
// two it uses binary blocks (Thakur, Rabenseifner and Gropp, 2005): each power of two in n is a block of ranks, the largest
// first, that halves by itself; then sums go from the smaller block to the next larger one, and totals come back.
#include <memory>

#include "sim/collectives/algorithms/powers_of_two.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

// A rank's block and its neighbours; sizes in ranks, 0: there is none.
struct BinaryBlock {
  int offset = 0;
  int size = 1;
  int larger = 0;   // the block before it
  int smaller = 0;  // the block behind it
  [[nodiscard]] constexpr int levels() const { return floor_log2(size); }
};

constexpr BinaryBlock block_of(Rank rank, int n) {
  BinaryBlock block;
  int previous = 0;
  int offset = 0;
  for (int bit = floor_log2(n); bit >= 0; --bit) {
    if (((n >> bit) & 1) == 0) continue;
    const int size = 1 << bit;
    if (rank < offset + size) {
      block = {.offset = offset, .size = size, .larger = previous, .smaller = 0};
      const int rest = n - offset - size;
      if (rest > 0) block.smaller = 1 << floor_log2(rest);
      return block;
    }
    previous = size;
    offset += size;
  }
  return block;
}

class GlooHalvingDoubling final : public Rounds {
 public:
  explicit GlooHalvingDoubling(int ranks) : n_{ranks}, levels_{floor_log2(ranks)} {}

  [[nodiscard]] int blocks() const override { return 1 << levels_; }
  [[nodiscard]] std::int64_t moves(Rank rank) const override {
    const BinaryBlock block = block_of(rank, n_);
    return 4 * block.levels() + (block.smaller > 0 ? 2 : 0) + 2 * pieces(block);
  }

  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const BinaryBlock block = block_of(rank, n_);
    const int member = rank - block.offset;
    const Blocks mine = halved(member, block.levels(), levels_);
    const Rank smaller = block.smaller > 0 ? block.offset + block.size + member % block.smaller : -1;
    if (index < 2 * block.levels()) {
      const int bit = static_cast<int>(index / 2);
      const Rank peer = rank ^ (1 << bit);
      return index % 2 == 0 ? send_move(peer, side(peer, block, bit)) : reduce_move(peer, side(rank, block, bit));
    }
    index -= 2 * block.levels();
    if (smaller >= 0 && index-- == 0) return reduce_move(smaller, mine);
    if (index < 2 * pieces(block)) {
      const int piece = static_cast<int>(index) % pieces(block);
      // The larger block has its parts in the order of reversed bits, as this one has.
      const int ordinal = reverse_bits(member, block.levels()) * pieces(block) + piece;
      const Rank peer = block.offset - block.larger + reverse_bits(ordinal, floor_log2(block.larger));
      const int width = blocks() / block.larger;
      const Blocks part{mine.begin + piece * width, mine.begin + (piece + 1) * width};
      return index < pieces(block) ? send_move(peer, part) : receive_move(peer, part);
    }
    index -= 2 * pieces(block);
    if (smaller >= 0 && index-- == 0) return send_move(smaller, mine);
    const int bit = block.levels() - 1 - static_cast<int>(index / 2);
    const Rank peer = rank ^ (1 << bit);
    return index % 2 == 0 ? send_move(peer, side(rank, block, bit)) : receive_move(peer, side(peer, block, bit));
  }

 private:
  // Into how many ranks of the larger block a rank's part goes.
  [[nodiscard]] static int pieces(const BinaryBlock& block) { return block.larger / block.size; }
  // Returns what `rank` keeps in exchange `bit` of its block.
  [[nodiscard]] Blocks side(Rank rank, const BinaryBlock& block, int bit) const {
    return halved(rank - block.offset, bit + 1, levels_);
  }

  int n_;
  int levels_;
};

}  // namespace

const Registration<Algorithm> builtin::gloo_halving_doubling{
    .name = "gloo_halving_doubling",
    .summary = "Gloo's all-reduce by vector halving and distance doubling, with binary blocks",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<RoundsAlgorithm>(
          std::vector{Collective::kAllReduce},
          [](const Communicator& communicator, const CollectiveCall&) -> std::unique_ptr<Rounds> {
            return std::make_unique<GlooHalvingDoubling>(communicator.ranks());
          });
    },
    .model = {.assumes = "Cuts, order of messages and peers are those of Gloo's sources; the transport is the cluster's "
                         "fabric.",
              .leaves_out = {"gloo: notifications that guard receive buffers, which carry no data, are left out"},
              .sources = {"Gloo's public sources: allreduce_halving_doubling.h, docs/algorithms.md"}},
};

}  // namespace weft::coll
