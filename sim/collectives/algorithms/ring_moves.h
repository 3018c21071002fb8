// The moves of one rank in a ring of `size`, for algorithms that have a ring as a part. Private to algorithms/.
//
// The data are `size` pieces of `width` blocks from block `first` on. Each of size - 1 rounds is two moves: send, then take in.
#pragma once

#include "sim/collectives/algorithms/rounds.h"

namespace weft::coll {

struct RingPlace {
  int size = 1;
  int position = 0;
  Rank next = 0;
  Rank previous = 0;

  [[nodiscard]] constexpr int moves() const { return 2 * (size - 1); }  // of a scatter, or of a gather
  // Reduce-scatter: ends with piece `position` added up here.
  [[nodiscard]] constexpr Move scatter(int index, int first, int width) const {
    const int round = index / 2;
    if (index % 2 == 0) return send_move(next, piece(position - 1 - round, first, width));
    return reduce_move(previous, piece(position - 2 - round, first, width));
  }
  // All-gather: begins with piece `position` here.
  [[nodiscard]] constexpr Move gather(int index, int first, int width) const {
    const int round = index / 2;
    if (index % 2 == 0) return send_move(next, piece(position - round, first, width));
    return receive_move(previous, piece(position - 1 - round, first, width));
  }

 private:
  // Positions from -size on.
  [[nodiscard]] constexpr Blocks piece(int at, int first, int width) const {
    const int begin = first + (at + size) % size * width;
    return {begin, begin + width};
  }
};

}  // namespace weft::coll
