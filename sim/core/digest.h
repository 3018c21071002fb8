// A 64-bit fingerprint of a run's results: starts and ends of operations and messages, and counters, added in the order of ids.
// Never of events, whose number is an implementation's own, nor of doubles. The same on every platform; not cryptographic.
//
//   Digest digest;
//   for (const Message& m : messages) digest.add(m.start).add(m.end);
//   report(digest.hex());
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/units.h"

namespace weft {

class Digest {
 public:
  // One word; signed values by their two's complement.
  template <std::integral T>
  constexpr Digest& add(T value) {
    mix(static_cast<std::uint64_t>(value));
    return *this;
  }
  constexpr Digest& add(Time value) { return add(value.ps()); }
  constexpr Digest& add(Duration value) { return add(value.ps()); }
  constexpr Digest& add(Bytes value) { return add(value.count()); }
  // The length and the bytes, eight to a word, the first in the lowest: ("ab","c") and ("a","bc") differ.
  constexpr Digest& add(std::string_view text) {
    mix(text.size());
    for (std::size_t i = 0; i < text.size(); i += 8) {
      std::uint64_t word = 0;
      for (std::size_t j = i; j < text.size() && j < i + 8; ++j) {
        word |= std::uint64_t{static_cast<unsigned char>(text[j])} << (8 * (j - i));
      }
      mix(word);
    }
    return *this;
  }
  constexpr Digest& add(const Digest& part) { return add(part.value()); }

  // Returns the digest of all added so far; more may be added afterwards.
  [[nodiscard]] constexpr std::uint64_t value() const {
    std::uint64_t hash = state_ + count_;
    hash = (hash ^ (hash >> 33)) * kPrime2;
    hash = (hash ^ (hash >> 29)) * kPrime3;
    return hash ^ (hash >> 32);
  }
  // Sixteen hexadecimal digits.
  [[nodiscard]] std::string hex() const {
    std::string text(16, '0');
    for (std::size_t i = 0; i < 16; ++i) text[i] = "0123456789abcdef"[(value() >> (60 - 4 * i)) & 0xF];
    return text;
  }

 private:
  // The primes, the round and the final mix of XXH64 (Collet), applied to one lane.
  static constexpr std::uint64_t kPrime1 = 0x9E37'79B1'85EB'CA87;
  static constexpr std::uint64_t kPrime2 = 0xC2B2'AE3D'27D4'EB4F;
  static constexpr std::uint64_t kPrime3 = 0x1656'67B1'9E37'79F9;

  constexpr void mix(std::uint64_t word) {
    state_ = std::rotl(state_ + word * kPrime2, 31) * kPrime1;
    ++count_;
  }

  std::uint64_t state_ = kPrime1 + kPrime2;
  std::uint64_t count_ = 0;
};

}  // namespace weft
