// Ranks in powers of two: for algorithms that pair rank with rank xor 2^k, and what they do where the ranks are no power of
// two. Private to algorithms/.
#pragma once

#include <bit>

#include "sim/collectives/algorithms/rounds.h"
#include "sim/core/ids.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {

// The last `bits` bits of `value` in reverse order.
constexpr int reverse_bits(int value, int bits) {
  int reversed = 0;
  for (int bit = 0; bit < bits; ++bit) reversed = (reversed << 1) | ((value >> bit) & 1);
  return reversed;
}

// Vector halving with distance doubling: where in 2^levels blocks member `member` stands after `steps` steps. In step i it
// pairs with member xor 2^i and keeps the upper half of its blocks if its bit i is set.
constexpr Blocks halved(int member, int steps, int levels) {
  int begin = 0;
  for (int i = 0; i < steps; ++i) begin += ((member >> i) & 1) << (levels - 1 - i);
  return {begin, begin + (1 << (levels - steps))};
}

// The first 2 * rest of n = 2^k + rest ranks are folded in pairs (2i, 2i + 1), of which one takes part for both. (Thakur,
// Rabenseifner and Gropp, 2005, section 4.3.) Members are those that take part, numbered from 0.
struct Fold {
  int n = 1;
  bool odd_takes_part = true;  // of a pair

  [[nodiscard]] constexpr int levels() const { return floor_log2(n); }
  [[nodiscard]] constexpr int members() const { return 1 << levels(); }
  [[nodiscard]] constexpr int rest() const { return n - members(); }
  [[nodiscard]] constexpr bool is_paired(Rank rank) const { return rank < 2 * rest(); }
  [[nodiscard]] constexpr bool takes_part(Rank rank) const { return !is_paired(rank) || (rank % 2 == 1) == odd_takes_part; }
  [[nodiscard]] constexpr Rank partner(Rank rank) const { return rank ^ 1; }
  [[nodiscard]] constexpr int member(Rank rank) const { return is_paired(rank) ? rank / 2 : rank - rest(); }
  [[nodiscard]] constexpr Rank rank_of(int member) const {
    return member < rest() ? 2 * member + (odd_takes_part ? 1 : 0) : member + rest();
  }
  // Return all of n blocks but that of a rank that takes no part. They are those before it and those behind it, and ranges
  // without blocks are left out.
  [[nodiscard]] constexpr int returns(Rank rank) const { return rank == 0 ? 1 : 2; }
  [[nodiscard]] constexpr Blocks returned(Rank rank, int which) const {
    return which + 1 == returns(rank) ? Blocks{rank + 1, n} : Blocks{0, rank};
  }
  // The first of the ranks that a member stands for; those of members [a, b) are [first_rank(a), first_rank(b)).
  [[nodiscard]] constexpr int first_rank(int member) const { return member < rest() ? 2 * member : member + rest(); }
};

}  // namespace weft::coll
