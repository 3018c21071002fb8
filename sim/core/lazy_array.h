// An array most of which may never be used: memory is taken page by page, where elements are made. The rest costs addresses
// only.
//
//   LazyArray<Port> ports{links};
//   ports.make(17).busy = true;
//
// All bytes are zero before. Elements whose bytes may all be zero need not be made.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weft {

// Memory of zeros, by pages where that saves any; std::bad_alloc. Aligned for whatever fits into a cache line.
[[nodiscard]] void* reserve_zeros(std::size_t bytes);
void give_back_zeros(void* memory, std::size_t bytes) noexcept;

template <typename T>
class LazyArray {
  static_assert(std::is_trivially_destructible_v<T>, "nobody keeps which elements there are");
  static_assert(alignof(T) <= 64);

 public:
  LazyArray() = default;
  explicit LazyArray(std::size_t size)
      : elements_{size == 0 ? nullptr : static_cast<T*>(reserve_zeros(size * sizeof(T)))}, size_{size} {}
  LazyArray(LazyArray&& other) noexcept
      : elements_{std::exchange(other.elements_, nullptr)}, size_{std::exchange(other.size_, 0)} {}
  LazyArray& operator=(LazyArray&& other) noexcept {
    std::swap(elements_, other.elements_);
    std::swap(size_, other.size_);
    return *this;
  }
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;
  ~LazyArray() {
    if (elements_ != nullptr) give_back_zeros(elements_, size_ * sizeof(T));
  }

  T& make(std::size_t i) { return *new (&elements_[i]) T; }
  T& operator[](std::size_t i) { return elements_[i]; }
  const T& operator[](std::size_t i) const { return elements_[i]; }
  [[nodiscard]] const T* data() const { return elements_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  T* elements_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft
