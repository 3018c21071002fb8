// Places in a vector that are taken and given back, the latest given back first. Unlike an object of a Pool, what is in a place
// stays there: a list keeps its memory for who takes the place next, and who wants an empty one empties it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

template <class T>
class ReusedPlaces {
 public:
  [[nodiscard]] std::uint32_t take() {
    if (free_.empty()) {
      places_.emplace_back();
      return static_cast<std::uint32_t>(places_.size() - 1);
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    return place;
  }
  void give_back(std::uint32_t place) { free_.push_back(place); }

  T& operator[](std::size_t place) { return places_[place]; }
  const T& operator[](std::size_t place) const { return places_[place]; }
  // All places, taken or not: each is below it.
  [[nodiscard]] std::size_t size() const { return places_.size(); }

 private:
  std::vector<T> places_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft
