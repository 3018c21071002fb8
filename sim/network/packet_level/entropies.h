// The entropy values that a sender of Ultra Ethernet gives its packets: switches hash them, so that each value is a path. What
// comes back tells which paths are congested (models/network §3.5). Arithmetic only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/network/routing/hash_mix.h"
#include "sim/network/uec_settings.h"

namespace weft::net {

enum class PathFeedback : std::uint8_t { kGood, kMarked, kTrimmed };

class Entropies {
 public:
  // `values`: how many, a power of two. Those of two senders with other seeds differ.
  Entropies(EntropySpreading spreading, std::uint32_t values, std::uint64_t seed)
      : spreading_{spreading}, mask_{values - 1}, state_{seed}, high_{static_cast<std::uint32_t>(random())} {
    order_ = static_cast<std::uint32_t>(random()) & mask_;
    if (spreading == EntropySpreading::kBitmap) penalties_.resize(values);
  }

  // That of the next packet.
  std::uint16_t next() {
    std::uint32_t low = 0;
    if (spreading_ == EntropySpreading::kReps) {
      if (good_.empty()) {
        low = static_cast<std::uint32_t>(random()) & mask_;
      } else {
        low = good_.front();
        good_.pop_front();
      }
    } else {
      low = in_turn();
      // The first that sits out has one turn less to go, whoever goes in its place. Where all do, that is the next.
      if (!penalties_.empty() && penalties_[low] > 0) {
        --penalties_[low];
        std::uint32_t tries = 0;
        do {
          low = in_turn();
        } while (penalties_[low] > 0 && ++tries < mask_);
      }
    }
    return static_cast<std::uint16_t>((high_ & ~mask_) | low);
  }

  // A packet of this value came back so.
  void feedback(std::uint16_t value, PathFeedback how) {
    const std::uint32_t low = value & mask_;
    if (!penalties_.empty() && how != PathFeedback::kGood) {
      const int turns = how == PathFeedback::kMarked ? kMarkedTurns : kTrimmedTurns;
      penalties_[low] = static_cast<std::uint8_t>(std::min(penalties_[low] + turns, kMostTurns));
    }
    if (spreading_ == EntropySpreading::kReps && how == PathFeedback::kGood && good_.size() < kRemembered) good_.push_back(low);
  }

 private:
  // Turns that a value sits out, and the most; good values that are kept (uet-htsim, uec_mp.cpp).
  static constexpr int kMarkedTurns = 1;
  static constexpr int kTrimmedTurns = 4;
  static constexpr int kMostTurns = 15;
  static constexpr std::size_t kRemembered = 256;

  // Every value once a round, in another order each round.
  std::uint32_t in_turn() {
    const std::uint32_t low = (turn_ ^ order_) & mask_;
    if (++turn_ > mask_) {
      turn_ = 0;
      order_ = static_cast<std::uint32_t>(random()) & mask_;
    }
    return low;
  }
  std::uint64_t random() { return mix(state_++); }

  EntropySpreading spreading_;
  std::uint32_t mask_;
  std::uint64_t state_;
  std::uint32_t high_;  // bits of all its values beyond the mask
  std::uint32_t order_ = 0;
  std::uint32_t turn_ = 0;
  std::vector<std::uint8_t> penalties_;  // by value, of kBitmap
  std::deque<std::uint32_t> good_;       // of kReps
};

}  // namespace weft::net
