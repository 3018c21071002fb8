// Calls that are sends and receives between pairs of ranks: all-to-all, send/recv, gather and scatter. Private to algorithms/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "sim/collectives/call.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

[[nodiscard]] constexpr bool is_sends(Collective kind) {
  return kind == Collective::kAllToAll || kind == Collective::kSendRecv || kind == Collective::kGather ||
         kind == Collective::kScatter;
}

// How many messages go from one rank to another.
[[nodiscard]] constexpr std::int64_t send_count(Collective kind, int ranks) {
  if (ranks == 1) return 0;
  if (kind == Collective::kSendRecv) return ranks;
  return kind == Collective::kAllToAll ? std::int64_t{ranks} * (ranks - 1) : ranks - 1;
}

// The messages of such a call: how large each is, and where it begins in its sender's input and in its receiver's output.
class Messages {
 public:
  Messages(const CollectiveCall& call, int ranks)
      : kind_{call.kind}, pairs_{call.pairs != nullptr && !call.pairs->is_even() ? call.pairs : nullptr} {
    const CallSizes sizes = sizes_of(call, ranks);
    largest_ = call.kind == Collective::kAllToAll ? sizes.input.count() / ranks : std::min(sizes.input, sizes.output).count();
    if (pairs_ != nullptr) largest_ = pairs_->largest();
  }

  [[nodiscard]] bool is_even() const { return pairs_ == nullptr; }
  [[nodiscard]] std::int64_t largest() const { return largest_; }
  [[nodiscard]] std::int64_t bytes(Rank from, Rank to) const { return pairs_ == nullptr ? largest_ : pairs_->bytes(from, to); }
  [[nodiscard]] std::int64_t input_offset(Rank from, Rank to) const {
    if (pairs_ != nullptr) return pairs_->input_offset(from, to);
    return kind_ == Collective::kAllToAll || kind_ == Collective::kScatter ? to * largest_ : 0;
  }
  [[nodiscard]] std::int64_t output_offset(Rank from, Rank to) const {
    if (pairs_ != nullptr) return pairs_->output_offset(from, to);
    return kind_ == Collective::kAllToAll || kind_ == Collective::kGather ? from * largest_ : 0;
  }

 private:
  Collective kind_;
  std::shared_ptr<const PairSizes> pairs_;  // null: all have `largest_`
  std::int64_t largest_ = 0;
};

// In the place of a message of no bytes, which is not sent.
[[nodiscard]] inline Step nothing_to_do() {
  Step step;
  step.use_source = step.store = true;
  step.source = {Buffer::kInput, 0};
  step.destination = {Buffer::kOutput, 0};
  return step;
}

}  // namespace weft::coll
