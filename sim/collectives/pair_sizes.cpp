#include "sim/collectives/pair_sizes.h"

#include <algorithm>
#include <utility>

#include "sim/collectives/call.h"
#include "sim/core/error.h"

namespace weft::coll {

PairSizes::PairSizes(int ranks, std::vector<std::int64_t> bytes)
    : ranks_{ranks},
      bytes_{std::move(bytes)},
      in_input_(bytes_.size()),
      in_output_(bytes_.size()),
      sent_(static_cast<std::size_t>(ranks)),
      received_(static_cast<std::size_t>(ranks)) {
  WEFT_CHECK(ranks >= 1 && bytes_.size() == static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  for (Rank from = 0; from < ranks; ++from) {
    for (Rank to = 0; to < ranks; ++to) {
      std::int64_t& sent = sent_[static_cast<std::size_t>(from)];
      std::int64_t& received = received_[static_cast<std::size_t>(to)];
      const std::int64_t block = bytes_[at(from, to)];
      WEFT_CHECK(block >= 0);
      in_input_[at(from, to)] = sent;
      in_output_[at(from, to)] = received;
      sent += block;
      received += block;
      WEFT_CHECK(std::max(sent, received) <= kLargestCall.count());
      largest_ = std::max(largest_, block);
      is_even_ = is_even_ && block == bytes_.front();
    }
  }
}

std::int64_t PairSizes::most_sent() const { return std::ranges::max(sent_); }
std::int64_t PairSizes::most_received() const { return std::ranges::max(received_); }

}  // namespace weft::coll
