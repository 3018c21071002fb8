// A binomial tree over ranks counted from the root, as MPI has it. Private to algorithms/.
//
// Vertex v's parent is v without its lowest set bit, and its subtree the vertices [v, v + lowest bit). The child v + 2^k has a
// subtree of 2^k vertices, cut off at n.
#pragma once

#include <algorithm>
#include <bit>

#include "sim/collectives/algorithms/rounds.h"
#include "sim/core/ids.h"

namespace weft::coll {

struct BinomialTree {
  int n = 1;
  Rank root = 0;

  [[nodiscard]] constexpr int vertex(Rank rank) const { return (rank - root + n) % n; }
  [[nodiscard]] constexpr Rank rank_of(int vertex) const { return (vertex + root) % n; }
  // Number of bits below the lowest set one; for the root as many as count all vertices.
  [[nodiscard]] constexpr int height(int vertex) const {
    if (vertex == 0) return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));
    return static_cast<int>(std::countr_zero(static_cast<unsigned>(vertex)));
  }
  [[nodiscard]] constexpr int parent(int vertex) const { return vertex & (vertex - 1); }
  // Children are v + 2^k for k < children(v).
  [[nodiscard]] constexpr int children(int vertex) const {
    return vertex == n - 1 ? 0
                           : std::min(height(vertex), static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1 - vertex))));
  }
  [[nodiscard]] constexpr Blocks subtree(int vertex) const { return {vertex, std::min(vertex + (1 << height(vertex)), n)}; }
};

}  // namespace weft::coll
