#include "sim/core/stats.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/core/error.h"

namespace weft {
namespace {

// 1-based rank of the nearest-rank percentile among `count` values: ceil(percent/100 * count), at least 1. The small amount
// taken off keeps 95 % of 20 at 19, although 0.95 * 20 is a hair above 19 in binary.
std::int64_t nearest_rank(double percent, std::int64_t count) {
  WEFT_CHECK(percent >= 0.0 && percent <= 100.0);
  const double exact = percent / 100.0 * static_cast<double>(count);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(exact * (1.0 - 1e-12))), 1, count);
}

}  // namespace

double TimeWeighted::mean(Time until) const {
  WEFT_CHECK(until >= since_);
  const std::int64_t elapsed = (until - start_).ps();
  if (elapsed == 0) return static_cast<double>(level_);
  const Int128 area = area_ + static_cast<Int128>(level_) * (until - since_).ps();
  return static_cast<double>(area) / static_cast<double>(elapsed);
}

double percentile(std::span<const double> values, double percent) {
  WEFT_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  const auto rank = sorted.begin() + (nearest_rank(percent, static_cast<std::int64_t>(sorted.size())) - 1);
  std::nth_element(sorted.begin(), rank, sorted.end());
  return *rank;
}

double median(std::span<const double> values) {
  WEFT_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

double mean(std::span<const double> values) {
  WEFT_CHECK(!values.empty());
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double jain_index(std::span<const double> values) {
  WEFT_CHECK(!values.empty());
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares == 0.0 ? 1.0 : sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace weft
