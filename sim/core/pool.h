// Objects that come and go by the million: stored in slabs, named by 32-bit ids, at addresses that stay. Nothing is allocated
// per object, and nothing at all once as many objects as now have lived at the same time.
//
//   Pool<Message, MessageId> messages;
//   const MessageId id = messages.create(bytes, destination);
//   messages[id].left -= sent;
//   messages.destroy(id);
//
// Ids are reused, the latest freed first, so they do not tell age. Each slot counts its uses: debug builds refuse an id whose
// object is gone, and a Handle tells in any build whether it still means the same object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/ids.h"

namespace weft {

template <class T, class IdType = Id<T>>
class Pool {
 public:
  struct Handle {
    IdType id;
    std::uint32_t generation = 0;
  };

  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (std::uint32_t i = 0; i < generations_.size(); ++i) {
      if (is_live_slot(i)) slot(i)->~T();
    }
  }

  // Makes an object from `arguments` (parentheses or, for an aggregate, braces). O(1); grows by a slab when all slots are live.
  template <class... Arguments>
  IdType create(Arguments&&... arguments) {
    if (free_.empty()) add_slab();
    const std::uint32_t index = free_.back();
    if constexpr (std::is_constructible_v<T, Arguments...>) {
      ::new (static_cast<void*>(slot(index))) T(std::forward<Arguments>(arguments)...);
    } else {
      ::new (static_cast<void*>(slot(index))) T{std::forward<Arguments>(arguments)...};
    }
    free_.pop_back();  // only now: the constructor may have thrown
    ++generations_[index];
    ++live_;
    return IdType{index};
  }

  void destroy(IdType id) {
    WEFT_CHECK(contains(id));
    slot(id.value())->~T();
    ++generations_[id.index()];
    free_.push_back(id.value());  // within the capacity reserved by add_slab
    --live_;
  }

  T& operator[](IdType id) {
    debug_check(id);
    return *slot(id.value());
  }
  const T& operator[](IdType id) const {
    debug_check(id);
    return *slot(id.value());
  }

  // Whether some object has this id now; not necessarily the one it had before.
  [[nodiscard]] bool contains(IdType id) const { return id.index() < generations_.size() && is_live_slot(id.value()); }

  [[nodiscard]] Handle handle(IdType id) const {
    WEFT_CHECK(contains(id));
    return Handle{id, generations_[id.index()]};
  }
  // The object, or nullptr if it has been destroyed since, even where its id names another one now.
  [[nodiscard]] T* find(Handle handle) {
    return contains(handle.id) && generations_[handle.id.index()] == handle.generation ? slot(handle.id.value()) : nullptr;
  }

  [[nodiscard]] std::size_t size() const { return live_; }
  [[nodiscard]] bool empty() const { return live_ == 0; }
  // Slots made so far, each id is below it: the size of an array that runs beside the pool.
  [[nodiscard]] std::size_t capacity() const { return generations_.size(); }
  void reserve(std::size_t count) {
    while (capacity() < count) add_slab();
  }

  // Calls visit(id, object) for every live object in the order of ids. It may destroy the object visited and create others
  // (visited or not, as their ids fall).
  template <class Visitor>
  void for_each(Visitor&& visit) {
    for (std::uint32_t i = 0; i < generations_.size(); ++i) {
      if (is_live_slot(i)) visit(IdType{i}, *slot(i));
    }
  }

 private:
  // A slab is 16 KiB or so, at least 16 objects: few enough allocations, little waste in a small pool.
  static constexpr int slab_shift() {
    int shift = 4;
    while ((sizeof(T) << (shift + 1)) <= 16384 && shift < 12) ++shift;
    return shift;
  }
  static constexpr int kSlabShift = slab_shift();
  static constexpr std::uint32_t kSlabSize = 1U << kSlabShift;

  struct alignas(T) Storage {
    std::byte bytes[sizeof(T)];
  };

  [[nodiscard]] bool is_live_slot(std::uint32_t index) const { return (generations_[index] & 1U) != 0; }
  void debug_check([[maybe_unused]] IdType id) const {
#ifndef NDEBUG
    WEFT_CHECK(contains(id));
#endif
  }
  [[nodiscard]] T* slot(std::uint32_t index) const {
    return std::launder(reinterpret_cast<T*>(slabs_[index >> kSlabShift][index & (kSlabSize - 1)].bytes));
  }

  void add_slab() {
    const std::size_t first = generations_.size();
    WEFT_CHECK(first + kSlabSize < std::numeric_limits<std::uint32_t>::max());
    slabs_.push_back(std::make_unique_for_overwrite<Storage[]>(kSlabSize));
    generations_.resize(first + kSlabSize, 0);
    free_.reserve(generations_.capacity());
    for (std::uint32_t i = kSlabSize; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(first) + i);  // lowest id on top
  }

  std::vector<std::unique_ptr<Storage[]>> slabs_;
  std::vector<std::uint32_t> generations_;  // by slot, odd while live; apart from the objects, which stay dense
  std::vector<std::uint32_t> free_;         // the next to be used last
  std::size_t live_ = 0;
};

}  // namespace weft
