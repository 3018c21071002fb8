#include "sim/core/random.h"

#include <cmath>
#include <limits>

#include "sim/core/error.h"
#include "sim/core/portable_math.h"

namespace weft {
namespace {

__extension__ using UInt128 = unsigned __int128;

// The path's hash and the seed each pass through the mixer, so that neither neighbouring seeds nor similar paths are related.
Xoshiro256::State state_for(std::uint64_t seed, std::string_view path) {
  std::uint64_t path_state = fnv1a_64(path);
  std::uint64_t state = split_mix_64(path_state) ^ split_mix_64(seed);
  Xoshiro256::State result{};
  for (std::uint64_t& word : result) word = split_mix_64(state);  // a bijection of four different states: not all are zero
  return result;
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view component_path) : generator_{state_for(seed, component_path)} {}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  WEFT_CHECK(bound > 0);
  UInt128 product = static_cast<UInt128>(bits()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;  // 2^64 mod bound: as many low words favour some result
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<UInt128>(bits()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

std::int64_t RandomStream::between(std::int64_t first, std::int64_t last) {
  WEFT_CHECK(first <= last);
  const std::uint64_t span = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  const std::uint64_t offset = span == std::numeric_limits<std::uint64_t>::max() ? bits() : below(span + 1);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + offset);
}

// Inversion: -mean log u.
double RandomStream::exponential(double mean) { return -mean * portable_log(positive_unit()); }

// The polar method (Marsaglia and Bray, 1964), which needs only log and the exactly rounded sqrt; it makes two at a time.
double RandomStream::normal(double mean, double standard_deviation) {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return mean + standard_deviation * spare_normal_;
  }
  double u = 0.0;
  double v = 0.0;
  double s = 0.0;
  do {
    u = 2.0 * unit() - 1.0;
    v = 2.0 * unit() - 1.0;
    s = u * u + v * v;
  } while (s >= 1.0 || s == 0.0);
  const double factor = std::sqrt(-2.0 * portable_log(s) / s);
  spare_normal_ = v * factor;
  has_spare_normal_ = true;
  return mean + standard_deviation * (u * factor);
}

double RandomStream::lognormal(double mu, double sigma) { return portable_exp(normal(mu, sigma)); }

// Inversion: minimum * u^(-1/shape).
double RandomStream::pareto(double minimum, double shape) {
  WEFT_CHECK(minimum > 0.0 && shape > 0.0);
  return minimum * portable_pow(positive_unit(), -1.0 / shape);
}

std::size_t RandomStream::choose(std::span<const double> weights) {
  double sum = 0.0;
  for (const double weight : weights) {
    WEFT_CHECK(weight >= 0.0);
    sum += weight;
  }
  WEFT_CHECK(sum > 0.0);
  double left = unit() * sum;
  std::size_t last_possible = 0;  // where rounding lets `left` outlast the last weight
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0.0) continue;
    if (left < weights[i]) return i;
    left -= weights[i];
    last_possible = i;
  }
  return last_possible;
}

}  // namespace weft
