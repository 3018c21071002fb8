// A hash map from 64-bit keys to 32-bit ids that is only looked up, never walked: what ids a run has made for what.
//
// One array of slots with linear probing, at most three quarters full, so that a look-up is one cache miss where a map of nodes
// takes three, and 16 to 43 bytes an entry where that takes 60. Nothing is ever erased. Not a container: no iterators, so that
// no order of hashes can leak into results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/error.h"

namespace weft {

class IdMap {
 public:
  // Returns the id of the key; where the key is new, `id` is kept for it. Any key but the greatest number.
  std::pair<std::uint32_t, bool> find_or_add(std::uint64_t key, std::uint32_t id) {
    WEFT_CHECK(key != kEmpty);
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    Slot& slot = slots_[position(key)];
    if (slot.key == key) return {slot.id, false};
    slot = {key, id};
    ++size_;
    return {id, true};
  }
  // nullptr: not there. Valid until the next one is added.
  [[nodiscard]] const std::uint32_t* find(std::uint64_t key) const {
    if (size_ == 0) return nullptr;
    const Slot& slot = slots_[position(key)];
    return slot.key == key ? &slot.id : nullptr;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static constexpr std::size_t kFirstSlots = 64;
  struct Slot {
    std::uint64_t key = kEmpty;
    std::uint32_t id = 0;
  };

  // Returns the position of the key, or of the empty slot where it belongs.
  [[nodiscard]] std::size_t position(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    // The high bits of a product depend on all bits of the key.
    std::size_t at = static_cast<std::size_t>((key ^ (key >> 32)) * 0x9E37'79B9'7F4A'7C15 >> 20) & mask;
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? kFirstSlots : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) slots_[position(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace weft
