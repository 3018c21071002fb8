// One value of each priority, those that most networks use side by side: 0, of data, and 7, of acknowledgements, share a cache
// line.
#pragma once

#include <array>
#include <cstddef>

#include "sim/network/packet_level/settings.h"

namespace weft::net {

template <class T>
class PerPriority {
 public:
  T& operator[](int priority) { return values_[place(priority)]; }
  const T& operator[](int priority) const { return values_[place(priority)]; }
  void fill(const T& value) { values_.fill(value); }

 private:
  static constexpr std::size_t place(int priority) { return (static_cast<unsigned>(priority) + 1U) % kPriorities; }
  std::array<T, kPriorities> values_{};
};

}  // namespace weft::net
