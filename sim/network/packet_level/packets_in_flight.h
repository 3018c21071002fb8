// Bytes that a sender has on the way where packets are acknowledged one by one: each counts from its sending until it is known
// to have arrived or to be lost. The cumulative numbers of go-back-N do not say that.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

namespace weft::net {

class PacketsInFlight {
 public:
  // A packet goes out, for the first time or again. Returns the bytes by which those on the way are more.
  std::int64_t sent(std::int64_t sequence, std::int32_t size) {
    const auto at = static_cast<std::size_t>(sequence - first_);
    if (sizes_.size() <= at) sizes_.resize(at + 1, 0);
    return size - std::exchange(sizes_[at], size);
  }
  // All below `below` are there, and so is `sequence`. Returns the bytes by which those on the way are fewer.
  std::int64_t arrived(std::int64_t below, std::int64_t sequence) {
    std::int64_t fewer = 0;
    for (; first_ < below; ++first_) {
      if (sizes_.empty()) continue;
      fewer += sizes_.front();
      sizes_.pop_front();
    }
    return fewer + lost(sequence);
  }
  // The same of one that is known to be lost; 0: it is not on the way.
  std::int64_t lost(std::int64_t sequence) {
    if (sequence < first_ || sequence - first_ >= static_cast<std::int64_t>(sizes_.size())) return 0;
    return std::exchange(sizes_[static_cast<std::size_t>(sequence - first_)], 0);
  }
  void all_lost() {
    for (std::int32_t& size : sizes_) size = 0;
  }

 private:
  std::int64_t first_ = 0;          // all below have arrived
  std::deque<std::int32_t> sizes_;  // from first_ on; 0: not on the way
};

}  // namespace weft::net
