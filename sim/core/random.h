// Named random streams and our own distributions, the same bits on every machine.
//
//   RandomStream sprays{seed, "leaf3/port7/spray"};
//   const std::size_t uplink = sprays.below(uplinks);
//
// A stream is named by (seed, component path), so adding a component does not shift another's numbers. The distributions are
// ours, because those of the standard library differ between implementations; they use portable_math.h instead of the C
// library, so results are equal to the bit. Not for cryptography.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace weft {

// SplitMix64 (Steele, Lea and Flood, 2014; Vigna's constants): advances `state` and returns the next value. Seeds other
// generators, and as a function of the state is a good 64-bit mixer.
constexpr std::uint64_t split_mix_64(std::uint64_t& state) {
  state += 0x9E37'79B9'7F4A'7C15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return z ^ (z >> 31);
}

// FNV-1a, 64 bits (Fowler, Noll and Vo).
constexpr std::uint64_t fnv1a_64(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3;
  return hash;
}

// xoshiro256** 1.0 (Blackman and Vigna, 2018): 256 bits of state, period 2^256 - 1, passes BigCrush.
class Xoshiro256 {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit constexpr Xoshiro256(const State& state) : state_{state} {}  // not all zero

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

 private:
  static constexpr std::uint64_t rotate_left(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  State state_;
};

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view component_path);

  std::uint64_t bits() { return generator_.next(); }

  // Uniform in 0 .. bound-1, bound >= 1, without bias (Lemire 2019: multiply, reject the few that would favour some).
  std::uint64_t below(std::uint64_t bound);
  // Uniform in first .. last, both included.
  std::int64_t between(std::int64_t first, std::int64_t last);
  // Uniform in [0, 1): the upper 53 bits.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }

  double exponential(double mean);
  double normal(double mean, double standard_deviation);
  // exp of normal(mu, sigma): the median is exp(mu), the mean exp(mu + sigma^2/2).
  double lognormal(double mu, double sigma);
  // P(X > x) = (minimum/x)^shape for x >= minimum; the mean is shape * minimum / (shape - 1) where shape > 1.
  double pareto(double minimum, double shape);

  // Index i with probability weights[i] / sum. Weights are >= 0 and not all 0. O(n).
  std::size_t choose(std::span<const double> weights);

  // Fisher and Yates, from the end.
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      using std::swap;
      swap(items[left - 1], items[static_cast<std::size_t>(below(left))]);
    }
  }

 private:
  double positive_unit() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }  // (0, 1]: its logarithm is finite

  Xoshiro256 generator_;
  double spare_normal_ = 0.0;
  bool has_spare_normal_ = false;
};

}  // namespace weft
