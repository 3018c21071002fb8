// Bytes that each rank sends to each other in an all-to-all whose pairs differ (MPI's all-to-allv), and where the blocks lie:
// in a sender's input by receiver, in a receiver's output by sender, without gaps.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {

class PairSizes {
 public:
  // `bytes`: a row of `ranks` for each sender, by receiver; none is negative, and no row or column adds up to more than
  // kLargestCall.
  PairSizes(int ranks, std::vector<std::int64_t> bytes);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] std::int64_t bytes(Rank from, Rank to) const { return bytes_[at(from, to)]; }
  [[nodiscard]] std::int64_t input_offset(Rank from, Rank to) const { return in_input_[at(from, to)]; }
  [[nodiscard]] std::int64_t output_offset(Rank from, Rank to) const { return in_output_[at(from, to)]; }
  // By a rank to all, from all to a rank; each with the rank's own block.
  [[nodiscard]] std::int64_t sent(Rank rank) const { return sent_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::int64_t received(Rank rank) const { return received_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::int64_t most_sent() const;
  [[nodiscard]] std::int64_t most_received() const;
  [[nodiscard]] std::int64_t largest() const { return largest_; }
  // All pairs have the same: an all-to-all.
  [[nodiscard]] bool is_even() const { return is_even_; }

 private:
  [[nodiscard]] std::size_t at(Rank from, Rank to) const { return flat_index(from, ranks_, to); }

  int ranks_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> in_input_;
  std::vector<std::int64_t> in_output_;
  std::vector<std::int64_t> sent_;
  std::vector<std::int64_t> received_;
  std::int64_t largest_ = 0;
  bool is_even_ = true;
};

}  // namespace weft::coll
