// Whose turn it is to be granted credit at a destination (RCCC; models/network §3.5): sources that want some are served in
// turn, and each turn lasts as long as what it grants takes on the destination's link. Arithmetic only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "sim/core/units.h"

namespace weft::net {

class CreditPacer {
 public:
  // A source that does not wait yet wants credit.
  void add(std::uint32_t source) { waiting_.push_back(source); }

  // Whose turn begins now; none: nobody waits, or the turn before is not over.
  std::optional<std::uint32_t> next(Time now) {
    if (waiting_.empty() || now < free_at_) return std::nullopt;
    const std::uint32_t source = waiting_.front();
    waiting_.pop_front();
    return source;
  }
  // The turn that begins now takes so long.
  void spend(Time now, Duration takes) { free_at_ = std::max(free_at_, now) + takes; }

  // When to ask for the next turn; none: nobody waits, or it has been said.
  std::optional<Time> alarm() {
    if (waiting_.empty() || is_set_) return std::nullopt;
    is_set_ = true;
    return free_at_;
  }
  void rang() { is_set_ = false; }

 private:
  std::deque<std::uint32_t> waiting_;
  Time free_at_;
  bool is_set_ = false;
};

}  // namespace weft::net
