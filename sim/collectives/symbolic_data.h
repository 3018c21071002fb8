// Data as the verifier sees them: of every byte, which bytes of which ranks' inputs were added up to make it. No values.
//
// Runs of bytes are kept as pieces, so that the cost grows with the number of chunks, not of bytes. Private to the verifier.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/ids.h"

namespace weft::coll {

// An interned multiset of ranks: equal multisets have equal ids.
using ContributorsId = std::uint32_t;

class ContributorTable {
 public:
  [[nodiscard]] ContributorsId one(Rank rank) { return intern({{rank, 1}}); }
  [[nodiscard]] ContributorsId each_once(int ranks);
  [[nodiscard]] ContributorsId sum(ContributorsId a, ContributorsId b);
  [[nodiscard]] std::string text(ContributorsId id) const;  // "ranks 0 2 3x2"

 private:
  using Counts = std::vector<std::pair<Rank, int>>;  // by rank
  ContributorsId intern(Counts counts);

  std::vector<Counts> counts_;
  std::map<Counts, ContributorsId> ids_;
  std::map<std::pair<ContributorsId, ContributorsId>, ContributorsId> sums_;
};

// Byte k of the piece is the sum, over its contributors, of byte `source + k` of their input.
struct Piece {
  std::int64_t bytes = 0;
  std::int64_t source = 0;
  ContributorsId from = 0;
};
using Data = std::vector<Piece>;

// Adds `b` to `a`, of the same length. Where two bytes do not come from the same byte of the inputs, their offset is returned.
[[nodiscard]] std::optional<std::int64_t> add_data(Data& a, const Data& b, ContributorTable& table);

// One buffer of one rank; undefined until written.
class SymbolicBuffer {
 public:
  void write(std::int64_t offset, const Data& data);
  // Appends [offset, offset + bytes) to `data`; returns the first undefined offset, if any.
  [[nodiscard]] std::optional<std::int64_t> read(std::int64_t offset, std::int64_t bytes, Data& data) const;

 private:
  void clear(std::int64_t begin, std::int64_t end);
  std::map<std::int64_t, Piece> pieces_;  // by offset; they do not overlap
};

}  // namespace weft::coll
